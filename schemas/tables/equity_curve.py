"""The equity curve of each book over its run."""

from __future__ import annotations

from typing import Final

from schemas.table import Column, Origin, Table
from schemas.tables import shared_columns as shared
from schemas.units import Type, Unit


def _derived(name: str, unit: Unit, meaning: str, *, nullable: bool = False) -> Column:
    return Column(name, Type.F64, unit, meaning, nullable=nullable, origin=Origin.DERIVED)


EQUITY_CURVE: Final = Table(
    name="equity_curve",
    meaning="One row per book per session: equity, return and drawdown measured over the run.",
    key=("book", "date"),
    sort=("book", "date"),
    partition=("book",),
    sealed=False,
    columns=(
        shared.BOOK,
        shared.DATE,
        shared.TIMESTAMP,
        shared.STARTING_EQUITY,
        shared.ENDING_EQUITY,
        _derived(
            "period_return",
            Unit.RATIO,
            "Change of equity over the session relative to its start; null when the start is missing or not above 0.",
            nullable=True,
        ),
        _derived(
            "cumulative_return",
            Unit.RATIO,
            "Product of one plus each period return since the window's first row, its own included, less one: the base before that "
            "row is 0. Null from a session on that starts with equity not above 0.",
            nullable=True,
        ),
        _derived("peak_equity", Unit.EQUITY, "Largest starting or ending equity so far."),
        _derived("drawdown", Unit.EQUITY, "Peak equity less ending equity."),
        _derived(
            "drawdown_pct", Unit.PERCENTAGE_POINTS, "Drawdown as a percentage of the peak.", nullable=True
        ),
        shared.GROSS_EXPOSURE,
        shared.NET_EXPOSURE,
        shared.TURNOVER,
    ),
)

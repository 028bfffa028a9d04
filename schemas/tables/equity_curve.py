"""The equity curve of each book over its run."""

from __future__ import annotations

from typing import Final

from schemas.table import Table, derived, number
from schemas.tables import shared_columns as shared
from schemas.units import Unit

EQUITY_CURVE: Final = Table(
    name="equity_curve",
    meaning="One row per book per session: equity, return and drawdown measured over the run.",
    key=("book", "date"),
    partition=("book",),
    sealed=False,
    columns=(
        shared.BOOK,
        shared.DATE,
        shared.TIMESTAMP,
        shared.STARTING_EQUITY,
        shared.ENDING_EQUITY,
        number(
            "period_return",
            Unit.RATIO,
            "Change of equity over the session relative to its start; null if that is missing or not above 0.",
            nullable=True,
            **derived(),
        ),
        number(
            "cumulative_return",
            Unit.RATIO,
            "Product of one plus each period return from the first row of the window on, less one. Null from the first session that "
            "starts with equity not above 0.",
            nullable=True,
            **derived(),
        ),
        number("peak_equity", Unit.EQUITY, "Largest starting or ending equity so far.", **derived()),
        number("drawdown", Unit.EQUITY, "Peak equity less ending equity.", **derived()),
        number(
            "drawdown_pct",
            Unit.PERCENTAGE_POINTS,
            "Drawdown as a percentage of the peak.",
            nullable=True,
            **derived(),
        ),
        shared.GROSS_EXPOSURE,
        shared.NET_EXPOSURE,
        shared.TURNOVER,
    ),
)

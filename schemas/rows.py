"""Rows of each collection: a selection of the columns of a table, or columns of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from schemas.table import Column, Table, count, day, flag, instant, number, text
from schemas.tables import TABLES
from schemas.units import Unit


@dataclass(frozen=True, slots=True)
class RowModel:
    """The columns of one kind of row, in the order they are served.

    Attributes
    ----------
    name
        Name in the endpoint registry.
    columns
        The declared columns.
    table
        The published table of the columns; None for rows of no table.
    null_when_absent
        Columns that are null, rather than absent, if the run never recorded them.
    conditioned
        Columns that a key without raw-book access sees.
    """

    name: str
    columns: tuple[Column, ...]
    table: Table | None = None
    null_when_absent: frozenset[str] = frozenset()
    conditioned: tuple[Column, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Select the conditioned columns."""
        object.__setattr__(self, "conditioned", tuple(column for column in self.columns if not column.raw))


def _row_without(name: str, table: str, *leave_out: str, nulls: tuple[str, ...] = ()) -> RowModel:
    source = TABLES[table]
    columns = tuple(column for column in source.published_columns if column.name not in leave_out)
    return RowModel(name, columns, source, frozenset(nulls))


def _row_with(name: str, table: str, *columns: str, nulls: tuple[str, ...] = ()) -> RowModel:
    source = TABLES[table]
    return RowModel(name, tuple(source[column] for column in columns), source, frozenset(nulls))


_LISTED: Final = (
    text("alpha_id", "Address of the alpha in every path."),
    text("name", "Readable title; the address if the run sealed none."),
    text("tldr", "The thesis in one line.", nullable=True),
)

_ALL: Final = (
    RowModel("alpha", _LISTED),
    RowModel(
        "screened_alpha",
        (
            *_LISTED,
            text("snapshot", "Id of the served snapshot; pass it as `snapshot` to pin it."),
            instant("published_at", "When that snapshot was first served."),
            flag("complete", "Whether the run has every required kind."),
        ),
    ),
    _row_without("rebalance", "rebalances"),
    _row_without("decision", "decisions", "date"),
    _row_with(
        "score",
        "decisions",
        "date",
        "symbol",
        "score",
        "score_z",
        "average_rank",
        "direction",
        "long_short_target_weight",
        "long_only_target_weight",
        "forward_return",
        "raw_score",
        nulls=("forward_return",),
    ),
    _row_without("score_all", "decisions", nulls=("forward_return",)),
    _row_without("book", "books"),
    _row_without("portfolio", "portfolio"),
    _row_without("position", "positions"),
    _row_without("pnl", "pnl"),
    _row_without("trade", "trades", "fill_order"),
    _row_without("equity", "equity_curve", "book"),
    RowModel(
        "benchmark_listed",
        (
            text("symbol", "Symbol for `/v1/benchmarks/{symbol}/daily`."),
            text("name", "Readable name."),
            flag("simulated", "Whether its prices are simulated."),
            day("first_date", "First session."),
            day("last_date", "Last session."),
            count("sessions", "Number of sessions."),
        ),
    ),
    RowModel(
        "benchmark",
        (
            day("date", "Session in the market data."),
            number(
                "close",
                Unit.PRICE,
                "Close as stored, never adjusted. If `return_basis` is `adjusted_close`, the other figures of the row differ from changes of "
                "this price over dividends and splits.",
            ),
            number(
                "period_return",
                Unit.RATIO,
                "Change from the previous session of the price in `meta.summary.return_basis`; null on the first row of the window.",
                nullable=True,
            ),
            number(
                "cumulative_return",
                Unit.RATIO,
                "Product of one plus each period return, less one, so of the price in `return_basis`; 0 on the first row.",
            ),
            number(
                "drawdown_pct",
                Unit.PERCENTAGE_POINTS,
                "Fall from the peak of the window, of the price in `return_basis`, as a percentage of that peak.",
            ),
        ),
    ),
)

ROWS: Final[dict[str, RowModel]] = {model.name: model for model in _ALL}
"""Name -> row model."""

"""What one row of each collection holds: a choice of declared columns, or of columns of its own.

A row model is where the interface chooses from a table; the meaning, unit and visibility stay those of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from schemas.table import Column, Origin, Table
from schemas.tables import TABLES
from schemas.units import Type, Unit


@dataclass(frozen=True, slots=True)
class RowModel:
    """The columns of one kind of row, in the order they are served.

    Attributes
    ----------
    name
        What the endpoint registry calls it.
    columns
        The declared columns.
    table
        The published table they come from; None for rows that are not a stored table.
    null_when_absent
        Columns served as null, rather than omitted, when the run never recorded them.
    conditioned
        The columns that a key without raw-book access sees.
    """

    name: str
    columns: tuple[Column, ...]
    table: Table | None = None
    null_when_absent: frozenset[str] = frozenset()
    conditioned: tuple[Column, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Choose the conditioned columns once."""
        object.__setattr__(self, "conditioned", tuple(column for column in self.columns if not column.raw))


def _of(name: str, table: str, *leave_out: str, nulls: tuple[str, ...] = ()) -> RowModel:
    source = TABLES[table]
    columns = tuple(column for column in source.published_columns if column.name not in leave_out)
    return RowModel(name, columns, source, frozenset(nulls))


def _chosen(name: str, table: str, *columns: str, nulls: tuple[str, ...] = ()) -> RowModel:
    source = TABLES[table]
    return RowModel(name, tuple(source[column] for column in columns), source, frozenset(nulls))


def _text(name: str, meaning: str, *, nullable: bool = False) -> Column:
    return Column(name, Type.STR, Unit.NONE, meaning, nullable=nullable, origin=Origin.DERIVED)


def _number(name: str, unit: Unit, meaning: str, *, nullable: bool = False) -> Column:
    return Column(name, Type.F64, unit, meaning, nullable=nullable, origin=Origin.DERIVED)


_LISTED: Final = (
    _text("alpha_id", "The alpha's address in every path."),
    _text("name", "Readable title; the address when the run sealed none."),
    _text("tldr", "The thesis in one line.", nullable=True),
)

_ALL: Final = (
    RowModel("alpha", _LISTED),
    RowModel(
        "screened_alpha",
        (
            *_LISTED,
            _text("snapshot", "Id of the snapshot that is served; `snapshot=` with it pins it."),
            Column(
                "published_at",
                Type.TIMESTAMP,
                Unit.INSTANT,
                "When that snapshot became the served one for the first time.",
                origin=Origin.DERIVED,
            ),
            Column(
                "complete",
                Type.BOOL,
                Unit.NONE,
                "Whether the run has every required kind.",
                origin=Origin.DERIVED,
            ),
        ),
    ),
    _of("rebalance", "rebalances"),
    _of("decision", "decisions", "date"),
    _chosen(
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
    _of("score_all", "decisions", nulls=("forward_return",)),
    _of("book", "books"),
    _of("portfolio", "portfolio"),
    _of("position", "positions"),
    _of("pnl", "pnl"),
    _of("trade", "trades", "fill_order"),
    _of("equity", "equity_curve", "book"),
    RowModel(
        "benchmark_listed",
        (
            _text("symbol", "What `/v1/benchmarks/{symbol}/daily` calls it."),
            _text("name", "Its readable name."),
            Column(
                "simulated", Type.BOOL, Unit.NONE, "Whether its prices are invented.", origin=Origin.DERIVED
            ),
            Column("first_date", Type.DATE, Unit.DATE, "Its first session.", origin=Origin.DERIVED),
            Column("last_date", Type.DATE, Unit.DATE, "Its last session.", origin=Origin.DERIVED),
            Column("sessions", Type.I64, Unit.COUNT, "Its sessions.", origin=Origin.DERIVED),
        ),
    ),
    RowModel(
        "benchmark",
        (
            Column("date", Type.DATE, Unit.DATE, "Session in the market data."),
            _number(
                "close",
                Unit.PRICE,
                "Close as stored, never adjusted: where `return_basis` is `adjusted_close` the other figures of the row follow "
                "another price, and differ from the change of this one over a dividend or a split.",
            ),
            _number(
                "period_return",
                Unit.RATIO,
                "Change of the price that `meta.summary.return_basis` names, over the session before; null on the window's "
                "first row.",
                nullable=True,
            ),
            _number(
                "cumulative_return",
                Unit.RATIO,
                "Product of one plus each period return, less one, so of the price `return_basis` names; 0 on the first row.",
            ),
            _number(
                "drawdown_pct",
                Unit.PERCENTAGE_POINTS,
                "Fall of the price `return_basis` names from its peak in the window, as a percentage of that peak.",
            ),
        ),
    ),
)

ROWS: Final[dict[str, RowModel]] = {model.name: model for model in _ALL}
"""Row model by name."""

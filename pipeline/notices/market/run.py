"""The rows of a run that are compared with market prices."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers
from pipeline.notices.market.price_file import MarketPrices
from pipeline.notices.rows import ReadColumns
from schemas.tables.books import ADJUSTING, CONDITIONED_BOOKS, RAW_PREFIX, SETTLEMENTS
from schemas.tables.pnl import ADJUSTMENTS

CELL: Final = ("symbol", "date")
_LEDGER: Final = ("book", "date", "starting_equity", "ending_equity")
_SHARES: Final = ADJUSTMENTS[0]
_IS_RAW: Final = pl.col("book").str.starts_with(RAW_PREFIX)
_IS_SETTLED: Final = pl.col("book").str.ends_with(SETTLEMENTS)
_IS_ADJUSTING: Final = pl.col("book").str.ends_with(ADJUSTING)
WEEK: Final = timedelta(days=7)
PRICED: Final = "prices of the market"
"""What an observation needs to be compared; for reasons."""


@dataclass(frozen=True, slots=True)
class MarketRun:
    """Rows of a run to compare, without raw books; None where the run did not seal the tables they need.

    Attributes
    ----------
    sessions
        Days of the ledger, ascending.
    books
        For long_short and long_only: ``session``, ``starting_equity`` and ``ending_equity``; and ``symbol``, ``session`` and ``weight``
        of the positions at the close.
    marks
        ``symbol``, ``date`` and ``mark_price``, one row per name and day, with the number of the ``session``.
    splits
        ``symbol`` and ``date`` of holdings whose shares changed without a fill.
    fills
        ``symbol``, ``date``, ``session``, ``quantity`` and ``mid_price``; whether the fill is ``settled``, without a market, and whether
        it is ``adjusting`` a book between decisions.
    forward
        ``symbol``, ``date``, ``forward_return``, and ``side``: 1 above the median score of the week, -1 below it; the days ``entry``
        and ``maturity``, null where not sealed; and ``following``, the day of the next decision.
    scored
        ``symbol``, ``date`` and ``score`` of the decisions with a score.
    """

    sessions: pl.Series
    books: Mapping[str, tuple[pl.DataFrame, pl.DataFrame]]
    marks: pl.DataFrame | None
    splits: pl.DataFrame | None
    fills: pl.DataFrame | None
    forward: pl.DataFrame | None
    scored: pl.DataFrame | None

    @property
    def names(self) -> Integers:
        """Numbers of the names that have a mark or a forward return; empty if none has."""
        used = [
            rows["symbol"].to_physical().to_numpy() for rows in (self.marks, self.forward) if rows is not None
        ]
        return np.unique(np.concatenate([np.empty(0, np.int64), *used])).astype(np.int64)


def read_run(tables: Mapping[str, Collection[str]], read: ReadColumns, market: MarketPrices) -> MarketRun:
    """Read the rows of names that have market prices; `tables` are the columns by table, as in :mod:`pipeline.notices.evidence`."""
    sessions = pl.Series("date", [], pl.Date)
    marks = splits = fills = forward = None
    books = {}
    if "portfolio" in tables:
        (part,) = read("portfolio", _LEDGER)
        sessions = part["portfolio"]["date"].unique().sort()
    numbered = sessions.to_frame().with_columns(session=pl.int_range(pl.len()))
    if "portfolio" in tables and "positions" in tables:
        marks = _rows(read, "positions", ("book", *CELL, "mark_price"), market, _IS_RAW, once=True)
        marks = marks.join(numbered, on="date").sort("symbol", "session")
        for book in CONDITIONED_BOOKS:
            equity = part["portfolio"].select(_LEDGER).filter(pl.col("book") == book)
            weights = _rows(read, "positions", ("book", *CELL, "weight"), market, pl.col("book") != book)
            equity, weights = (rows.join(numbered, on="date").drop("date") for rows in (equity, weights))
            books[book] = equity, weights
        if "trades" in tables:
            traded = ("book", "timestamp", "symbol", "quantity", "mid_price")
            fills = _rows(
                read, "trades", traded, market, _IS_RAW, settled=_IS_SETTLED, adjusting=_IS_ADJUSTING
            )
            fills = fills.with_columns(date=pl.col("timestamp").dt.date()).join(numbered, on="date")
    if _SHARES in tables.get("pnl", ()):
        unchanged = _IS_RAW | (pl.col(_SHARES) == 0)
        splits = _rows(read, "pnl", ("book", *CELL, _SHARES), market, unchanged, once=True)
    if "forward_return" in tables.get("decisions", ()):
        forward = _read_forward_returns(tables, read, market)
    scored = None
    if "decisions" in tables:
        scored = _rows(read, "decisions", (*CELL, "score"), market, pl.col("score").is_null())
    return MarketRun(sessions, books, marks, splits, fills, forward, scored)


def _rows(
    read: ReadColumns,
    kind: str,
    columns: tuple[str, ...],
    market: MarketPrices,
    left_out: pl.Expr,
    *,
    once: bool = False,
    **flags: pl.Expr,
) -> pl.DataFrame:
    """Read columns of the rows whose names have market prices, and flags; with `once`, one row per name and day."""
    known = pl.col("symbol").cast(market.names, strict=False)
    parts = []
    for part in read(kind, columns):
        rows = part[kind].lazy().select(columns).filter(~left_out).with_columns(known, **flags)
        rows = rows.drop("book", strict=False).drop_nulls("symbol")
        parts.append((rows.unique(CELL) if once else rows).collect())
    together = pl.concat(parts)
    return together.unique(CELL) if once and len(parts) > 1 else together


def _read_forward_returns(
    tables: Mapping[str, Collection[str]], read: ReadColumns, market: MarketPrices
) -> pl.DataFrame:
    instants = {"entry": "entry_at", "maturity": "maturity_at"}
    sealed = tuple(name for name in instants.values() if name in tables["decisions"])
    unknown = pl.col("forward_return").is_null()
    rows = _rows(read, "decisions", (*CELL, "score", "forward_return", *sealed), market, unknown)
    weeks = rows["date"].unique()
    if "rebalances" in tables:
        (part,) = read("rebalances", ("date",))
        weeks = pl.concat([weeks, part["rebalances"]["date"]]).unique()
    weeks = weeks.sort()
    following = pl.coalesce(pl.col("date").shift(-1), pl.col("date") + WEEK)
    days = {
        day: pl.col(name).dt.date() if name in sealed else pl.lit(None, pl.Date)
        for day, name in instants.items()
    }
    side = (pl.col("score") - pl.col("score").median().over("date")).sign()
    return rows.select(*CELL, "forward_return", side=side, **days).join(
        weeks.to_frame("date").with_columns(following=following), on="date"
    )

"""P&L of a run, sampled for the notices: its borrow fees, and sums of its share and cash adjustments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import SESSIONS_PER_YEAR, Floats
from pipeline.notices.ledger import Flows
from pipeline.notices.rows import BOOK_BITS, ReadColumns, Symbols, place_in, select_rows, to_days
from pipeline.reconciliation.tables import SESSION
from schemas.notices.books import NEARLY_UNBORROWED
from schemas.tables.pnl import ADJUSTMENTS

_MARKET_PNL: Final = pl.col("market_pnl")
_SHARES: Final = ADJUSTMENTS[0]
_CHANGED: Final = pl.col(_SHARES) != 0
_CASH: Final = pl.col("cash_adjustment")
_SUMS: Final = {
    "cash_adjustment": (
        _CASH.sum(),
        _CASH.clip(lower_bound=0.0).sum().alias("cash_received"),
        (-_CASH).clip(lower_bound=0.0).sum().alias("cash_paid"),
        (_CASH > 0).sum().alias("receipts"),
        (_CASH**2).sum().alias("cash_squares"),
    ),
    "quantity_adjustment": (
        _MARKET_PNL.filter(_CHANGED).sum().alias("on_share_adjustments"),
        _CHANGED.sum().alias("changed"),
        (_MARKET_PNL != 0).sum().alias("moved"),
        (_MARKET_PNL**2).sum().alias("squares"),
    ),
}
"""Adjustment -> sums over the pnl of a book."""


Received = tuple[Integers, Integers, Floats]
"""Days since 1970, numbers of names, and the shares or the cash that a book received without a fill, such as by splits or dividends."""


@dataclass(frozen=True, slots=True)
class SampledPnl:
    """Sums of the pnl.

    Attributes
    ----------
    cells, borrow
        Positions on the sampled days, numbered by :meth:`BookRows.cells`, and their ``borrow_cashflow``.
    sums
        Book -> sums over its share and cash adjustments, by field of :class:`Flows`.
    adjusted
        Numbers of the names with a split or a dividend.
    received
        Adjustment -> what the first book received by it, for the adjustments that were sealed.
    """

    cells: Integers
    borrow: Floats
    sums: Mapping[str, Mapping[str, float]]
    adjusted: Integers
    received: Mapping[str, Received] = field(default_factory=dict)

    def flows(self, books: list[str], shorts: Integers, notional: Floats) -> dict[str, Flows]:
        """Return the pnl sums of each book, given its short positions."""
        paid = np.zeros(shorts.size)
        if self.cells.size:
            place, known = place_in(shorts, self.cells)
            paid[known] = -self.borrow[place[known]]
        unborrowed = paid * SESSIONS_PER_YEAR < NEARLY_UNBORROWED * notional
        book = shorts >> BOOK_BITS
        number, free = (np.bincount(some, minlength=len(books)) for some in (book, book[unborrowed]))
        return {
            name: Flows(**self.sums.get(name, {}), shorts=int(number[place]), unborrowed=int(free[place]))
            for place, name in enumerate(books)
        }


def sample_pnl(
    columns: Collection[str],
    read: ReadColumns,
    symbols: Symbols,
    books: list[str],
    sampled: Integers,
    *,
    first_book: str,
) -> SampledPnl:
    """Read the pnl once.

    Parameters
    ----------
    columns
        Sealed columns of the pnl; without any, the result is empty.
    read, symbols
        Read the table in parts, and number its symbols.
    books
        Books whose borrow fees are sampled.
    sampled
        Days on which they are, as days since 1970.
    first_book
        Book whose shares and cash received without a fill are returned.
    """
    cells, borrow, adjusted, parts = [], [], [], []
    adjustments = [name for name in ADJUSTMENTS if name in columns]
    received: dict[str, list[tuple[Integers, NDArray[np.uint32], Floats]]] = {
        name: [] for name in adjustments
    }
    wanted = (*SESSION, "symbol", "market_pnl", "borrow_cashflow", *adjustments)
    for part in read("pnl", wanted) if columns and (books or adjustments) else ():
        pnl, codes = part["pnl"], symbols.codes(part.symbols("pnl"))
        some = select_rows(part.row_ranges("pnl"), books, "date", sampled)
        cells.append(some.cells(codes))
        borrow.append(pnl["borrow_cashflow"].to_numpy()[some.rows])
        if adjustments:
            moved = pnl.select(pl.any_horizontal(pl.col(adjustments) != 0)).to_series().to_numpy()
            adjusted.append(codes[moved].astype(np.int64))
            for name, rows_of in received.items():
                own = pnl.select((pl.col("book") == first_book) & (pl.col(name) != 0)).to_series().arg_true()
                rows = pnl[own]
                rows_of.append((to_days(rows["date"]), codes[own.to_numpy()], rows[name].to_numpy()))
            parts.append(pnl.group_by("book").agg(sum_ for name in adjustments for sum_ in _SUMS[name]))
    none = [np.empty(0, np.int64)]
    return SampledPnl(
        np.concatenate(cells or none),
        np.concatenate(borrow or [np.empty(0)]),
        _sums(parts),
        np.unique(np.concatenate(adjusted or none)),
        {name: _joined(rows) for name, rows in received.items() if rows},
    )


def _joined(parts: list[tuple[Integers, NDArray[np.uint32], Floats]]) -> Received:
    day, code, shares = (np.concatenate(column) for column in zip(*parts, strict=True))
    return day, code.astype(np.int64), shares


def _sums(parts: list[pl.DataFrame]) -> dict[str, dict[str, float]]:
    if not parts:
        return {}
    by_book = pl.concat(parts).group_by("book").agg(pl.all().sum())
    if "changed" in by_book.columns:
        deviation = (pl.col("squares") / pl.max_horizontal("moved", 1) * pl.col("changed")).sqrt()
        by_book = by_book.with_columns(chance_on_share_adjustments=deviation)
        by_book = by_book.drop("changed", "moved", "squares")
    return {row.pop("book"): row for row in by_book.iter_rows(named=True)}

"""Published daily tables of each book, and the list of books."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

import polars as pl

from datasets.figures.equity import equity_curve
from pipeline.maths.ordering import ordered
from pipeline.seal.casting import POLARS_TYPES
from schemas.table import Table
from schemas.tables.books import BOOK_KINDS, BOOKS, book_order, is_raw_book
from schemas.tables.equity_curve import EQUITY_CURVE
from schemas.tables.pnl import PNL
from schemas.tables.portfolio import PORTFOLIO
from schemas.tables.positions import POSITIONS
from schemas.tables.trades import TRADES

Books = dict[str, pl.DataFrame]
"""Book -> its rows, books in canonical order."""


def by_book(sealed: pl.DataFrame, table: Table, derive: Callable[[pl.DataFrame], pl.DataFrame]) -> Books:
    """Split a sealed table by book, derive the published columns and put the rows in the table's order.

    Parameters
    ----------
    sealed
        The complete table with its ``book`` column.
    table
        Declaration of the table: columns and order.
    derive
        Adds the derived columns to the rows of one book, which are still in sealed order.
    """
    books = sealed.partition_by("book", as_dict=True, include_key=False)
    parts = {str(book): rows for (book,), rows in books.items()}
    order = [name for name in table.sort if name != "book"]
    return {
        book: ordered(_stored(derive(parts[book]), table), order) for book in sorted(parts, key=book_order)
    }


def published_portfolio(sealed: pl.DataFrame, equity_basis: float) -> Books:
    """Return the ledger of each book, with the run's `equity_basis` on every row."""
    return by_book(sealed, PORTFOLIO, lambda rows: rows.with_columns(equity_basis=pl.lit(equity_basis)))


_NET_PNL: Final = pl.col("market_pnl") + pl.col("execution_cost") + pl.col("borrow_cashflow")
"""A plain sum, because costs are negative."""
_DERIVED: Final[Mapping[str, tuple[Table, Callable[[pl.DataFrame, int], pl.DataFrame]]]] = {
    "positions": (POSITIONS, lambda rows, _: rows),
    "pnl": (PNL, lambda rows, _: rows.with_columns(net_pnl=_NET_PNL)),
    "trades": (TRADES, lambda rows, first: rows.with_columns(fill_order=first + pl.int_range(pl.len()))),
}
"""Kind with rows by name -> its declaration, and the function that adds its derived columns."""


def published_by_name(kind: str, sealed: pl.DataFrame, first: int = 0) -> Books:
    """Return the positions, P&L or fills of each book.

    Parameters
    ----------
    kind
        ``positions``, ``pnl`` or ``trades``.
    sealed
        The sealed table, or a part of it.
    first
        Number of the first fill of a book; fills are numbered in sealed order.
    """
    table, derive = _DERIVED[kind]
    return by_book(sealed, table, lambda rows: derive(rows, first))


def published_equity_curves(portfolio: Books) -> Books:
    """Compute the equity curve of each book over the complete run from its published ledger."""
    return {book: _curve(rows) for book, rows in portfolio.items()}


def _curve(ledger: pl.DataFrame) -> pl.DataFrame:
    curve = equity_curve(ledger["starting_equity"].to_numpy(), ledger["ending_equity"].to_numpy())
    names = ("period_return", "cumulative_return", "peak_equity", "drawdown", "drawdown_pct")
    # The maths uses NaN for null; JSON has no NaN.
    figures = {name: pl.Series(name, getattr(curve, name), nan_to_null=True) for name in names}
    return ledger.with_columns(**figures).select(column.name for column in EQUITY_CURVE.stored_columns)


def _stored(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    return rows[[column.name for column in table.stored_columns if column.name in rows.columns]]


Span = tuple[int, int, date | None, date | None]
"""Days, rows, first and last day."""
Spans = dict[str, Span]
"""Book -> its span in one dataset."""


def published_books(kinds: Mapping[str, Spans]) -> pl.DataFrame:
    """Summarise every (book, dataset) pair of the run, in API order.

    Parameters
    ----------
    kinds
        Dataset -> span of each book, for the datasets that the run sealed.
    """
    books = sorted({book for parts in kinds.values() for book in parts}, key=book_order)
    rows = [
        (book, kind, is_raw_book(book), *kinds[kind][book])
        for book in books
        for kind in BOOK_KINDS
        if kind in kinds and book in kinds[kind]
    ]
    return pl.DataFrame(rows, {x.name: POLARS_TYPES[x.type] for x in BOOKS}, orient="row")


def span(rows: pl.DataFrame, kind: str, before: Span | None = None) -> Span:
    """Count the days and rows of a book in a dataset, with its first and last day (UTC day for fills).

    Parameters
    ----------
    rows
        Published rows, sorted by day.
    before
        Span of the rows of the days before; None if there are none.
    """
    day = pl.col("timestamp").dt.date() if kind == "trades" else pl.col("date")
    days, first, last = rows.select(days=day.n_unique(), first=day.min(), last=day.max()).row(0)
    if before is not None:
        return before[0] + days, before[1] + rows.height, before[2], last
    return days, rows.height, first, last

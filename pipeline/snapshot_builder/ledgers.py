"""Published daily tables of each book, and the list of books."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
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


@dataclass(frozen=True, slots=True)
class Span:
    """The days and rows of a table.

    Attributes
    ----------
    days, rows
        Number of days with a row (0 in a table without days), and of rows.
    first, last
        First and last day with a row, the UTC day of fills; None without days.
    """

    days: int = 0
    rows: int = 0
    first: date | None = None
    last: date | None = None

    @classmethod
    def of(cls, rows: pl.DataFrame) -> Span:
        """Return the span of published rows."""
        column = next((name for name in ("date", "timestamp") if name in rows.columns), None)
        if column is None or rows.is_empty():
            return cls(rows=rows.height)
        day = pl.col(column).cast(pl.Date)
        return cls(*rows.select(days=day.n_unique(), rows=pl.len(), first=day.min(), last=day.max()).row(0))

    def __add__(self, later: Span) -> Span:
        """Return the span of a table whose next rows, of later days, have another span."""
        return Span(
            self.days + later.days, self.rows + later.rows, self.first or later.first, later.last or self.last
        )

    @property
    def ends(self) -> tuple[str | None, str | None]:
        """First and last day as text."""
        if self.first is None or self.last is None:
            return None, None
        return self.first.isoformat(), self.last.isoformat()


def published_books(spans: Mapping[tuple[str, str | None], Span]) -> pl.DataFrame:
    """Summarise every (book, dataset) pair of the run, in API order.

    Parameters
    ----------
    spans
        Dataset and book -> span of the file.
    """
    books = sorted({book for kind, book in spans if book is not None}, key=book_order)
    rows = [
        (book, kind, is_raw_book(book), *astuple(spans[kind, book]))
        for book in books
        for kind in BOOK_KINDS
        if (kind, book) in spans
    ]
    return pl.DataFrame(rows, {x.name: POLARS_TYPES[x.type] for x in BOOKS}, orient="row")

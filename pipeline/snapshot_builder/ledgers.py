"""The tables partitioned by book: ledger, equity curve, positions, P&L and fills."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate

import numpy as np
import polars as pl

from datasets.figures.equity import equity_curve
from pipeline.maths.row_order import ordered
from schemas.table import Table
from schemas.tables.books import book_order
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
        The whole table with its ``book`` column.
    table
        Its declaration: columns, order.
    derive
        Adds the derived columns to the rows of one book, which still stand in sealed order.
    """
    parts = _parts(sealed)
    order = [name for name in table.sort if name != "book"]
    return {
        book: ordered(_stored(derive(parts[book]), table), order) for book in sorted(parts, key=book_order)
    }


def _parts(sealed: pl.DataFrame) -> Books:
    """Split rows by book, in the order they stand in; without a copy where the rows of each book stand together."""
    ranges = sealed.select(pl.col("book").rle()).to_series().struct.unnest()
    books, lengths = ranges["value"].to_list(), ranges["len"].to_list()
    if len(set(books)) < len(books):
        parts = sealed.partition_by("book", as_dict=True, maintain_order=True, include_key=False)
        return {str(key[0]): part for key, part in parts.items()}
    rows = sealed.drop("book")
    starts = accumulate(lengths, initial=0)
    return {
        str(book): rows.slice(start, length)
        for book, start, length in zip(books, starts, lengths, strict=False)
    }


def published_portfolio(sealed: pl.DataFrame, equity_basis: float) -> Books:
    """Return the ledger of each book; `equity_basis` is the run's and stands on every row."""
    return by_book(sealed, PORTFOLIO, lambda rows: rows.with_columns(equity_basis=pl.lit(equity_basis)))


def published_positions(sealed: pl.DataFrame) -> Books:
    """Return the holdings of each book."""
    return by_book(sealed, POSITIONS, lambda rows: rows)


def published_pnl(sealed: pl.DataFrame) -> Books:
    """Return the P&L of each book with its net: the costs are negative already, so it is a plain sum."""
    return by_book(sealed, PNL, _with_net)


def published_trades(sealed: pl.DataFrame, first: int = 0) -> Books:
    """Return the fills of each book, numbered from `first` in the order the engine sealed them."""
    return by_book(sealed, TRADES, partial(_numbered, first=first))


# As series, not expressions, which would wait for their turn in the engine behind the files being written.
def _with_net(rows: pl.DataFrame) -> pl.DataFrame:
    net = rows["market_pnl"] + rows["execution_cost"] + rows["borrow_cashflow"]
    return rows.hstack([net.alias("net_pnl")])


def _numbered(rows: pl.DataFrame, first: int) -> pl.DataFrame:
    return rows.hstack([pl.Series("fill_order", np.arange(first, first + rows.height), pl.Int64)])


def published_equity_curves(portfolio: Books) -> Books:
    """Compute the equity curve of each book over the whole run from its published ledger."""
    return {book: _curve(rows) for book, rows in portfolio.items()}


def _curve(ledger: pl.DataFrame) -> pl.DataFrame:
    curve = equity_curve(ledger["starting_equity"].to_numpy(), ledger["ending_equity"].to_numpy())
    names = ("period_return", "cumulative_return", "peak_equity", "drawdown", "drawdown_pct")
    # NaN is how the maths says null; a published NaN would be a number nobody can write as JSON.
    figures = {name: pl.Series(name, getattr(curve, name), nan_to_null=True) for name in names}
    return ledger.with_columns(**figures).select(column.name for column in EQUITY_CURVE.stored_columns)


def _stored(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    return rows[[column.name for column in table.stored_columns if column.name in rows.columns]]

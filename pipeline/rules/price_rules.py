"""The rules on prices: all books of a run have the same price of a name at an instant."""

from __future__ import annotations

import polars as pl

from pipeline.reconciliation.tables import SESSION, Tables
from pipeline.rule import Finding, rule
from pipeline.rules.findings import broken_rows
from pipeline.rules.tolerance import RELATIVE
from schemas.plurals import counted
from schemas.tables.books import base_book


@rule(
    "trades.one_price",
    "Fills of one name at one instant have one mid_price, in all books and their variants. Fills of one book that are "
    "stamped with the close of the session may differ, because they represent a whole day.",
    "Take the mid of every book from the same market, at the instant of the fill.",
    needs={"trades": ("book", "timestamp", "symbol", "mid_price")},
)
def trades_one_price(tables: Tables) -> Finding | None:
    """Report fills whose mid differs from that of other fills of the name at the instant."""
    fills = tables["trades"]
    base = {book: base_book(book) for book in fills["book"].unique()}
    books = pl.col("book").replace_strict(base, return_dtype=pl.String).n_unique()
    prices = _extremes(fills, "timestamp", "mid_price", books=books)
    if tables.has("portfolio", "timestamp"):
        at_a_close = pl.col("timestamp").is_in(tables["portfolio"]["timestamp"].unique().implode())
        prices = prices.filter(~at_a_close | (pl.col("books") > 1))
    return _finding("trades", prices, "timestamp", "instant", "mid_price")


@rule(
    "positions.one_price",
    "A name has one mark_price a session, in all books.",
    "Mark every book at the same close.",
    needs={"positions": (*SESSION, "symbol", "mark_price")},
)
def positions_one_price(tables: Tables) -> Finding | None:
    """Report positions whose mark differs from that of other books."""
    marks = _extremes(tables["positions"], "date", "mark_price")
    return _finding("positions", marks, "date", "session", "mark_price")


def _extremes(rows: pl.DataFrame, moment: str, column: str, **also: pl.Expr) -> pl.DataFrame:
    """Return the lowest and the highest price of each name that has two at a moment, and further aggregates."""
    price = pl.col(column)
    extremes = rows.group_by(moment, "symbol").agg(
        lowest=price.min(),
        lowest_in=pl.col("book").get(price.arg_min()),
        highest=price.max(),
        highest_in=pl.col("book").get(price.arg_max()),
        **also,
    )
    return extremes.filter(pl.col("highest") - pl.col("lowest") > RELATIVE * pl.col("highest").abs())


def _finding(kind: str, prices: pl.DataFrame, moment: str, noun: str, column: str) -> Finding | None:
    """Report names with two prices at a moment; one row is one name and moment."""
    return broken_rows(
        kind,
        prices.sort(moment, "symbol"),
        (moment, "symbol", "lowest", "lowest_in", "highest", "highest_in"),
        f"more than one {column} for {counted(prices.height, 'name')} at {counted(prices[moment].n_unique(), noun)}",
    )

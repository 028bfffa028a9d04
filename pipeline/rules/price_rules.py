"""The rules on prices: all books of a run have the same price of a name at an instant."""

from __future__ import annotations

from typing import Final

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
    mids = _conflicting(tables["trades"], "timestamp", "mid_price")
    if mids.is_empty():
        return None
    base = {book: base_book(book) for book in mids["book"].unique()}
    mids = mids.with_columns(_base=pl.col("book").replace_strict(base, return_dtype=pl.String))
    if tables.has("portfolio", "timestamp"):
        at_a_close = pl.col("timestamp").is_in(tables["portfolio"]["timestamp"].unique().implode())
        single_book = pl.col("_base").n_unique().over("timestamp", "symbol") == 1
        mids = mids.filter(~(at_a_close & single_book))
    return _finding("trades", mids, "timestamp", "mid_price")


@rule(
    "positions.one_price",
    "A name has one mark_price a session, in all books.",
    "Mark every book at the same close.",
    needs={"positions": (*SESSION, "symbol", "mark_price")},
)
def positions_one_price(tables: Tables) -> Finding | None:
    """Report positions whose mark differs from that of other books."""
    marks = _conflicting(tables["positions"], "date", "mark_price")
    return _finding("positions", marks, "date", "mark_price")


def _conflicting(rows: pl.DataFrame, moment: str, column: str) -> pl.DataFrame:
    """Return the rows of names with more than one price at a moment."""
    price = pl.col(column)
    prices = rows.group_by(moment, "symbol").agg(low=price.min(), high=price.max())
    return rows.join(prices.filter(pl.col("low") != pl.col("high")), on=(moment, "symbol"), how="semi")


_MOMENT_NOUNS: Final = {"timestamp": "instant", "date": "session"}


def _finding(kind: str, rows: pl.DataFrame, moment: str, column: str) -> Finding | None:
    """Report names with two prices at an instant, with the lowest and the highest; one row is one name and instant."""
    price = pl.col(column)
    low, high = price.arg_min(), price.arg_max()
    extremes = rows.group_by(moment, "symbol").agg(
        lowest=price.min(), lowest_in=pl.col("book").get(low),
        highest=price.max(), highest_in=pl.col("book").get(high),
    )  # fmt: skip
    broken = extremes.filter(pl.col("highest") - pl.col("lowest") > RELATIVE * pl.col("highest"))
    moments = counted(broken[moment].n_unique(), _MOMENT_NOUNS[moment])
    message = f"more than one {column} for {counted(broken.height, 'name')} at {moments}"
    shown = (moment, "symbol", "lowest", "lowest_in", "highest", "highest_in")
    return broken_rows(kind, broken.sort(moment, "symbol"), shown, message)

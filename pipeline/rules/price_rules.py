"""The rules on prices: all books of a run have the same price of a name at an instant."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from pipeline.reconciliation.grid import BLOCK_CELLS, Cells, Codes, Floats
from pipeline.reconciliation.row_ranges import RowRanges
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
    ranges = tables.row_ranges("trades", ("book", "timestamp"))
    suspects = _conflicting_rows(tables, "trades", ranges, ranges.heads["timestamp"], "mid_price")
    if not suspects.size:
        return None
    trades = tables["trades"]
    doubtful = trades[suspects].select("timestamp", "symbol").unique()
    mids = trades.join(doubtful, on=("timestamp", "symbol"), how="semi")
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
    ranges = tables.row_ranges("positions")
    suspects = _conflicting_rows(tables, "positions", ranges, ranges.heads["date"], "mark_price")
    if not suspects.size:
        return None
    positions = tables["positions"]
    doubtful = positions[suspects].select("date", "symbol").unique()
    marks = positions.join(doubtful, on=("date", "symbol"), how="semi")
    return _finding("positions", marks, "date", "mark_price")


def _conflicting_rows(tables: Tables, kind: str, ranges: RowRanges, moments: pl.Series, column: str) -> Codes:
    """Return rows whose price differs from the last price at their moment and symbol."""
    instants = moments.unique().sort()
    prices: Floats = tables[kind][column].to_numpy()
    symbols = tables.symbols(kind)
    width = max(1, symbols.width)
    cells = Cells.of(
        instants.search_sorted(moments).to_numpy().astype(np.int64), ranges.lengths, symbols.codes
    )
    height = max(1, BLOCK_CELLS // width)
    suspects = []
    for start in range(0, instants.len(), height):
        rows, instant = cells.within(start, start + height)
        key = (instant - start) * width + cells.symbol[rows]
        price, last = prices[rows], np.empty(height * width)
        last[key] = price
        last_price = last[key]
        wrong = np.flatnonzero(price != last_price)  # none in a sound run
        if wrong.size:
            price, last_price = price[wrong], last_price[wrong]
            wrong = wrong[~(np.abs(price - last_price) <= RELATIVE * np.maximum(price, last_price))]
            suspects.append(wrong + rows.start if isinstance(rows, slice) else rows[wrong])
    return np.concatenate(suspects) if suspects else np.empty(0, np.int64)


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
    return broken_rows(
        kind,
        broken.sort(moment, "symbol"),
        (moment, "symbol", "lowest", "lowest_in", "highest", "highest_in"),
        f"more than one {column} for {counted(broken.height, 'name')} at {counted(broken[moment].n_unique(), _MOMENT_NOUNS[moment])}",
    )

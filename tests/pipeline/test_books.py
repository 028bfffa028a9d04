"""Rows of a book are published alike whether the seal groups books or mixes them."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from pipeline.snapshot_builder.ledgers import published_by_name

DAY = dt.date(2020, 1, 3)


def pnl(rows: list[tuple[str, int, str]]) -> pl.DataFrame:
    return pl.DataFrame(
        [(book, DAY + dt.timedelta(days=day), symbol, 1.0 + day, -0.25, -0.5) for book, day, symbol in rows],
        schema=["book", "date", "symbol", "market_pnl", "execution_cost", "borrow_cashflow"],
        orient="row",
    )


GROUPED = [
    ("long_short", 0, "A"),
    ("long_short", 0, "B"),
    ("long_short", 1, "A"),
    ("long_only", 0, "B"),
    ("long_only", 1, "A"),
]


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (3, 4, 0, 1, 2), (3, 0, 4, 1, 2), (4, 2, 1, 3, 0)])
def test_books_are_split_and_put_in_order(order: tuple[int, ...]) -> None:
    books = published_by_name("pnl", pnl([GROUPED[place] for place in order]))
    assert {name: rows.select("date", "symbol", "net_pnl").rows() for name, rows in books.items()} == {
        "long_short": [
            (DAY, "A", 0.25),
            (DAY, "B", 0.25),
            (DAY + dt.timedelta(days=1), "A", 1.25),
        ],
        "long_only": [(DAY, "B", 0.25), (DAY + dt.timedelta(days=1), "A", 1.25)],
    }


def test_a_table_without_rows_has_no_book() -> None:
    assert published_by_name("pnl", pnl(GROUPED).clear()) == {}

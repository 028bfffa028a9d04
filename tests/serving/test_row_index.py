"""The index of a table, made a part at a time, beside an obvious one of all rows at once."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serve.pages import index_builder, row_index
from serve.pages.index_builder import IndexBuilder, NotAscending
from serve.pages.page_query import DECISION, PageQuery
from serve.pages.sql import make_order_by

FIRST = dt.date(2020, 1, 3)
SCHEMA = {"date": pl.Date, "symbol": pl.String, "score": pl.Float64}
ROWS = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.none() | st.sampled_from(["A", "B", "a.b", "é", "\U0001f600", "~"]),
        st.none() | st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0]),
    ),
    max_size=40,
)


@pytest.mark.parametrize("in_files", [False, True])
@pytest.mark.parametrize("sorted_by", [None, "score"])
@given(rows=ROWS, part=st.integers(1, 9))
def test_an_index_made_of_parts_is_that_of_the_whole(
    rows: list[tuple[int, str | None, float | None]], part: int, sorted_by: str | None, *, in_files: bool
) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    table = [(FIRST + dt.timedelta(day), name, score) for day, name, score in rows]
    frame = pl.DataFrame(table, schema=SCHEMA, orient="row")
    with contextlib.ExitStack() as stack, pytest.MonkeyPatch.context() as patch:

        def temporary() -> BinaryIO:
            return cast(BinaryIO, stack.enter_context(tempfile.TemporaryFile()))

        builder = IndexBuilder("date", "symbol", ["score"], sorted_by, temporary if in_files else None)
        patch.setattr(index_builder, "_COUNTED_ROWS", 4)
        for start in range(0, len(rows), part):
            builder.add(frame[start : start + part])
        index, order = builder.finish()

    numbers = list(range(len(rows)))
    if sorted_by is not None:
        # The largest first, nothing last, ties by name, and those without one behind them.
        def key(n: int) -> Any:
            day, name, score = table[n]
            return day, score is None, -(score or 0.0), name is None, name or ""

        numbers.sort(key=key)
        assert order is not None
        assert order.tolist() == numbers
    else:
        assert order is None
    table = [table[n] for n in numbers]
    days = sorted({day for day, _, _ in table})
    assert list(index.days) == [day.toordinal() for day in days]
    assert list(index.day_ends) == [*(sum(x < day for x, _, _ in table) for day in days), len(table)]
    names = sorted({name for _, name, _ in table if name is not None})
    assert list(index.names) == names
    for name in names:
        expected = [n for n, row in enumerate(table) if row[1] == name]
        assert index.of([name], 0, len(table)).tolist() == expected
    found = np.asarray(index.figures["score"][:]).tolist()
    assert all(
        math.isnan(a) if score is None else a == score for a, (_, _, score) in zip(found, table, strict=True)
    )


@pytest.mark.parametrize("sorted_by", [None, "score"])
def test_days_that_do_not_ascend_are_refused(sorted_by: str | None) -> None:
    frame = pl.DataFrame({"date": [FIRST, FIRST - dt.timedelta(1)], "symbol": "A", "score": 1.0})
    builder = IndexBuilder("date", "symbol", ["score"], sorted_by)
    builder.add(frame[:1])

    def go_on() -> None:
        builder.add(frame[1:])
        builder.finish()

    with pytest.raises(NotAscending):
        go_on()


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@settings(max_examples=300)
@given(
    scores=st.sampled_from([[None, *range(-4, 5)], [None] * 19 + [0]]).flatmap(
        lambda values: (
            st.lists(st.sampled_from(values), max_size=1)
            | st.lists(st.sampled_from(values), min_size=40, max_size=60)
        )
    ),
    offset=st.integers(0, 9) | st.integers(0, 70),
    limit=st.integers(1, 6),
    sort=st.sampled_from(["score", "direction", "symbol"]),
    descending=st.booleans(),
    direction=st.none() | st.just(1),
    parted=st.booleans(),
)
def test_the_first_rows_of_a_week_are_those_of_the_engine(
    engine: duckdb.DuckDBPyConnection,
    scores: list[int | None],
    offset: int,
    limit: int,
    sort: str,
    direction: int | None,
    *,
    descending: bool,
    parted: bool,
) -> None:
    # Many are tied, and some or nearly all have no value; a skipped week has no names.
    rows = [(FIRST, f"N{n:02d}", score, (score or 0) % 3 - 1) for n, score in enumerate(scores)]
    week = pl.DataFrame(rows, schema=SCHEMA | {"direction": pl.Int64}, orient="row")
    builder = IndexBuilder("date", "symbol", ["score", "direction"])
    builder.add(week)
    index, _ = builder.finish()
    query = PageQuery(
        ("a", "s"), "", "decisions", DECISION, raw=False, first=FIRST, last=FIRST,
        direction=direction, sort=sort, descending=descending, limit=limit, offset=offset,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_index, "_MIN_PARTED_ROWS", 0 if parted else 10**9)
        found, total = index.select(query, 0, len(rows))

    engine.register("week", week.with_row_index("n").to_arrow())
    order = make_order_by((sort, descending), *([("symbol", False)] if sort != "symbol" else []))
    kept = engine.sql("FROM week" if direction is None else "FROM week WHERE direction = 1")
    assert total == len(kept)
    assert found.tolist() == [row[0] for row in kept.order(order).limit(limit, offset).fetchall()]

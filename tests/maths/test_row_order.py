from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pipeline.maths.ordering import ordered
from tests.maths.panels import check

SCHEMA = {"date": pl.Int64, "symbol": pl.String}


@check
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["", "A", "AB", "B", "é"])), max_size=6))
def test_ordered_rows_are_those_a_sort_keeps(rows: list[tuple[int, str]]) -> None:
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    assert ordered(frame, ["date", "symbol"]).rows() == sorted(rows)
    assert (ordered(frame, ["date", "symbol"]) is frame) == (rows == sorted(rows))
    assert (ordered(frame, ["date"]) is frame) == (
        [date for date, _ in rows] == sorted(date for date, _ in rows)
    )

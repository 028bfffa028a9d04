"""Pages of an equity curve equal slices of the curve of the window."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import orjson
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.figures.equity import equity_curve, equity_summary
from schemas.rows import ROWS
from serve.pages.duckdb import to_json
from serve.pages.equity import LEDGER_COLUMNS, curve, make_ledger

# No ratio of two of them is so large that a product of twenty overflows.
NUMBERS = (
    st.sampled_from([None, 0.0, -0.0, 1.0, 1.5, -0.25, 123_456_789.0])
    | st.floats(0.01, 3)
    | st.floats(-3, -0.01)
)
MOMENTS = st.none() | st.integers(0, 2**31 * 10**6).map(
    lambda microseconds: dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=microseconds)
)


@st.composite
def ledgers(draw: st.DrawFn) -> pl.DataFrame:
    sessions = draw(st.integers(0, 20))
    columns: dict[str, pl.Series] = {}
    for name in LEDGER_COLUMNS:
        if name == "date":
            values: list[Any] = [dt.date(2020, 1, 30) + dt.timedelta(2 * n) for n in range(sessions)]
            type_: Any = pl.Date
        else:
            drawn: st.SearchStrategy[Any] = MOMENTS if name == "timestamp" else NUMBERS
            values = draw(st.lists(drawn, min_size=sessions, max_size=sessions))
            type_ = pl.Datetime("us", "UTC") if name == "timestamp" else pl.Float64
        columns[name] = pl.Series(name, values, type_)
    return pl.DataFrame(columns)


def plain(frame: pl.DataFrame, book: str, offset: int, limit: int) -> tuple[bytes, bytes]:
    """Oracle: compute a window and write it like any other frame."""
    starting, ending = (frame[x].fill_null(np.nan).to_numpy() for x in ("starting_equity", "ending_equity"))
    measured = equity_curve(starting, ending)
    summary = equity_summary(frame["date"].to_numpy(), starting, ending, measured)
    derived = [x.name for x in ROWS["equity"].columns if x.name not in LEDGER_COLUMNS]
    rows = frame.with_columns(pl.Series(x, getattr(measured, x), nan_to_null=True) for x in derived)
    page = rows.select(x.name for x in ROWS["equity"].columns).slice(offset, limit)
    return to_json(page), orjson.dumps({"book": book, **summary})


@settings(max_examples=400)
@given(ledgers(), st.tuples(st.integers(0, 20), st.integers(0, 20)), st.integers(0, 25), st.integers(1, 25))
def test_every_page_of_every_window_matches_the_definition(
    frame: pl.DataFrame, window: tuple[int, int], offset: int, limit: int
) -> None:
    start, end = sorted(min(number, frame.height) for number in window)
    expected = plain(frame[start:end], "b", offset, limit)
    actual = curve(make_ledger(frame), "b", slice(start, end), offset=offset, limit=limit)
    rows = b"[" + bytes(actual.rows.objects) + b"]"
    assert (rows, orjson.dumps(actual.meta["summary"])) == expected
    assert actual.rows.total == end - start
    assert actual.rows.returned == len(orjson.loads(rows))


def test_a_ledger_reports_its_memory() -> None:
    row: dict[str, Any] = dict.fromkeys(LEDGER_COLUMNS, 1.0)
    row |= {"date": dt.date(2020, 1, 3), "timestamp": dt.datetime(2020, 1, 3, tzinfo=dt.UTC)}
    one, many = make_ledger(pl.DataFrame([row])), make_ledger(pl.DataFrame([row] * 1_000))
    assert one.bytes >= 8 * len(LEDGER_COLUMNS)
    assert many.bytes >= 8_000 * len(LEDGER_COLUMNS)

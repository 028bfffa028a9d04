"""Pages from memory equal, byte for byte, those of the engine from files."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError
from serve.pages import row_table, tables
from serve.pages.duckdb import Engine, Statement, source, to_json
from serve.pages.query import PageQuery, Rows
from serve.pages.row_folder import RowFolder
from serve.pages.row_table import RowTable, make_batch
from tests.support import published
from tests.support.page_parts import PLACES, Parts

DAYS = sorted({*published.WEEKS, *published.SESSIONS, dt.date(2019, 1, 1), dt.date(2021, 1, 1)})


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with ties, nulls, both zeros and names in every order of bytes."""
    folder = tmp_path_factory.mktemp("cached") / "published"
    folder.mkdir()
    decisions = published.decisions()
    n = pl.int_range(pl.len())
    zeros = pl.when(n % 11 == 4).then(0.0).when(n % 11 == 7).then(-0.0).otherwise(pl.col("score"))
    odd = {"C": "a.b", "E": "BRK-B", "K": "é", "L": "\U0001f600", "M": "~"}
    decisions = decisions.with_columns(
        score=zeros,
        long_only_target_weight=n % 3 * 0.1,
        symbol=pl.col("symbol").replace(odd),
    )
    kinds = published.full() | {"decisions": decisions.sort("date", "symbol")}
    published.publish(folder, kinds, description={"name": "By hand"})
    return folder


@pytest.fixture(scope="module")
def uncached(root: Path) -> Iterator[Parts]:
    """Page parts without a cache."""
    parts = Parts(root, 1)
    yield parts
    parts.close()


@pytest.fixture(scope="module")
def both(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Parts]]:
    """Page parts that render a table after its first query, in memory and in a folder."""
    place = tmp_path_factory.mktemp("rendered") / "rows"
    with pytest.MonkeyPatch.context() as patch:  # the only knobs, and no settings
        patch.setattr(tables, "_COST_SHARE_WHEN_FREE", 0.0)
        patch.setattr(row_table, "_PART_ROWS", 7)
        parts = {
            "memory": Parts(root, 2**30),
            "folder": Parts(root, 2**30, RowFolder(place, 2**30, "root")),
        }
        yield parts
        for each in parts.values():
            each.close()


@pytest.fixture(params=["memory", "folder"])
def cached(both: dict[str, Parts], request: pytest.FixtureRequest) -> Parts:
    result: Parts = both[request.param]
    return result


def maybe(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[str | None]:
    return st.none() | strategy


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, str], bool]:
    name = draw(st.sampled_from(sorted(PLACES)))
    known = {parameter.name for parameter in ENDPOINTS[name].parameters}
    days = st.sampled_from([day.isoformat() for day in DAYS])
    symbols = st.lists(
        st.sampled_from([*"ABCDEM", "BRK-B", "a.b", "é", "\U0001f600", "~", "NONE"]), min_size=1, max_size=6
    )
    book = st.sampled_from(["long_short", "long_only"])
    choices: dict[str, st.SearchStrategy[str | None]] = {
        "from": maybe(days),
        "to": maybe(days),
        "symbol": maybe(symbols.map(",".join)),
        "book": book if name == "portfolio.trades" else maybe(book),
        "limit": st.integers(1, 30).map(str),
        "offset": maybe(st.integers(0, 50).map(str)),
        "fields": maybe(st.sampled_from(["core", "all"])),
        "sort": maybe(st.sampled_from(["score", "rank", "weight", "symbol"])),
        "order": maybe(st.sampled_from(["asc", "desc"])),
        "direction": maybe(st.sampled_from(["-1", "0", "1"])),
        "min_abs_weight": maybe(st.sampled_from(["0", "0.1", "0.125", "0.2", "1"])),
    }
    requested = {key: draw(values) for key, values in choices.items() if key in known}
    if "date" in PLACES[name]:
        requested["date"] = draw(st.sampled_from([day.isoformat() for day in published.WEEKS]))
    return name, {key: value for key, value in requested.items() if value is not None}, draw(st.booleans())


@settings(max_examples=150)
@given(requests())
@example(("signals.rebalances.get", {"date": "2020-01-03", "min_abs_weight": "0.125", "limit": "30"}, False))
def test_memory_and_file_answer_the_same_bytes(
    uncached: Parts, both: dict[str, Parts], request_: tuple[str, dict[str, str], bool]
) -> None:
    name, requested, raw = request_
    try:
        query = uncached.query(name, requested, raw=raw)
        expected = uncached.load(query)
    except ApiError as error:  # an empty window with reversed ends
        for cached in both.values():
            with pytest.raises(ApiError, match=str(error)):
                cached.load(cached.query(name, requested, raw=raw))
        return
    for cached in both.values():
        assert cached.query(name, requested, raw=raw) == query, (
            "a query is of the snapshot and the request alone"
        )
        assert cached.load(query) == expected
        if requested.get("date") != "2020-01-10":  # the skipped week has no rows to cache
            assert cached.until_cached(query) == expected


def test_a_symbol_with_quotes_is_no_part_of_the_statement(uncached: Parts) -> None:
    query = uncached.query("signals.scores", {"symbol": "A'or'A'='A"}, raw=False)
    assert uncached.load(query).rows == (b"", 0, 0)


def test_a_window_may_end_on_the_last_day_there_is(uncached: Parts) -> None:
    everything = uncached.query("portfolio.trades", {"book": "long_short"}, raw=False)
    until = uncached.query("portfolio.trades", {"book": "long_short", "to": "9999-12-31"}, raw=False)
    assert uncached.load(until).rows == uncached.load(everything).rows


def test_uncached_pages_are_not_answered_from_memory(uncached: Parts) -> None:
    for name, places in PLACES.items():
        requested = dict.fromkeys(places, "2020-01-03")
        query = uncached.query(
            name, requested | ({"book": "long_short"} if "trades" in name else {}), raw=False
        )
        assert uncached.cached(query) is None


class File:
    """A file of artificial rows from which a table is made."""

    def __init__(self, path: Path, frame: pl.DataFrame) -> None:
        frame.write_parquet(path)
        self._stored, self._rows = source(str(path)), frame.height

    def parts(self) -> tuple[list[Statement], Statement]:
        sql = 'SELECT text, number, "at", day, day AS "#day", text AS "#symbol" FROM '
        sql += f"{self._stored.sql} WHERE file_row_number BETWEEN ? AND ?"
        rows = [
            Statement(sql, (*self._stored.binds, first, first + 6_999))
            for first in range(0, self._rows, 7_000)
        ]
        return rows, Statement(f"SELECT DISTINCT text AS symbol FROM {self._stored.sql}", self._stored.binds)


def cut(table: RowTable, query: PageQuery) -> Rows:
    rows = table.cut(query)
    assert rows is not None
    return rows


def test_every_text_and_instant_is_written_as_the_engine_writes_it(tmp_path: Path) -> None:
    noon = dt.datetime(2020, 1, 3, 12, tzinfo=dt.UTC)
    frame = pl.DataFrame(
        {
            "text": ["a\nb", 'quo"te', "", "c,}", "\U0001f600,\\"] * 9_000,
            "number": [1.0, -0.0, 1e-300, None, 0.1 + 0.2] * 9_000,
            "at": [noon, None, noon.replace(microsecond=5), noon, noon] * 9_000,
            "day": [dt.date(2020, 1, 3)] * 20_000 + [dt.date(2020, 1, 4)] * 25_000,
        }
    )
    engine = Engine()
    table = RowTable(make_batch(engine, cast(Any, File(tmp_path / "f.parquet", frame)), io.BytesIO))
    engine.close()
    everything = PageQuery(("a", "s"), "", "decisions", "score", raw=False, limit=frame.height)
    assert array(cut(table, everything)) == to_json(frame)
    second = everything._replace(first=dt.date(2020, 1, 4), offset=4_999, limit=5)
    assert array(cut(table, second)) == to_json(frame[24_999:25_004])
    named = everything._replace(symbols=("", 'quo"te', "nobody"), offset=8_000, limit=300)
    result = cut(table, named)
    chosen = frame.filter(pl.col("text").is_in(["", 'quo"te']))
    assert (array(result), result.total) == (to_json(chosen[8_000:8_300]), chosen.height)
    assert cut(table, named._replace(offset=10**9)).objects == b""
    assert cut(table, named._replace(symbols=("nobody",))) == (b"", 0, 0)


def array(rows: Rows) -> bytes:
    return b"[" + bytes(rows.objects) + b"]"

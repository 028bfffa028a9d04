from __future__ import annotations

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import SnapshotCorrupt
from serve.pages.duckdb import Engine, Statement, _open_database, source, to_json, writable


@pytest.fixture
def numbered(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{n}.parquet" for n in range(6)]
    for n, path in enumerate(paths):
        pl.DataFrame({"n": [n] * 20_000, "row": range(20_000)}).write_parquet(path)
    return paths


def test_threads_never_see_each_others_rows(numbered: list[Path]) -> None:
    engine = Engine()

    def query(job: int) -> set[int]:
        n = job % len(numbered)
        table = source(str(numbered[n]))
        frame = engine.frame(Statement(f"SELECT n, row FROM {table.sql} ORDER BY row DESC", table.binds))
        return {n, *frame["n"].unique().to_list()}

    with ThreadPoolExecutor(8) as pool:
        assert all(len(result) == 1 for result in pool.map(query, range(120)))
    engine.close()


def test_the_engine_caches_no_file_data(numbered: list[Path]) -> None:
    engine = Engine()
    for path in numbered * 2:
        table = source(str(path))
        engine.frame(Statement(f"SELECT n, row FROM {table.sql} ORDER BY row DESC", table.binds))
    used = engine.frame(Statement("SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory()")).item()
    assert used < 64 * 1024
    engine.close()


def test_a_truncated_file_is_reported_as_corrupt(numbered: list[Path], tmp_path: Path) -> None:
    engine = Engine()
    good = source(str(numbered[0]))
    broken = tmp_path / "broken.parquet"
    pl.DataFrame({"x": pl.Series(range(400_000)).hash()}).write_parquet(broken, row_group_size=20_000)
    text = bytearray(broken.read_bytes())
    middle = len(text) // 2
    text[middle : middle + 400_000] = b"\xff" * 400_000
    broken.write_bytes(text)
    for bad in (source(str(broken)), source(str(tmp_path / "absent.parquet")), source(__file__)):
        statement = Statement(f"SELECT * FROM {bad.sql}", bad.binds)
        with pytest.raises(SnapshotCorrupt, match="cannot be read"):
            engine.frame(statement)
        assert engine.frame(Statement(f"SELECT n FROM {good.sql} LIMIT 1", good.binds)).item() == 0
    engine.close()


def test_queries_can_neither_load_code_nor_change_the_engines_settings() -> None:
    engine = Engine()
    for sql in ("SET threads = 8", "SET autoinstall_known_extensions = true"):
        with pytest.raises((duckdb.Error, SnapshotCorrupt), match="locked"):
            engine.frame(Statement(sql))
    engine.close()


def test_the_engine_fetches_no_code_from_the_network() -> None:
    with pytest.raises(duckdb.Error, match="requires the extension httpfs"):
        _open_database().execute("SELECT * FROM read_parquet('https://127.0.0.1:1/table.parquet')")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_timestamps_of_any_zone_are_written_in_utc(zone: str) -> None:
    moments = [dt.datetime(2020, 7, 3, 14, 30, tzinfo=dt.UTC), None, dt.datetime(1999, 12, 31, tzinfo=dt.UTC)]
    frame = pl.DataFrame(
        {"at": pl.Series(moments, dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone(zone)}
    )
    assert to_json(frame) == b'[{"at":"2020-07-03T14:30:00Z"},{"at":null},{"at":"1999-12-31T00:00:00Z"}]'
    split = frame.with_columns(pl.col("at") + pl.duration(microseconds=7))
    assert b'"2020-07-03T14:30:00.000007Z"' in to_json(split)
    assert to_json(frame.head(0)) == b"[]"


YEARS = [dt.datetime(year, 1, 1) for year in (1900, 2200)]  # noqa: DTZ001 - the zone is put on later


@given(
    st.lists(st.none() | st.datetimes(YEARS[0], YEARS[1]), max_size=20),
    st.sampled_from(["ms", "us", "ns"]),
)
def test_one_timestamp_is_written_like_many(
    moments: list[dt.datetime | None], unit: Literal["ms", "us", "ns"]
) -> None:
    column = pl.Series("at", moments, dtype=pl.Datetime(unit)).dt.replace_time_zone("UTC")
    few = writable(pl.DataFrame(column))
    many = writable(pl.DataFrame(pl.concat([column] + [column] * 1_000)))
    assert few["at"].to_list() == many["at"].to_list()[: len(moments)]

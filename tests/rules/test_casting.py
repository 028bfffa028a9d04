"""Lossless casts are made, others refused."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.seal import Seal
from pipeline.seal.casting import POLARS_TYPES, CastProblem, cast_losslessly
from schemas.units import Type
from tests.support.seals import make_seal, resign

MIDNIGHT = datetime(2024, 3, 1)  # noqa: DTZ001 -- a timestamp without a zone is what is tested
NOON = datetime(2024, 3, 1, 12)  # noqa: DTZ001 -- as above
NY = "America/New_York"


@pytest.mark.parametrize(
    ("series", "to", "expected"),
    [
        (pl.Series([1, 2**53, -(2**53), None]), Type.F64, [1.0, 2.0**53, -(2.0**53), None]),
        (pl.Series([7], dtype=pl.UInt8), Type.F64, [7.0]),
        (pl.Series([0.5], dtype=pl.Float32), Type.F64, [0.5]),
        (pl.Series([3], dtype=pl.UInt64), Type.I64, [3]),
        (pl.Series([3], dtype=pl.Int16), Type.I64, [3]),
        (pl.Series(["a", None, "a"], dtype=pl.Categorical), Type.STR, ["a", None, "a"]),
        (pl.Series(["a"], dtype=pl.Enum(["a", "b"])), Type.STR, ["a"]),
        (pl.Series([MIDNIGHT, None]), Type.DATE, [date(2024, 3, 1), None]),
        (pl.Series([MIDNIGHT]).dt.cast_time_unit("ns"), Type.DATE, [date(2024, 3, 1)]),
        (pl.Series([MIDNIGHT]).dt.replace_time_zone("UTC"), Type.DATE, [date(2024, 3, 1)]),
        (pl.Series([datetime(1960, 3, 1)]).dt.cast_time_unit("ms"), Type.DATE, [date(1960, 3, 1)]),  # noqa: DTZ001
        (
            pl.Series([NOON]).dt.replace_time_zone(NY),
            Type.TIMESTAMP,
            [datetime(2024, 3, 1, 17, tzinfo=UTC)],
        ),
        (
            pl.Series([NOON]).dt.cast_time_unit("ns").dt.replace_time_zone("UTC"),
            Type.TIMESTAMP,
            [NOON.replace(tzinfo=UTC)],
        ),
        (pl.Series([None, None]), Type.BOOL, [None, None]),
        (pl.Series([None]), Type.TIMESTAMP, [None]),
    ],
    ids=str,
)
def test_casts_that_keep_every_value(series: pl.Series, to: Type, expected: list[Any]) -> None:
    cast = cast_losslessly(series, to)
    assert isinstance(cast, pl.Series)
    assert cast.dtype == POLARS_TYPES[to]
    assert cast.to_list() == expected


@pytest.mark.parametrize(
    ("series", "to", "rows"),
    [
        (pl.Series([1, 2**53 + 1, -(2**63), None]), Type.F64, 2),
        (pl.Series([2**63, 1], dtype=pl.UInt64), Type.I64, 1),
        (pl.Series([MIDNIGHT, NOON]), Type.DATE, 1),
        (pl.Series([1, 1_000], dtype=pl.Datetime("ns", "UTC")), Type.TIMESTAMP, 1),
        (pl.Series([NOON]), Type.TIMESTAMP, 0),
        (pl.Series([MIDNIGHT]).dt.replace_time_zone(NY), Type.DATE, 0),
        (pl.Series([0, 1]), Type.BOOL, 0),
        (pl.Series([True]), Type.F64, 0),
        (pl.Series([1.0]), Type.I64, 0),
        (pl.Series(["1.0"]), Type.F64, 0),
        (pl.Series([b"x"]), Type.STR, 0),
        (pl.Series([1]), Type.STR, 0),
        (pl.Series(["2024-03-01"]), Type.DATE, 0),
        (pl.Series([date(2024, 3, 1)]), Type.TIMESTAMP, 0),
        (pl.Series([["x"]]), Type.STR, 0),
    ],
    ids=str,
)
def test_casts_that_would_change_a_value(series: pl.Series, to: Type, rows: int) -> None:
    problem = cast_losslessly(series, to)
    assert isinstance(problem, CastProblem)
    assert problem.rows == rows
    assert len(problem.examples) == min(rows, 5)


def test_a_file_of_another_writer_is_read_to_the_same_table(tmp_path: Path) -> None:
    folder = make_seal(tmp_path)
    expected = Seal.open(str(folder)).table("trades")
    path = folder / "trades.parquet"
    stored = pq.read_table(path)
    for name, kind in {
        "book": pa.dictionary(pa.int32(), pa.string()),
        "symbol": pa.large_string(),
        "decision_at": pa.timestamp("ms"),
        "timestamp": pa.timestamp("ns", tz=NY),
    }.items():
        place = stored.schema.get_field_index(name)
        stored = stored.set_column(place, name, stored.column(name).cast(kind))
    pq.write_table(stored, path, row_group_size=100, compression="gzip", version="1.0")
    assert Seal.open(str(resign(folder))).table("trades").equals(expected)

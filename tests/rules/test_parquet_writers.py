"""Valid Parquet files of every writer and setting are accepted."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from pipeline.seal.tables import decode_table
from schemas.tables import SEALED_TABLES
from tests.support.forged_parquet import columns_of, forge_footer
from tests.support.seals import make_seal

DECISIONS = SEALED_TABLES["decisions"]


def by_pyarrow(frame: pl.DataFrame, path: Path, **options: Any) -> None:
    pq.write_table(frame.to_arrow(), path, **options)


def by_duckdb(frame: pl.DataFrame, path: Path) -> None:
    with duckdb.connect() as database:
        database.execute("set timezone = 'UTC'")
        database.register("rows", frame.to_arrow())
        database.execute(f"copy rows to '{path}' (format parquet, row_group_size 100)")


def by_polars(frame: pl.DataFrame, path: Path, **options: Any) -> None:
    frame.write_parquet(path, **options)


DELTA = {"date": "DELTA_BINARY_PACKED", "symbol": "DELTA_BYTE_ARRAY", "score": "BYTE_STREAM_SPLIT"}
POLARS: dict[str, dict[str, Any]] = {
    "zstd": {},
    "uncompressed": {"compression": "uncompressed"},
    "lz4": {"compression": "lz4"},
    "small groups": {"row_group_size": 7},
    "small pages": {"data_page_size": 100},
    "no statistics": {"statistics": False},
}
PYARROW: dict[str, dict[str, Any]] = {
    "snappy": {},
    "gzip": {"compression": "gzip"},
    "brotli": {"compression": "brotli"},
    "format 1.0": {"version": "1.0"},
    "pages 2.0": {"data_page_version": "2.0"},
    "an index of pages": {"write_page_index": True, "write_page_checksum": True},
    "small pages": {"data_page_size": 64, "dictionary_pagesize_limit": 64, "write_batch_size": 8},
    "plain": {"use_dictionary": False},
    "delta": {"use_dictionary": False, "column_encoding": DELTA},
    "small groups": {"row_group_size": 11},
    "sorted": {"sorting_columns": [pq.SortingColumn(0)]},
}
WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    "duckdb": by_duckdb,
    **{f"polars {name}": partial(by_polars, **options) for name, options in POLARS.items()},
    **{f"pyarrow {name}": partial(by_pyarrow, **options) for name, options in PYARROW.items()},
}


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    seal = make_seal(tmp_path_factory.mktemp("sealed"), weeks=14, ranks=True)
    return pl.read_parquet(io.BytesIO((seal / "decisions.parquet").read_bytes()))


@pytest.mark.parametrize("rows", ["all", "none"])
@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_is_read(sealed: pl.DataFrame, tmp_path: Path, writer: str, rows: str) -> None:
    frame = sealed if rows == "all" else sealed.clear()
    WRITERS[writer](frame, tmp_path / "file")
    for source in ((tmp_path / "file").read_bytes(), tmp_path / "file"):
        decoded = decode_table(DECISIONS, source)
        assert decoded.problems == ()
        assert_frame_equal(decoded.frame, frame.select(decoded.frame.columns))


@pytest.mark.parametrize("writer", ["pyarrow snappy", "pyarrow pages 2.0", "polars zstd"])
@pytest.mark.parametrize("field", [5, 6])
def test_a_number_that_the_footer_contradicts_is_reported(
    sealed: pl.DataFrame, tmp_path: Path, writer: str, field: int
) -> None:
    WRITERS[writer](sealed, tmp_path / "file")
    raw = (tmp_path / "file").read_bytes()

    def negative(footer: Any) -> None:
        next(columns_of(footer))[field].value = -5

    (problem,) = decode_table(DECISIONS, forge_footer(raw, negative)).problems
    assert problem.column == "(file)"
    assert "its footer says" in problem.stored


def test_undeclared_columns_may_be_of_any_size(sealed: pl.DataFrame, tmp_path: Path) -> None:
    frame = sealed.with_columns(pl.lit("x" * 1_000_000).alias("notes_of_the_engine"))
    WRITERS["pyarrow plain"](frame, tmp_path / "file")
    decoded = decode_table(DECISIONS, tmp_path / "file")
    assert decoded.extra == ("notes_of_the_engine",)
    assert decoded.problems == ()

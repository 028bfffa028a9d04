"""Compression and row groups of a published file: size, and time to write and read it.

    uv run python benchmarks/file_format.py ROOT ALPHA [--rounds 9]

The cross-sections of a published run are written with each setting and read by DuckDB with one thread, as the service does: one
week, twenty names in a window, and the complete file. Settings take turns, so that noise affects all of them alike; medians
are printed in milliseconds, the published setting first. The time of a copy from an object store is the file size divided by each of
two bandwidths.
"""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import duckdb
import polars as pl

import datasets
from pipeline.snapshot_builder.write import COMPRESSION, ROW_GROUP_ROWS

COMPRESSIONS = ("uncompressed", "lz4", "snappy", "zstd")
ROW_GROUPS = (5_000, 20_000, 60_000, 10_000_000)
COPY_SPEEDS = {"50 MB/s": 50e6, "500 MB/s": 500e6}


def _timed(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e3


def _reads(path: Path, rows: pl.DataFrame) -> dict[str, Callable[[], Any]]:
    connection = duckdb.connect(config={"threads": 1})
    days = rows["date"].unique().sort()
    names = rows["symbol"].unique().sort().gather_every(max(1, rows["symbol"].n_unique() // 20)).head(20)
    file = "read_parquet(?, hive_partitioning = false)"
    marks = ", ".join("?" * len(names))

    def query(sql: str, *binds: object) -> Callable[[], Any]:
        return lambda: connection.sql(sql, params=[str(path), *binds]).to_arrow_table()

    middle = days[len(days) // 2]
    return {
        "one week": query(f"SELECT * FROM {file} WHERE date = ? ORDER BY score DESC, symbol", middle),
        "20 names in a window": query(
            f"SELECT * FROM {file} WHERE date >= ? AND symbol IN ({marks}) ORDER BY date, symbol",
            middle,
            *names,
        ),
        "complete file": query(f"SELECT * FROM {file}"),
    }


@click.command()
@click.argument("root")
@click.argument("alpha")
@click.option("--rounds", default=9, show_default=True, help="Measurements of each setting.")
def main(root: str, alpha: str, rounds: int) -> None:
    """Print one JSON object per setting, the published one first."""
    rows = datasets.open(root)[alpha].scan("decisions").collect()
    by_name = rows.sort("symbol", "date")
    with tempfile.TemporaryDirectory() as folder:
        settings: dict[str, tuple[Path, pl.DataFrame, str, int]] = {}
        ordered = [(COMPRESSION, ROW_GROUP_ROWS)]
        ordered += [x for x in itertools.product(COMPRESSIONS, ROW_GROUPS) if x != ordered[0]]
        for compression, size in ordered:
            label = f"{compression}, groups of {min(size, rows.height):,}"
            settings[label] = (Path(folder) / f"{compression}-{size}.parquet", rows, compression, size)
        settings["by name, then day"] = (
            Path(folder) / "by-name.parquet",
            by_name,
            COMPRESSION,
            ROW_GROUP_ROWS,
        )
        times: dict[str, dict[str, list[float]]] = {label: {} for label in settings}
        for _ in range(rounds):
            for label, (path, frame, compression, size) in settings.items():

                def write(
                    path: Path = path,
                    frame: pl.DataFrame = frame,
                    compression: str = compression,
                    size: int = size,
                ) -> None:
                    frame.write_parquet(path, compression=compression, row_group_size=size, statistics=True)  # type: ignore[arg-type]  # one of COMPRESSIONS

                times[label].setdefault("write", []).append(_timed(write))
                for name, read in _reads(path, rows).items():
                    read()
                    times[label].setdefault(name, []).append(_timed(read))
        for label, (path, *_) in settings.items():
            size = path.stat().st_size
            print(
                json.dumps(
                    {
                        "setting": label,
                        "MB": round(size / 1e6, 2),
                        **{
                            name: round(statistics.median(values), 2) for name, values in times[label].items()
                        },
                        **{
                            f"copied at {name}": round(size / speed * 1e3, 1)
                            for name, speed in COPY_SPEEDS.items()
                        },
                    }
                )
            )


if __name__ == "__main__":
    main()

"""Reads a complete table into a Polars frame, in a fresh process: our client by link and by pages, and Arrow Flight.

    uv run just bench-tables SEAL [--rounds 7]

All readers get the cross-sections of the same run from servers on loopback, in interleaved rounds, and must return the same values.
Delta Sharing and DuckDB's Quack are not compared: the server of the former is not a Python package, and the latter is an extension
that only DuckDB's own host distributes.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
import pyarrow.parquet as pq

import datasets
from benchmarks.load import LoadFailed
from benchmarks.servers import Ours
from pipeline.snapshot_builder import build_seal
from schemas.tables import TABLES
from tests.support.ports import free_port
from tests.support.processes import REPOSITORY

BY_LINK, BY_PAGES, FLIGHT = "client, by link", "client, by pages", "Arrow Flight"
READERS: Final = (BY_LINK, BY_PAGES, FLIGHT)


@click.command()
@click.argument("seal", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--rounds", type=click.IntRange(min=1), default=7, show_default=True, help="Readings with each."
)
def main(*, seal: Path, rounds: int) -> None:
    """Measure table downloads of a seal and print figures as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        built = build_seal(str(seal), f"{folder}/root")
        results = measure_downloads(Path(folder) / "root", built.alpha_id, rounds, lambda _: None)
    print(json.dumps(results, indent=2))


def ratios_of(results: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the ratios of the medians of one run."""
    ours = results["readers"][BY_LINK]
    for other in (BY_PAGES, FLIGHT):
        theirs = results["readers"][other]
        yield (
            f"{results['rows']:,} rows to a frame, time of {other} / of our client by link",
            theirs["wall_ms"] / ours["wall_ms"],
        )


def measure_downloads(root: Path, alpha: str, rounds: int, log: Callable[[str], None]) -> dict[str, Any]:
    """Read one table with every reader, each time in a fresh process.

    Returns
    -------
    dict
        ``rows``, and for each reader the minimum and median wall-clock and processor time of its process, in milliseconds.

    Raises
    ------
    LoadFailed
        When a reader fails, or two disagree on a value.
    """
    readings: dict[str, list[dict[str, Any]]] = {reader: [] for reader in READERS}
    ours = Ours(root)
    with ours.running() as up, _flight(root, alpha) as flight:
        for round_ in range(rounds + 1):
            for reader in READERS:
                log(f"round {round_}: a table download, {reader}")
                one = _read(reader, flight if reader == FLIGHT else up.port, ours.token, alpha)
                if round_:  # in the first round the servers read the file
                    readings[reader].append(one)
    seen = {(x["rows"], tuple(x["columns"]), x["digest"]) for group in readings.values() for x in group}
    if len(seen) > 1:
        raise LoadFailed("two readers of the table disagree")
    ((rows, *_),) = seen
    return {"rows": rows, "rounds": rounds, "readers": {name: _figures(x) for name, x in readings.items()}}


def _figures(readings: list[dict[str, Any]]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for what in ("wall", "cpu"):
        times = [1e3 * x[f"{what}_s"] for x in readings]
        figures |= {f"{what}_ms": statistics.median(times), f"{what}_least_ms": min(times)}
    return figures


def _read(reader: str, port: int, key: str, alpha: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.table_readers", reader, str(port), alpha],
        cwd=REPOSITORY, input=key, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise LoadFailed(f"{reader}: {done.stderr[-500:]}")
    reading: dict[str, Any] = json.loads(done.stdout)
    return reading


@contextmanager
def _flight(root: Path, alpha: str) -> Iterator[int]:
    """Serve the columns of the cross-sections that a key without raw access may read."""
    file = datasets.open(root)[alpha].file("decisions")
    columns = [name for name in pq.read_schema(file).names if not TABLES["decisions"][name].raw]
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.peers.flight", file, ",".join(columns), str(port)],
        cwd=REPOSITORY, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        if process.stdout.readline() != "ready\n":
            raise LoadFailed("the Flight server did not start")
        yield port
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


if __name__ == "__main__":
    main()

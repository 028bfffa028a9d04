"""Memory and time of a build by the size of the run.

    uv run just bench-large [--decisions 500000 --decisions 2000000] [--weeks 1000] [--keep FOLDER]

A market of few names is simulated once. Each name is then split into many: its rows are repeated under other symbols, and additive
columns (shares, notionals, weights, flows) are divided among them, so the ledger is unchanged and every rule holds. The seal is
written in slices, so that writing takes little memory at any size.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from datasets.storage.file_digests import file_digest
from pipeline.batch.process import ALLOCATOR
from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal

SLICE_ROWS: Final = 200_000
"""Rows written at a time."""
NAMES: Final = 250
"""Names of the simulated run that is split."""
_DIVIDED: Final = {
    "decisions": ("_target_weight",),
    "positions": ("quantity", "signed_notional", "weight"),
    "pnl": ("market_pnl", "execution_cost", "borrow_cashflow"),
    "trades": ("quantity", "fee", "execution_cost"),
}
"""Table -> suffixes of its additive columns."""

_BUILD: Final = """
import json, sys, time
from pathlib import Path
from pipeline.snapshot_builder import build_seal
def peak():  # getrusage would include the memory of the parent at the fork
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))
peaks = {}
begin, cpu = time.perf_counter(), time.process_time()
result = build_seal(sys.argv[1], sys.argv[2], on_stage=lambda name: peaks.update({name: peak()}))
print(json.dumps({"seconds": round(time.perf_counter() - begin, 1), "cpu_seconds": round(time.process_time() - cpu, 1),
                  "peak_mib": peak(), "peak_mib_when_begun": peaks, "published_mib": round(result.bytes / 2**20)}))
"""


def write_large(small: Path, large: Path, copies: int) -> dict[str, int]:
    """Write a seal in which each name of another seal is split into `copies` names.

    Parameters
    ----------
    small, large
        The seal to split, and the folder to write.
    copies
        Names per name: a power of two, so that divisions are exact.

    Returns
    -------
    dict
        Rows by table.
    """
    if copies & (copies - 1):
        raise click.ClickException("copies must be a power of two: other divisions are rounded")
    shutil.copytree(small, large)
    manifest = json.loads((large / "seal.json").read_text())
    rows = {}
    for kind, ends in _DIVIDED.items():
        path = large / manifest["kinds"][kind]["path"]
        rows[kind] = _repeat(small / path.name, path, ends, copies)
        manifest["kinds"][kind] |= {
            "sha256": file_digest(path),
            "rows": rows[kind],
            "bytes": path.stat().st_size,
        }
    path = large / manifest["kinds"]["portfolio"]["path"]
    pl.read_parquet(path).with_columns(pl.col("largest_abs_weight") / copies).write_parquet(path)
    manifest["kinds"]["portfolio"] |= {"sha256": file_digest(path), "bytes": path.stat().st_size}
    manifest["alpha_id"] = f"Test_large_{rows['decisions']}"
    (large / "seal.json").write_text(json.dumps(manifest))
    return rows


def _repeat(source: Path, target: Path, ends: tuple[str, ...], copies: int) -> int:
    target.unlink()
    written = 0
    writer = None
    for part in _slices(source, max(1, SLICE_ROWS // copies)):
        # A full stop sorts before letters and digits, so the names stay sorted.
        numbers = pl.Series(np.tile(np.arange(copies), part.height)).cast(pl.String).str.zfill(3)
        repeated = part.select(pl.all().repeat_by(copies).explode()).with_columns(
            pl.col("symbol") + "." + numbers,
            *(pl.col(name) / copies for name in part.columns if name.endswith(ends)),
        )
        table = repeated.to_arrow(compat_level=pl.CompatLevel.oldest())
        if writer is None:
            writer = pq.ParquetWriter(target, table.schema, compression="zstd")
        writer.write_table(table)
        written += table.num_rows
    if writer is not None:
        writer.close()
    return written


def _slices(source: Path, rows: int) -> Iterator[pl.DataFrame]:
    for batch in pq.ParquetFile(source).iter_batches(rows):
        frame = pl.from_arrow(pa.Table.from_batches([batch]))
        assert isinstance(frame, pl.DataFrame)
        yield frame


def measure(seal: Path, root: Path | None = None) -> dict[str, Any]:
    """Build a seal in a process of its own, by default into a temporary root, and return time and memory."""
    with tempfile.TemporaryDirectory() as temporary:
        done = subprocess.run(
            [sys.executable, "-c", _BUILD, str(seal), str(root or temporary)],
            cwd=REPOSITORY,
            env=ALLOCATOR | os.environ,
            check=False,
            capture_output=True,
            text=True,
        )
    if done.returncode:
        return {"failed": done.returncode, "error": done.stderr.strip().splitlines()[-1:]}
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def large_seal(folder: Path, decisions: int, weeks: int) -> tuple[Path, dict[str, int]]:
    """Return a seal of about `decisions` rows, reused if the folder has it, and its rows by table."""
    folder.mkdir(parents=True, exist_ok=True)
    small = folder / "Test_small"
    if not small.exists():
        make_seal(folder, names=NAMES, weeks=weeks, half_life_weeks=None, raw=False, source=False)
    copies = 1 << max(0, round(np.log2(decisions / (NAMES * weeks))))
    seal = folder / f"seal_{copies}"
    if not seal.exists():
        write_large(small, seal, copies)
    manifest = json.loads((seal / "seal.json").read_text())
    return seal, {kind: manifest["kinds"][kind]["rows"] for kind in _DIVIDED}


@click.command()
@click.option(
    "--decisions",
    multiple=True,
    default=(500_000, 2_000_000),
    show_default=True,
    help="Approximate number of decisions.",
)
@click.option("--weeks", default=1000, show_default=True, help="Weeks of the run.")
@click.option("--keep", type=click.Path(path_type=Path), help="Folder in which to keep the seals.")
def main(decisions: tuple[int, ...], weeks: int, keep: Path | None) -> None:
    """Build runs of several sizes; print time and memory of each as a line of JSON."""
    with tempfile.TemporaryDirectory() as name:
        folder = keep or Path(name)
        for wanted in decisions:
            began = time.perf_counter()
            seal, rows = large_seal(folder, wanted, weeks)
            print(
                json.dumps(
                    {"rows": rows, "written_seconds": round(time.perf_counter() - began), **measure(seal)}
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()

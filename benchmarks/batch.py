"""Rate of a batch of many small runs.

    uv run just bench-batch [--runs 1000] [--jobs 2]

The seals are one simulated run under many ids. Prints one JSON document: runs per minute, and the same for a second batch, when
everything is served already.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from benchmarks.processes import machine
from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal


def measure(runs: int, jobs: int, batches: int = 1) -> list[dict[str, Any]]:
    """Publish many small runs, once or repeatedly; return the outcome and the rate of each batch."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "seals").mkdir()
        template = make_seal(folder / "template", weeks=14, raw=False, source=False)
        _copy(template, folder / "seals", runs)
        return [_batch(folder / "seals", folder / "root", jobs, runs) for _ in range(batches)]


def _copy(template: Path, folder: Path, runs: int) -> None:
    """Copy a seal under many ids: files are hard-linked, only the manifest and its digest differ."""
    manifest = json.loads((template / "seal.json").read_text())
    for number in range(runs):
        name = f"Test_{number:05d}"
        shutil.copytree(template, folder / name, copy_function=os.link)
        (folder / name / "seal.json").unlink()
        (folder / name / "seal.json").write_text(json.dumps({**manifest, "alpha_id": name}))


def _batch(seals: Path, root: Path, jobs: int, runs: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "pipeline", "build", "--datasets", str(root), "--from", str(seals)]
    command += ["--jobs", str(jobs), "--json"]
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True)
    seconds = time.perf_counter() - begin
    return {
        "summary": json.loads(done.stdout.splitlines()[-1])["summary"],
        "seconds": round(seconds, 1),
        "runs_a_minute": round(runs / seconds * 60, 1),
    }


@click.command()
@click.option("--runs", default=1000, show_default=True, help="Number of runs.")
@click.option("--jobs", default=2, show_default=True, help="Parallel builds.")
def main(runs: int, jobs: int) -> None:
    """Build many small runs and print rates as JSON."""
    results = {"runs": runs, "jobs": jobs, **machine()}
    new, served = measure(runs, jobs, batches=2)
    print(json.dumps({**results, "all_new": new, "none_new": served}, indent=2))


if __name__ == "__main__":
    main()

"""Build many small runs as an operator would, and watch the memory of the batch's own process.

    PYTHONPATH=. uv run python benchmarks/batch.py [--runs 1000] [--jobs 2]

The seals are one simulated run under many names. What is printed: runs a minute, and the parent's resident memory
as the batch goes on, which is to stay flat, for each build's memory returns with its own process. Then the same
command once more, which finds everything served.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.seals import make_seal

REPOSITORY = Path(__file__).resolve().parents[1]


def _copies(template: Path, folder: Path, runs: int) -> None:
    """Give one seal many names: its files are shared, its manifest and so its digest differ."""
    manifest = json.loads((template / "seal.json").read_text())
    for number in range(runs):
        name = f"Test_{number:05d}"
        shutil.copytree(template, folder / name, copy_function=os.link)
        (folder / name / "seal.json").unlink()
        (folder / name / "seal.json").write_text(json.dumps({**manifest, "alpha_id": name}))


def _resident(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _batch(seals: Path, root: Path, jobs: int, runs: int) -> dict[str, int]:
    command = [sys.executable, "-m", "pipeline", "build", "--datasets", str(root), "--from", str(seals)]
    process = subprocess.Popen(
        [*command, "--jobs", str(jobs), "--json"], cwd=REPOSITORY, stdout=(root.parent / "report").open("wb")
    )
    catalog, marks = root / "catalog", [runs * part // 10 for part in range(1, 11)]
    while process.poll() is None:
        done = sum(1 for _ in os.scandir(catalog)) if catalog.is_dir() else 0
        if marks and done >= marks[0]:
            marks.pop(0)
            print(f"  {done:>6} runs   parent {_resident(process.pid):6.1f} MiB", flush=True)
        time.sleep(0.5)
    report = json.loads((root.parent / "report").read_text())
    summary: dict[str, int] = report["summary"]
    return summary


@click.command()
@click.option("--runs", default=1000, show_default=True, help="How many.")
@click.option("--jobs", default=2, show_default=True, help="Builds at a time.")
def main(runs: int, jobs: int) -> None:
    """Build many small runs and print the parent's memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "seals").mkdir()
        template = make_seal(folder / "template", weeks=14, raw=False, source=False)
        _copies(template, folder / "seals", runs)
        for what in ("all are new", "none is new"):
            begin = time.perf_counter()
            summary = _batch(folder / "seals", folder / "root", jobs, runs)
            spent = time.perf_counter() - begin
            print(f"{what}: {summary}, {runs / spent * 60:.0f} runs a minute")
        digests = {
            hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "root/catalog").iterdir()
        }
        print(f"{len(digests)} pointers")


if __name__ == "__main__":
    main()

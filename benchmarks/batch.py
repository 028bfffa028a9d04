"""Rate of a batch of many small runs, and memory of its parent process.

    uv run just bench-batch [--runs 1000] [--jobs 2]

The seals are one simulated run under many ids. Progress goes to standard error; one JSON document is printed at the end:
runs per minute, and the resident memory of the parent process over time, which should stay flat because each build has a
process of its own. The same command then runs again, with everything already served.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from benchmarks.processes import memory_kb
from tests.support.seals import make_seal

REPOSITORY = Path(__file__).resolve().parents[1]
SAMPLE_SECONDS = 0.5


def copies(template: Path, folder: Path, runs: int) -> None:
    """Copy a seal under many ids: files are hard-linked, only the manifest and its digest differ."""
    manifest = json.loads((template / "seal.json").read_text())
    for number in range(runs):
        name = f"Test_{number:05d}"
        shutil.copytree(template, folder / name, copy_function=os.link)
        (folder / name / "seal.json").unlink()
        (folder / name / "seal.json").write_text(json.dumps({**manifest, "alpha_id": name}))


def resident(pid: int) -> float:
    """Return the resident memory of a process in MiB; 0 once it has ended."""
    return memory_kb(pid, "status", "VmRSS:") / 1024


def batch(seals: Path, root: Path, jobs: int, runs: int) -> dict[str, Any]:
    """Run one batch, sampling the memory of its process and the number of runs served."""
    command = [sys.executable, "-m", "pipeline", "build", "--datasets", str(root), "--from", str(seals)]
    began = time.perf_counter()
    with (root.parent / "report").open("wb") as report:
        process = subprocess.Popen([*command, "--jobs", str(jobs), "--json"], cwd=REPOSITORY, stdout=report)
    catalog, samples, reported = root / "catalog", [], 0
    while process.poll() is None:
        done = sum(1 for _ in os.scandir(catalog)) if catalog.is_dir() else 0
        memory = resident(process.pid)
        if memory:
            samples.append((done, memory))
        if done >= reported + max(1, runs // 10):
            reported = done
            print(f"  {done:>6} runs   parent {memory:6.1f} MiB", file=sys.stderr, flush=True)
        time.sleep(SAMPLE_SECONDS)
    seconds = time.perf_counter() - began
    summary = json.loads((root.parent / "report").read_text().splitlines()[-1])["summary"]
    return {
        "summary": summary,
        "seconds": round(seconds, 1),
        "runs_a_minute": round(runs / seconds * 60, 1),
        "parent_mib": _memory(samples, runs),
    }


def _memory(samples: list[tuple[int, float]], runs: int) -> dict[str, Any]:
    """Return median memory by tenths of the runs, and the growth from the second tenth to the last."""
    tenths = [
        [
            memory
            for done, memory in samples
            if runs * part // 10 <= done < runs * (part + 1) // 10 + (part == 9)
        ]
        for part in range(10)
    ]
    medians = [round(statistics.median(part), 1) if part else None for part in tenths]
    grown = None if medians[1] is None or medians[9] is None else round(medians[9] - medians[1], 1)
    return {
        "samples": len(samples),
        "median_by_tenth": medians,
        "most": max((round(memory, 1) for _, memory in samples), default=None),
        "grown_from_second_to_last_tenth": grown,
    }


@click.command()
@click.option("--runs", default=1000, show_default=True, help="Number of runs.")
@click.option("--jobs", default=2, show_default=True, help="Parallel builds.")
def main(runs: int, jobs: int) -> None:
    """Build many small runs and print rate and memory as JSON."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "seals").mkdir()
        template = make_seal(folder / "template", weeks=14, raw=False, source=False)
        copies(template, folder / "seals", runs)
        results = {
            "runs": runs,
            "jobs": jobs,
            "cores": len(os.sched_getaffinity(0)),
            "load_before": [round(load, 2) for load in os.getloadavg()],
            "all_new": batch(folder / "seals", folder / "root", jobs, runs),
            "none_new": batch(folder / "seals", folder / "root", jobs, runs),
            "pointers": sum(1 for _ in (folder / "root/catalog").iterdir()),
        }
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()

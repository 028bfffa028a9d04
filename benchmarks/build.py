"""How long a build takes, beside a bare copy of the seal's Parquet files in the same run.

    uv run python benchmarks/build.py SEAL [--rounds 5]

The copy reads every Parquet file of the seal with Polars and writes it again with the settings the pipeline
publishes with. Each round runs the copy and the build in a process of its own, in turn; medians are printed.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import click

REPOSITORY = Path(__file__).resolve().parents[1]

_COPY = """
import json, resource, sys, time
from pathlib import Path
import polars as pl
from pipeline.build.write import COMPRESSION, ROW_GROUP_ROWS
begin = time.perf_counter()
for path in sorted(Path(sys.argv[1]).glob("*.parquet")):
    pl.read_parquet(path).write_parquet(
        Path(sys.argv[2]) / path.name, compression=COMPRESSION, row_group_size=ROW_GROUP_ROWS, statistics=True
    )
print(json.dumps({"seconds": {"copy": time.perf_counter() - begin},
                  "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""

_BUILD = """
import json, resource, sys, time
import pipeline.maths.weekly_signal
from pipeline.build import build_seal
begin = time.perf_counter()
seconds = build_seal(sys.argv[1], sys.argv[2]).seconds
seconds["total"] = time.perf_counter() - begin
print(json.dumps({"seconds": seconds,
                  "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def _run(script: str, seal: str) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script, seal, folder],
            cwd=REPOSITORY,
            check=True,
            capture_output=True,
            text=True,
        )
    found: dict[str, object] = json.loads(done.stdout)
    return found


@click.command()
@click.argument("seal", type=click.Path(exists=True, file_okay=False, resolve_path=True))
@click.option("--rounds", default=5, show_default=True, help="Rounds of copy and build, in turn.")
def main(seal: str, rounds: int) -> None:
    """Measure the build of SEAL against a bare copy of its Parquet files."""
    copies, builds = [], []
    for _ in range(rounds):
        copies.append(_run(_COPY, seal))
        builds.append(_run(_BUILD, seal))
    copy = statistics.median(run["seconds"]["copy"] for run in copies)  # type: ignore[index]
    stages = {
        name: statistics.median(run["seconds"][name] for run in builds)  # type: ignore[index]
        for name in builds[0]["seconds"]  # type: ignore[attr-defined]
    }
    total = stages.pop("total")
    print(f"build / copy: {total / copy:.2f}")
    print(f"copy  {copy:.3f} s, peak {max(run['peak_mib'] for run in copies):.0f} MiB")
    print(f"build {total:.3f} s, peak {max(run['peak_mib'] for run in builds):.0f} MiB")
    for name, seconds in stages.items():
        print(f"  {name:<16} {seconds:.3f} s")


if __name__ == "__main__":
    main()

"""Time of a build beside a bare copy of the seal's Parquet files, and of weekly figures beside alphalens.

    uv run just bench-build SEAL [--rounds 5] [--json]

The copy reads every Parquet file of the seal with Polars and writes it with the pipeline's settings. Each round runs the copy, the
build, and a build without double entry and recomputed figures, each in a separate process; the last one shows the cost of
reconciliation. Medians are printed.

Then the pipeline and alphalens-reloaded compute weekly rank IC and decile returns from the same cross-sections, each in a separate
process, in the same rounds; the median of three passes counts. Both times include the cut into deciles. alphalens gets the panel
indexed, as its functions expect; the pipeline gets it as published, with z-scores, and also averages columns for which alphalens
has no figure. alphalens assigns names at decile edges differently, so figures are compared on the pipeline's deciles, untimed; the
time of the alphalens calls after its own cut is printed too. A difference above 1e-9 ends the run with code 1.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import click

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

import datasets  # noqa: E402 - the repository is put on the path first
from pipeline.batch.process import ALLOCATOR  # noqa: E402 - as above
from pipeline.snapshot_builder import build_seal  # noqa: E402 - as above

_TOLERANCE: Final = 1e-9

_COPY = """
import json, resource, sys, time
from pathlib import Path
import polars as pl
from pipeline.snapshot_builder.write import COMPRESSION, ROW_GROUP_ROWS
begin = time.perf_counter()
for path in sorted(Path(sys.argv[1]).glob("*.parquet")):
    pl.read_parquet(path).write_parquet(
        Path(sys.argv[2]) / path.name, compression=COMPRESSION, row_group_size=ROW_GROUP_ROWS, statistics=True
    )
print(json.dumps({"seconds": {"copy": time.perf_counter() - begin},
                  "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""

_FIGURES = """
import json, resource, statistics, sys, time
import numpy as np
import polars as pl
from pipeline.maths.deciles import weekly_deciles
from pipeline.maths.information_coefficient import weekly_ic
panel = pl.read_parquet(sys.argv[1])
seconds = []
for _ in range(3):
    begin = time.perf_counter()
    ic = weekly_ic(panel, "raw_score")
    deciles = weekly_deciles(panel)
    seconds.append(time.perf_counter() - begin)
ic = dict(zip(ic["date"].cast(pl.String), ic["ic"]))
deciles = {f"{d} {b}": r for d, b, r in deciles.select(
    pl.col("date").cast(pl.String), "bucket", "mean_forward_return").iter_rows()}
print(json.dumps({"seconds": {"figures": statistics.median(seconds)}, "ic": ic, "deciles": deciles,
                  "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""

_ALPHALENS = """
import contextlib, io, json, resource, statistics, sys, time, warnings
warnings.simplefilter("ignore")  # of pandas, about what alphalens calls
import pandas as pd
from alphalens.performance import factor_information_coefficient, mean_return_by_quantile
from alphalens.utils import get_clean_factor
data = pd.read_parquet(sys.argv[1], columns=["date", "symbol", "raw_score", "forward_return"])
data["date"] = pd.to_datetime(data["date"])
data = data.set_index(["date", "symbol"]).rename_axis(["date", "asset"])
data.columns = pd.Index(["factor", "1D"])
ranks = data.sort_values(["date", "factor", "asset"]).groupby(level="date")["factor"]
bucket = 10 * ranks.cumcount() // ranks.transform("size") + 1
data["factor_quantile"] = bucket.reindex(data.index)
known = data.dropna()
total, calls = [], []
for _ in range(3):
    begin = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it dropped
        clean = get_clean_factor(data["factor"], data[["1D"]], quantiles=10)
    factor_information_coefficient(clean)
    mean_return_by_quantile(clean, by_date=True, demeaned=False)
    total.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    ic = factor_information_coefficient(known)["1D"]
    returns, _ = mean_return_by_quantile(known, by_date=True, demeaned=False)
    calls.append(time.perf_counter() - begin)
print(json.dumps({"seconds": {"figures": statistics.median(total), "calls": statistics.median(calls)},
                  "ic": {f"{d:%Y-%m-%d}": v for d, v in ic.items()},
                  "deciles": {f"{d:%Y-%m-%d} {q}": v for (q, d), v in returns["1D"].items()},
                  "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""

_BUILD = """
import json, resource, sys, time
import pipeline.maths.weekly_signal
from pipeline.snapshot_builder import build_seal
{change}
begin, cpu = time.perf_counter(), time.process_time()
seconds = build_seal(sys.argv[1], sys.argv[2]).seconds
seconds["total"] = time.perf_counter() - begin
print(json.dumps({{"seconds": seconds, "cpu": time.process_time() - cpu,
                  "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}}))
"""

_UNRECONCILED = """
from pipeline.snapshot_builder import snapshot
from pipeline.rules import book_rules, checking, fill_rules, target_rules
double = {id(x) for m in (book_rules, fill_rules, target_rules) for x in vars(m).values()}
checking.RULES = {name: rule for name, rule in checking.RULES.items() if id(rule) not in double}
snapshot.figures_from = lambda *_: ()
"""
"""Disables double entry and recomputed figures, to measure their cost."""


def _figures(panel: Path, rounds: int) -> dict[str, Any]:
    """Compute the weekly figures with both, in turn; return seconds, their ratio, and the largest difference of a figure."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(_run(_FIGURES, str(panel)))
        theirs.append(_run(_ALPHALENS, str(panel)))
    own, other = (statistics.median(run["seconds"]["figures"] for run in runs) for runs in (ours, theirs))
    calls = statistics.median(run["seconds"]["calls"] for run in theirs)
    largest, compared = 0.0, 0
    for name in ("ic", "deciles"):
        for key, value in theirs[0][name].items():
            if value is not None and not math.isnan(value):
                largest = max(largest, abs(ours[0][name][key] - value))
                compared += 1
    if not compared:
        raise click.ClickException("the run has no forward returns, so no figures can be compared")
    return {
        "pipeline_s": own,
        "alphalens_s": other,
        "alphalens_calls_s": calls,
        "ratio": other / own,
        "figures": compared,
        "largest_difference": largest,
    }


def _panel(seal: str, folder: Path) -> Path:
    """Publish the seal and return the file of its cross-sections."""
    built = build_seal(seal, str(folder))
    snapshot = datasets.open(folder)[built.alpha_id]
    return Path(snapshot.file("decisions"))


def _run(script: str, seal: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", script, seal, folder],
            cwd=REPOSITORY,
            env=ALLOCATOR | os.environ,
            check=True,
            capture_output=True,
            text=True,
        )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


@click.command()
@click.argument("seal", type=click.Path(exists=True, file_okay=False, resolve_path=True))
@click.option("--rounds", default=5, show_default=True, help="Rounds of all, in turn.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(*, seal: str, rounds: int, as_json: bool) -> None:
    """Measure the build of SEAL against a bare copy of its Parquet files, its weekly figures against alphalens."""
    copies, builds, bare = [], [], []
    for _ in range(rounds):
        copies.append(_run(_COPY, seal))
        builds.append(_run(_BUILD.format(change=""), seal))
        bare.append(_run(_BUILD.format(change=_UNRECONCILED), seal))
    copy = statistics.median(run["seconds"]["copy"] for run in copies)
    stages = {
        name: statistics.median(run["seconds"].get(name, 0.0) for run in builds)
        for name in builds[0]["seconds"]
    }
    total = stages.pop("total")
    with tempfile.TemporaryDirectory() as name:
        figures = _figures(_panel(seal, Path(name)), rounds)
    results = {
        "build_over_copy": total / copy,
        "copy_s": copy,
        "build_s": total,
        "stages_s": stages,
        "reconciliation": {
            "share_of_time": 1 - statistics.median(run["seconds"]["total"] for run in bare) / total,
            "share_of_cpu": 1
            - statistics.median(run["cpu"] for run in bare) / statistics.median(run["cpu"] for run in builds),
        },
        "copy_peak_mib": max(run["peak_mib"] for run in copies),
        "build_peak_mib": max(run["peak_mib"] for run in builds),
        "figures": figures,
    }
    if as_json:
        print(json.dumps(results))
    else:
        _show(results)
    if figures["largest_difference"] > _TOLERANCE:
        raise click.ClickException(f"the figures differ by up to {figures['largest_difference']:.3g}")


def _show(results: dict[str, Any]) -> None:
    figures = results["figures"]
    print(f"build / copy: {results['build_over_copy']:.2f}   aim at most 3")
    print(f"alphalens / pipeline, weekly IC and deciles: {figures['ratio']:.1f}   aim at least 20")
    print(f"copy  {results['copy_s']:.3f} s, peak {results['copy_peak_mib']:.0f} MiB")
    print(f"build {results['build_s']:.3f} s, peak {results['build_peak_mib']:.0f} MiB")
    for name, seconds in results["stages_s"].items():
        print(f"  {name:<16} {seconds:.3f} s")
    share = results["reconciliation"]
    print(
        f"reconciliation: {share['share_of_time']:.0%} of the build's time, {share['share_of_cpu']:.0%} of its "
        "processor time   aim at most 25%"
    )
    total, calls = figures["alphalens_s"], figures["alphalens_calls_s"]
    print(f"weekly IC and deciles: pipeline {figures['pipeline_s']:.3f} s")
    print(f"  alphalens {total:.3f} s, of which {calls:.3f} s after its cut into deciles")
    print(
        f"  {figures['figures']:,} figures compared, largest difference {figures['largest_difference']:.1e}"
    )


if __name__ == "__main__":
    main()

"""A run fifty times as large as the others: its build, and its pages compared with those of a usual run."""

from __future__ import annotations

import itertools
import random
import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import polars as pl

import datasets
from benchmarks.large_run import large_seal, measure
from benchmarks.load import Connection, Request
from benchmarks.measure import Plan
from benchmarks.servers import Ours

DECISIONS: Final = 8_000_000
WEEKS: Final = 1000
MEASURED: Final = 200
"""Measured requests of each kind; their median is reported."""
WARM: Final = 1_000
"""Warm-up requests of each kind: a row table is built once direct answers, of 11 ms and more each, have cost 8 s."""


def large(data: Path, plan: Plan) -> dict[str, Any]:
    """Build the run, and request pages of it and the same pages of a usual run.

    Parameters
    ----------
    data
        Folder from :func:`benchmarks.alphas.prepare`; the seal is written into it once.
    """
    folder = data / "large"
    plan.log(f"a run of {DECISIONS:,} decisions")
    seal, rows = large_seal(folder, DECISIONS, WEEKS)
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    plan.log("build of the large run")
    built = measure(seal, root)
    results: dict[str, Any] = {
        "decisions": rows["decisions"],
        "positions": rows["positions"],
        "build_seconds": built["seconds"],
        "build_peak_mib": built["peak_mib"],
        "pages": {},
    }
    for name, served in (("usual", data / "few"), ("large", root)):
        plan.log(f"pages of the {name} run")
        medians, results[f"{name}_mb"] = _page_times(served)
        for kind, median in medians.items():
            results["pages"].setdefault(kind, {})[f"{name}_ms"] = median
    return results


def _page_times(root: Path) -> tuple[dict[str, float], float]:
    """Return the median milliseconds of each kind of page, and the server's memory in MB."""
    kinds = _requests(root)
    with Ours(root).running() as up:
        for requests in kinds.values():
            connection = Connection(up.port, up.headers)
            for request in itertools.islice(requests, WARM):
                connection.send(request)
            connection.close()
        up.settle(300.0, 1.0, steps=5)  # a process that waits for the disk while it writes a table looks idle
        medians = {}
        for kind, requests in kinds.items():
            connection = Connection(up.port, up.headers)
            medians[kind] = statistics.median(
                connection.send(request)[1] for request in itertools.islice(requests, MEASURED)
            )
            connection.close()
        return medians, up.private_mb()


def _requests(root: Path) -> dict[str, Iterator[Request]]:
    """Return endless sequences of distinct requests for the first alpha of a root, by kind."""
    alpha = min(datasets.open(root))
    scores = datasets.open(root)[alpha].scan("decisions")
    weeks = [str(day) for day in scores.select("date").unique().sort("date").collect()["date"]]
    names: list[str] = (
        scores.filter(pl.col("date") == pl.lit(weeks[len(weeks) // 2]).str.to_date())
        .collect()["symbol"]
        .to_list()
    )
    count = int(scores.select(pl.len()).collect().item())
    base, chance = f"/v1/alphas/{quote(alpha)}", random.Random(alpha)

    def page(**values: Any) -> Request:
        return Request(f"{base}/scores?{urlencode(values, safe=',')}")

    def deep() -> Request:
        return page(limit=5000, offset=chance.randrange(count - 5000))

    def window() -> Request:
        first = chance.randrange(len(weeks) - 52)
        return page(
            **{"from": weeks[first], "to": weeks[first + 51], "limit": 1000, "offset": chance.randrange(1000)}
        )

    def symbols() -> Request:
        return page(symbol=",".join(sorted(chance.sample(names, 20))), limit=1000)

    def week() -> Request:
        values = {
            "limit": 100,
            "offset": chance.randrange(100),
            "sort": chance.choice(("score", "symbol", "rank")),
        }
        return Request(f"{base}/rebalances/{chance.choice(weeks)}?{urlencode(values)}")

    return {
        "5,000 rows at any offset": _distinct(deep),
        "1,000 rows of a year": _distinct(window),
        "1,000 rows of 20 symbols": _distinct(symbols),
        "100 rows of a week": _distinct(week),
    }


def _distinct(make: Any) -> Iterator[Request]:
    seen = set()
    while True:
        request = make()
        if request not in seen:
            seen.add(request)
            yield request

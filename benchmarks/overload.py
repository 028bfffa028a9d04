"""Light calls of one key, alone and together with a key whose requests exceed the capacity of the cores.

    uv run just bench-overload SEAL [--seconds 8] [--connections 64]

The heavy caller is `wrk` on 64 connections, each requesting the metrics of a new window as soon as it has its
answer, also after refusals. The light caller sends one request after another on one connection:

page       a cached page
computed   metrics of a new short window, which have to be computed

Prints one JSON document.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import click

from benchmarks.load import Connection, LoadFailed, Request, drive, figures
from benchmarks.servers import Ours, Running
from pipeline.snapshot_builder import build_seal

_WINDOWS: Final = 60_000
_PAUSE_SECONDS: Final = 0.005
_WARM_SECONDS: Final = 2.0


@click.command()
@click.argument("seal")
@click.option("--seconds", default=8.0, show_default=True, help="Duration of each measurement.")
@click.option("--connections", default=64, show_default=True, help="Connections of the heavy caller.")
def main(*, seal: str, seconds: float, connections: int) -> None:
    """Measure light calls with and without a heavy caller."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        alpha = build_seal(seal, str(root)).alpha_id
        ours = Ours(root, log_level="error")
        heavy = ours.issue_key()
        with ours.running() as up:
            results = _measure(up, heavy, alpha, seconds=seconds, connections=connections)
    print(json.dumps(results, indent=2))


def _measure(
    up: Running, key: str, alpha: str, *, seconds: float, connections: int
) -> dict[str, dict[str, Any]]:
    draw = random.Random(38)
    light = {
        "page": itertools.repeat(f"/v1/alphas/{alpha}/scores?limit=20"),
        "computed": (_window(alpha, draw, days=60) for _ in itertools.count()),
    }
    results: dict[str, dict[str, Any]] = {}
    for name, paths in light.items():
        _light_calls(up, paths, _WARM_SECONDS / 2)
        results[f"{name}, alone"] = _light_calls(up, paths, seconds)
    listed = [Request(_window(alpha, draw, days=None) + "&panel=1&doc=1") for _ in range(_WINDOWS)]
    for name, paths in light.items():
        with ThreadPoolExecutor(1) as pool:
            heavy = pool.submit(
                drive,
                up.port,
                listed,
                connections=connections,
                seconds=seconds + 2 * _WARM_SECONDS,
                headers={"authorization": f"Bearer {key}"},
                cycle=True,
                may_refuse=True,
            )
            time.sleep(_WARM_SECONDS)
            results[f"{name}, beside heavy"] = _light_calls(up, paths, seconds)
            load = heavy.result()
        results[f"heavy, beside {name}"] = {
            "p50_ms": round(load.p50_ms, 2),
            "p99_ms": round(load.p99_ms, 2),
            "answered": load.answers - load.refused,
            "refused": load.refused,
        }
    return results


def _window(alpha: str, draw: random.Random, *, days: int | None) -> str:
    """Return the path of the metrics of a random window of about `days` days, or of some years."""
    first = dt.date(2012, 1, 1) + dt.timedelta(days=draw.randrange(2000))
    last = first + dt.timedelta(
        days=draw.randrange(1000, 3500) if days is None else days + draw.randrange(30)
    )
    return f"/v1/alphas/{alpha}/metrics?from={first}&to={last}"


def _light_calls(up: Running, paths: Iterator[str], seconds: float) -> dict[str, Any]:
    """Send light calls for some time; return their latency and the number of answers and refusals."""
    connection = Connection(up.port, up.headers)
    times: list[float] = []
    refused = 0
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            try:
                times.append(connection.send(Request(next(paths)))[1])
            except LoadFailed as error:
                if "answered 503" not in str(error):
                    raise
                refused += 1
            time.sleep(_PAUSE_SECONDS)
    finally:
        connection.close()
    return {**(figures(times) if times else {}), "refused": refused}


if __name__ == "__main__":
    main()

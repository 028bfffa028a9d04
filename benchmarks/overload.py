"""Light calls of one key, alone and beside a key whose requests exceed the capacity of the cores.

    uv run just bench-overload SEAL [--seconds 8] [--connections 64] [--json]

The heavy caller is `wrk` on 64 connections, each requesting the metrics of a new window as soon as it has its
answer, also after refusals. The light caller sends one request after another on one connection:

page       a cached page
computed   metrics of a new short window, which have to be computed
"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from benchmarks.load import Connection, LoadFailed, Request
from benchmarks.servers import Ours, Running
from pipeline.snapshot_builder import build_seal

_HEAVY: Final = """
local paths, at = {}, 0
answered, refused, other = 0, 0, 0
function init()
  for line in io.lines("%(list)s") do paths[#paths + 1] = wrk.format("GET", line, wrk.headers) end
end
function request()
  at = at %% #paths + 1
  return paths[at]
end
function response(status)
  if status == 200 then answered = answered + 1
  elseif status == 503 then refused = refused + 1
  else other = other + 1 end
end
local threads = {}
function setup(thread) table.insert(threads, thread) end
function done(summary, latency)
  local t = threads[1]
  io.write(string.format('\\n{"answered": %%d, "refused": %%d, "other": %%d, "p50_ms": %%.2f, "p99_ms": %%.2f}\\n',
    t:get("answered"), t:get("refused"), t:get("other"), latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""
_WINDOWS: Final = 60_000
_PAUSE_SECONDS: Final = 0.005
_WARM_SECONDS: Final = 2.0


@click.command()
@click.argument("seal")
@click.option("--seconds", default=8.0, show_default=True, help="Duration of each measurement.")
@click.option("--connections", default=64, show_default=True, help="Connections of the heavy caller.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(*, seal: str, seconds: float, connections: int, as_json: bool) -> None:
    """Measure light calls with and without a heavy caller."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        alpha = build_seal(seal, str(root)).alpha_id
        ours = Ours(root, log_level="error")
        heavy = ours.issue_key()
        with ours.running() as up:
            results = _measure(up, heavy, alpha, seconds=seconds, connections=connections)
    if as_json:
        print(json.dumps(results))
        return
    print(f"{'':10}{'p50 ms':>10}{'p99 ms':>10}{'most ms':>10}{'calls':>8}{'refused':>9}")
    for name, row in results.items():
        shown = [row.get(key) for key in ("p50_ms", "p99_ms", "most_ms", "answered", "refused")]
        print(f"{name:22}" + "".join(f"{'' if value is None else value:>10}" for value in shown))


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
    listed = [_window(alpha, draw, days=None) + "&panel=1&doc=1" for _ in range(_WINDOWS)]
    for name, paths in light.items():
        with _heavy(up, key, listed, connections, seconds + 2 * _WARM_SECONDS) as heavy:
            time.sleep(_WARM_SECONDS)
            results[f"{name}, beside heavy"] = _light_calls(up, paths, seconds)
        results[f"heavy, beside {name}"] = heavy
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
    times.sort()
    if not times:
        return {"answered": 0, "refused": refused}
    return {
        "p50_ms": round(times[len(times) // 2], 2),
        "p99_ms": round(times[min(len(times) - 1, len(times) * 99 // 100)], 2),
        "most_ms": round(times[-1], 2),
        "answered": len(times),
        "refused": refused,
    }


@contextlib.contextmanager
def _heavy(
    up: Running, key: str, paths: list[str], connections: int, seconds: float
) -> Iterator[dict[str, Any]]:
    wrk = shutil.which("wrk")
    if wrk is None:
        raise LoadFailed("wrk is not installed: `apt-get install wrk`")
    with tempfile.TemporaryDirectory() as name:
        listed, script = Path(name) / "paths", Path(name) / "heavy.lua"
        listed.write_text("\n".join(paths) + "\n")
        script.write_text(_HEAVY % {"list": listed})
        command = [wrk, "-t1", f"-c{connections}", f"-d{round(seconds)}s", "--timeout", "120s", "--latency"]
        command += [
            "-H",
            f"authorization: Bearer {key}",
            "-s",
            str(script),
            f"http://127.0.0.1:{up.port}",
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        heavy: dict[str, Any] = {}
        try:
            yield heavy
        finally:
            output, _ = process.communicate(timeout=300)
            heavy.update(json.loads(output.strip().splitlines()[-1]))


if __name__ == "__main__":
    main()

"""Time of the heaviest metrics request on a running server, cold and warm.

    uv run python benchmarks/metrics.py SEAL [--rounds 5] [--requests 200]
    uv run python benchmarks/metrics.py --datasets ROOT --alpha ALPHA

The request is ``/metrics?panel=1&doc=1&granularity=monthly``. Three measurements:

cold   the first request of a fresh process
again  the same request repeated: the answer is cached
other  another window each time: the files are read, every answer is computed

Wall time is measured by one client on one connection. CPU time is that of the server process, as counted by the kernel, and
hardly depends on other load. Both are medians.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import httpx

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from benchmarks.processes import cpu_seconds  # noqa: E402 - the repository is put on the path first
from pipeline.snapshot_builder import build_seal  # noqa: E402 - as above
from serve.auth.admin import open_administration  # noqa: E402 - as above
from serve.auth.settings import AccessSettings  # noqa: E402 - as above

QUERY = "panel=1&doc=1&granularity=monthly"
RATE = "per_second=100000,per_minute=1000000,per_day=10000000,monthly=null"


@click.command()
@click.argument("seal", required=False)
@click.option("--datasets", help="Root in which the run is published, instead of a seal to build.")
@click.option("--alpha", help="Alpha of that root.")
@click.option("--rounds", default=5, show_default=True, help="Fresh processes for the cold request.")
@click.option("--requests", default=200, show_default=True, help="Warm requests.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(
    *, seal: str | None, datasets: str | None, alpha: str | None, rounds: int, requests: int, as_json: bool
) -> None:
    """Measure the metrics endpoint on a run."""
    with tempfile.TemporaryDirectory() as folder:
        if seal is not None:
            datasets = str(Path(folder) / "root")
            alpha = build_seal(seal, datasets).alpha_id
        if datasets is None or alpha is None:
            raise click.UsageError("name a seal to build, or --datasets and --alpha")
        store = f"{folder}/access.sqlite"
        token = asyncio.run(issue(datasets, store))
        medians = measure(datasets, alpha, store=store, token=token, rounds=rounds, requests=requests)
    if as_json:
        print(json.dumps(medians))
        return
    for name, (wall, cpu) in medians.items():
        print(f"{name:6} wall {wall:8.2f} ms   cpu {cpu:8.2f} ms")


async def issue(datasets: str, store: str) -> str:
    """Issue a key with unreachable limits."""
    settings = AccessSettings.from_environment({}, datasets, {"access": store})
    async with open_administration(settings, "benchmark") as acts:
        await acts.accounts.create("benchmark@example.org", ceiling_endpoints="all")
        issued = await acts.keys.issue(
            "benchmark@example.org", "benchmark", endpoints="all", alphas="all", runs="all", rate=RATE
        )
    return issued.token


def measure(
    datasets: str, alpha: str, *, store: str, token: str, rounds: int, requests: int
) -> dict[str, tuple[float, float]]:
    """Return wall and CPU milliseconds of each measurement."""
    address = f"/v1/alphas/{alpha}/metrics?{QUERY}"
    cold: list[tuple[float, float]] = []
    for _ in range(rounds):
        with server(datasets, store, token) as (client, cpu_seconds):
            cold.append(timed(client, cpu_seconds, [address]))
    with server(datasets, store, token) as (client, cpu_seconds):
        client.get(address).raise_for_status()
        again = timed(client, cpu_seconds, [address] * requests)
        first = dt.date(1990, 1, 1)
        others = [f"{address}&from={first + dt.timedelta(days=n)}" for n in range(requests)]
        other = timed(client, cpu_seconds, others)
    middle = (statistics.median(wall for wall, _ in cold), statistics.median(cpu for _, cpu in cold))
    return {"cold": middle, "again": again, "other": other}


def timed(
    client: httpx.Client, cpu_seconds: Callable[[], float], addresses: list[str]
) -> tuple[float, float]:
    """Return the median wall time of the requests, and the CPU time of the server for each, in milliseconds."""
    walls = []
    before = cpu_seconds()
    for address in addresses:
        begin = time.perf_counter()
        client.get(address).raise_for_status()
        walls.append(time.perf_counter() - begin)
    return statistics.median(walls) * 1e3, (cpu_seconds() - before) / len(addresses) * 1e3


@contextmanager
def server(datasets: str, store: str, token: str) -> Iterator[tuple[httpx.Client, Callable[[], float]]]:
    """Run a server until it is ready; yield it with a function of its CPU seconds so far."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "serve", "run", "--datasets", datasets, "--access", store]
    command += ["--port", str(port), "--log-level", "error"]
    process = subprocess.Popen(command, cwd=REPOSITORY)
    headers = {"authorization": f"Bearer {token}", "accept-encoding": "identity"}
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
            wait_until_up(client, process)
            yield client, lambda: cpu_seconds(process.pid)
    finally:
        process.terminate()
        process.wait(30)


def wait_until_up(client: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    """Poll /v1/health until it is answered; raise SystemExit if the process ends first."""
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit(f"the server ended with code {process.returncode}")
        try:
            client.get("/v1/health").raise_for_status()
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the server did not come up within a minute")


if __name__ == "__main__":
    main()

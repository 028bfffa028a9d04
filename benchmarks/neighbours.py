"""Nearest neighbours among many alphas over HTTP, in any window, compared with plain NumPy.

    uv run just bench-neighbours [--alphas 10000] [--sessions 1500]

Every alpha has a ledger, which the service reads at the first request for neighbours. Every request has a different window. One
JSON document is printed, with wall time and the processor time of the service; the latter is more reliable on a busy machine.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

import click
import numpy as np
import polars as pl

import datasets
from benchmarks.load import Connection, LoadFailed, Request, figures
from benchmarks.processes import machine
from benchmarks.servers import Ours, Running
from datasets.layout import MANIFEST, pointer_path, snapshot_path
from datasets.manifest import digest
from datasets.pointer import make_pointer
from datasets.snapshot import Snapshot
from tests.research import catalogue

_REAL = 8
"""Alphas that are published in full and queried."""
_ALPHAS = 10_000
_SESSIONS = 1_500
_ROUNDS = 400
LIMITS = (20, 500)
"""Neighbours per request: what a person reads, and a long page."""


def weekdays(sessions: int) -> list[dt.date]:
    """Return that many weekdays, without some holidays."""
    days = (dt.date(2019, 1, 1) + dt.timedelta(days=n) for n in range(sessions * 2))
    return [day for day in days if day.weekday() < 5 and day.timetuple().tm_yday % 61 != 1][:sessions]


def prepare(folder: Path, alphas: int, sessions: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Publish the alphas; return the daily returns of the synthetic ones."""
    root = folder / "published"
    days = weekdays(sessions)
    draw = np.random.default_rng(7)
    styles = draw.normal(0.0002, 0.008, (12, sessions))
    for number in range(_REAL):
        curve = dict(zip(days, (draw.normal(0, 0.3, 12) @ styles).tolist(), strict=True))
        catalogue.publish_alpha(root, f"Test_queried_{number}", curve, 99)
    template = datasets.open(root)["Test_queried_0"]
    returns = np.empty((alphas - _REAL, sessions))
    for number in range(alphas - _REAL):
        returns[number] = draw.normal(0, 0.3, 12) @ styles + draw.normal(0, 0.006, sessions)
        # As in a real catalogue, one alpha in five is younger.
        first = int(draw.integers(1, sessions // 2)) if number % 5 == 0 else 0
        _publish_ledger(root, template, f"Test_synthetic_{number:05d}", returns[number], first)
    return returns


def _publish_ledger(
    root: Path, template: Snapshot, alpha_id: str, returns: np.ndarray[Any, np.dtype[np.float64]], first: int
) -> None:
    """Publish an alpha that differs from a template only in its ledger."""
    ending = np.cumprod(1.0 + returns)
    ledger = pl.read_parquet(template.file("portfolio", catalogue.BOOK)).with_columns(
        starting_equity=np.concatenate([[1.0], ending[:-1]]), ending_equity=ending
    )[first:]
    buffer = io.BytesIO()
    ledger.write_parquet(buffer)
    data = buffer.getvalue()
    entry = replace(
        template.entry("portfolio", catalogue.BOOK),
        rows=ledger.height,
        bytes=len(data),
        sha256=digest(data),
        first=ledger["date"][0].isoformat(),
    )
    manifest = replace(template.manifest, alpha_id=alpha_id, files=(entry,)).with_id()
    place = root / snapshot_path(alpha_id, manifest.snapshot)
    (place / entry.path).parent.mkdir(parents=True)
    (place / entry.path).write_bytes(data)
    (place / MANIFEST).write_bytes(manifest.encode())
    pointer = replace(
        make_pointer(manifest, digest(manifest.encode()), None),
        published_at=template.published_at,
        first_published_at=template.published_at,
    )
    (root / pointer_path(alpha_id)).write_bytes(pointer.encode())


def windows(sessions: int, rounds: int) -> Iterator[dict[str, str]]:
    """Yield windows, half of them nearly the full record, half of random length."""
    draw, days = np.random.default_rng(3), weekdays(sessions)
    for number in range(rounds):
        length = sessions - 1 - number % 40 if number % 2 else int(draw.integers(20, sessions - 1))
        first = int(draw.integers(0, sessions - length))
        yield {"from": days[first].isoformat(), "to": days[first + length - 1].isoformat()}


def plain(returns: np.ndarray[Any, np.dtype[np.float64]], rounds: int) -> dict[str, Any]:
    """Measure the same search in plain NumPy and float64, over rows without gaps."""
    draw, times, cpu_times = np.random.default_rng(4), [], []
    for _ in range(rounds):
        length = int(draw.integers(returns.shape[1] // 2, returns.shape[1]))
        begin, cpu = time.perf_counter(), time.process_time()
        part = returns[:, -length:]
        own = part[0] - part[0].mean()
        others = part - part.mean(axis=1)[:, np.newaxis]
        rho = others @ own / np.sqrt((others * others).sum(axis=1) * (own @ own))
        np.argsort(-rho)[:100]
        times.append((time.perf_counter() - begin) * 1e3)
        cpu_times.append((time.process_time() - cpu) * 1e3)
    return {**figures(times), "p50_cpu_ms": round(float(np.median(cpu_times)), 2)}


def _neighbours(number: int, query: Mapping[str, str] = MappingProxyType({})) -> Request:
    return Request(f"/v1/alphas/Test_queried_{number % _REAL}/neighbours?{urlencode(query)}")


def _measure_limit(
    connection: Connection, up: Running, sessions: int, rounds: int, limit: int
) -> dict[str, Any]:
    """Request `limit` neighbours, nearest or farthest, of each alpha in turn."""
    times, cpu_times = [], []
    for number, window in enumerate(windows(sessions, rounds)):
        parameters = {**window, "order": ("nearest", "farthest")[number % 3 == 0], "limit": str(limit)}
        cpu = up.busy()
        body, milliseconds = connection.send(_neighbours(number, parameters))
        times.append(milliseconds)
        cpu_times.append((up.busy() - cpu) * 1e3)
        assert json.loads(body)["meta"]["excluded"]["not_read"] == 0
    # Wall time includes the work of others on the machine; the processor time of the service does not.
    p50, p99 = np.quantile(cpu_times, [0.5, 0.99])
    return {**figures(times), "p50_cpu_ms": round(float(p50), 2), "p99_cpu_ms": round(float(p99), 2)}


def measure(alphas: int = _ALPHAS, sessions: int = _SESSIONS, rounds: int = _ROUNDS) -> dict[str, Any]:
    """Return time and memory of searches among `alphas` alphas of `sessions` days."""
    results: dict[str, Any] = {"alphas": alphas, "sessions": sessions}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        returns = prepare(folder, alphas, sessions)
        with (
            Ours(folder / "published", neighbours=folder / "returns").running() as up,
            contextlib.closing(Connection(up.port, up.headers)) as connection,
        ):
            connection.send(Request("/v1/alphas/Test_queried_0/equity-curve"))
            up.settle()
            before, began = up.private_mb(), time.perf_counter()
            _await_returns(connection)
            results["first_answer_seconds"] = round(time.perf_counter() - began, 2)
            results["limits"] = {
                limit: _measure_limit(connection, up, sessions, rounds, limit) for limit in LIMITS
            }
            results["mib"] = round((up.private_mb() - before) * 1e6 / 2**20, 1)
        results["plain_numpy"] = plain(returns, 20)
    return results


def _await_returns(connection: Connection) -> None:
    """Wait until the service has read the returns of all alphas, which the first request starts."""
    while True:
        with contextlib.suppress(LoadFailed):
            connection.send(_neighbours(0))
            return
        time.sleep(0.1)


@click.command()
@click.option("--alphas", default=_ALPHAS, show_default=True, help="Number of alphas.")
@click.option("--sessions", default=_SESSIONS, show_default=True, help="Sessions of each.")
@click.option("--rounds", default=_ROUNDS, show_default=True, help="Measured requests.")
def main(*, alphas: int, sessions: int, rounds: int) -> None:
    """Measure neighbours on this machine and print figures as JSON."""
    print(json.dumps({**machine(), **measure(alphas, sessions, rounds)}, indent=2))


if __name__ == "__main__":
    main()

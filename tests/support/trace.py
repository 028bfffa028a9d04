"""Trace of a request through this project's code: calls, distinct files, and moves between files.

`just trace` prints it, for a page answered from a finished body, one cut from rows in memory, one read from Parquet, the metrics of
a run, and every research answer; `--calls` prints every call, `--json` files and moves for a program.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import numpy as np
import polars as pl
import pytest
import uvicorn
from uvicorn.server import ServerState as ServerCounts

import datasets
from pipeline.snapshot_builder import build_seal
from serve.app import create
from serve.auth.settings import AccessSettings
from serve.compute import ComputeQueue
from serve.http.guard import GuardedConnection
from serve.settings import Settings
from tests.support import published, seals
from tests.support.application import started
from tests.support.keys import issue_key
from tests.support.waiting import PATIENCE

T = TypeVar("T")
_PROJECT = Path(__file__).resolve().parents[2]
_OURS = tuple(f"{_PROJECT / part}/" for part in ("serve", "datasets", "schemas"))
_WEEK = f"/v1/alphas/{published.ALPHA}/rebalances/2020-01-03"
_BUILT, _OTHER = "Test_built", "Test_other"
RESEARCH = {
    "screen": "/v1/screen",
    "luck of the catalogue": "/v1/luck",
    "correlations": f"/v1/correlations?alphas={_BUILT},{_OTHER}",
    "correlations of scores": f"/v1/correlations?by=scores&alphas={_BUILT},{_OTHER}",
    **{
        name: f"/v1/alphas/{_BUILT}/{name}"
        for name in ("costs", "concentration", "risk", "signal", "luck", "exposures", "regimes", "neighbours")
    },
    "luck of a window": f"/v1/alphas/{_BUILT}/luck?from=2019-06-01",
    "neighbours among few": f"/v1/alphas/{_BUILT}/neighbours?among={_OTHER}",
    "contribution": f"/v1/alphas/{_BUILT}/contribution?alphas={_OTHER}",
}
"""Research answers, each requested for the first time -> their paths."""


@dataclass
class Journey:
    """One request's calls of this project's code on all threads.

    Attributes
    ----------
    calls
        File and qualified name, in order.
    moves
        Number of transitions from one file to another, by calls and returns.
    """

    calls: list[tuple[str, str]] = field(default_factory=list)
    moves: int = 0
    _at: dict[int, str] = field(default_factory=dict)

    @property
    def files(self) -> set[str]:
        """The distinct files."""
        return {file for file, _ in self.calls}

    def record(self, frame: FrameType, event: str, _: Any) -> None:
        """Record an event of the profiler."""
        file = frame.f_code.co_filename
        if event not in {"call", "return"} or not file.startswith(_OURS):
            return
        thread = threading.get_ident()
        self.moves += self._at.get(thread, file) != file
        self._at[thread] = file
        if event == "call":
            self.calls.append((file.removeprefix(f"{_PROJECT}/"), frame.f_code.co_qualname))


class _Transport(asyncio.Transport):
    """The other end of a connection, in memory."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 4321), "sockname": ("127.0.0.1", 80)})
        self.sent = b""

    @property
    def is_answered(self) -> bool:
        """Whether a complete answer was sent."""
        head, end, body = self.sent.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        return bool(end) and len(body) == (int(length[1]) if length else 0)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def writelines(self, list_of_data: Any) -> None:
        self.sent += b"".join(map(bytes, list_of_data))

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


class Followed:
    """The journey being traced, across threads."""

    def __init__(self) -> None:
        self.journey: Journey | None = None

    def on_a_thread(self, work: Callable[[], T]) -> Callable[[], T]:
        """Wrap work for another thread so that it is traced there."""
        journey = self.journey

        def followed_work() -> T:
            sys.setprofile(None if journey is None else journey.record)
            try:
                return work()
            finally:
                sys.setprofile(None)

        return followed_work


class Traced:
    """A connection to a running application whose requests are traced."""

    def __init__(
        self, protocol: GuardedConnection, transport: _Transport, token: str, followed: Followed
    ) -> None:
        self._protocol = protocol
        self._transport = transport
        self._token = token
        self._followed = followed

    async def send(self, path: str) -> Journey:
        """Send a request and trace it until answered."""
        journey = Journey()
        head = f"GET {path} HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer {self._token}\r\n\r\n"
        self._transport.sent = b""
        self._followed.journey = journey
        sys.setprofile(journey.record)
        try:
            self._protocol.data_received(head.encode())
            deadline = time.monotonic() + PATIENCE
            while not self._transport.is_answered:
                assert time.monotonic() < deadline, f"{path} was not answered"
                await asyncio.sleep(0.001)
        finally:
            sys.setprofile(None)
            self._followed.journey = None
        assert self._transport.sent.startswith(b"HTTP/1.1 200"), self._transport.sent[:300]
        return journey


def trace_all(folder: Path) -> dict[str, Journey]:
    """Trace the requests to an application over the hand-made run, and to one over two runs that were built."""
    pages, built = folder / "pages", folder / "built"
    pages.mkdir()
    published.publish(pages, published.full())
    for seed, alpha in enumerate((_BUILT, _OTHER), 1):
        # Sealed trials, so that every part of the luck figures is computed.
        seal = seals.make_seal(folder / "seals", alpha_id=alpha, weeks=70, seed=seed, tried=(1.0, 4.0))
        build_seal(str(seal), built)
    prices, factors = _write_market(datasets.open(built)[_BUILT].returns()["date"], folder)
    research = {"neighbours": str(folder / "returns"), "market_data": prices, "factors": factors}
    return _trace(pages, _follow_pages) | _trace(built, _follow_research, **research)


def _write_market(sessions: pl.Series, folder: Path) -> tuple[str, str]:
    """Write the prices of a benchmark and the returns of a factor on some sessions."""
    draw = np.random.default_rng(1)
    moves = pl.Series(draw.normal(0.0, 0.01, sessions.len()))
    prices, factors = folder / "prices.parquet", folder / "factors.parquet"
    pl.DataFrame(
        {"date": sessions, "symbol": "SPY", "close": 100.0 * (1.0 + moves).cum_prod()}
    ).write_parquet(prices)
    pl.DataFrame({"date": sessions, "factor": "HML", "return": moves}).write_parquet(factors)
    return str(prices), str(factors)


def _trace(
    root: Path, requests: Callable[[Traced], Awaitable[dict[str, Journey]]], **settings: Any
) -> dict[str, Journey]:
    """Make requests over a connection to an application, and return their journeys."""
    access = AccessSettings.from_environment({}, root)
    followed = Followed()
    run = ComputeQueue.run

    async def followed_run(queue: ComputeQueue, work: Callable[[], T]) -> T:
        return await run(queue, followed.on_a_thread(work))

    async def connected(app: Any, token: str) -> dict[str, Journey]:
        config = uvicorn.Config(app, log_config=None, proxy_headers=False, ws="none", lifespan="off")
        config.load()
        protocol = GuardedConnection(config, ServerCounts(), {}, asyncio.get_running_loop())
        transport = _Transport()
        protocol.connection_made(transport)
        try:
            return await requests(Traced(protocol, transport, token, followed))
        finally:
            protocol.connection_lost(None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ComputeQueue, "run", followed_run)  # before the service takes it
        # Timers sometimes fire during a request, but are not part of it.
        patch.setattr("serve.auth.limits.in_memory.WRITE_INTERVAL_SECONDS", 3600.0)
        patch.setattr("serve.observability.health.CHECK_SECONDS", 3600.0)
        patch.setattr("serve.observability.health.FILES_SECONDS", 3600.0)
        patch.setattr(GuardedConnection, "_schedule", lambda _: None)
        app = create(Settings(datasets=str(root), threads=2, refresh_seconds=60.0, **settings), access)
        with started(app, access) as client:
            return client.wait(connected(app, client.wait(issue_key(access))))


async def _follow_pages(traced: Traced) -> dict[str, Journey]:
    await traced.send(f"/v1/alphas/{published.ALPHA}/books")  # work done once per process and snapshot
    cold = await traced.send(f"{_WEEK}?limit=3")
    for number in range(200):  # until the table is rendered
        await traced.send(f"{_WEEK}?limit=3&offset={number}")
        await asyncio.sleep(0.005)
    cut = await traced.send(f"{_WEEK}?limit=4")
    for _ in range(3):
        await traced.send(f"{_WEEK}?limit=4")
    finished = await traced.send(f"{_WEEK}?limit=4")
    metrics = await traced.send(f"/v1/alphas/{published.ALPHA}/metrics")
    return {"finished body": finished, "cut from rows": cut, "from Parquet": cold, "metrics, cold": metrics}


async def _follow_research(traced: Traced) -> dict[str, Journey]:
    for alpha in (_BUILT, _OTHER):
        await traced.send(f"/v1/alphas/{alpha}/books")
    for path in ("/v1/benchmarks", "/v1/luck", f"/v1/alphas/{_BUILT}/neighbours?limit=1"):
        await traced.send(path)  # which wait until the market data and the returns of all alphas were read
    return {name: await traced.send(path) for name, path in RESEARCH.items()}


def main() -> None:
    """Print the journeys."""
    with tempfile.TemporaryDirectory() as folder:
        journeys = trace_all(Path(folder))
    if "--json" in sys.argv:
        results = {name: (sorted(x.files), x.moves) for name, x in journeys.items()}
        sys.stdout.write(json.dumps(results) + "\n")
        return
    lines = [f"{'':24} {'calls':>6} {'files':>6} {'moves':>6}"]
    for name, journey in journeys.items():
        lines.append(f"{name:24} {len(journey.calls):6} {len(journey.files):6} {journey.moves:6}")
        if "--calls" in sys.argv:
            lines += [f"    {file} {function}" for file, function in journey.calls]
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()

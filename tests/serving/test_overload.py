"""Overload: excess work is shed early, and light callers are never shed because of heavy ones."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState as ServerCounts

from datasets.snapshot import Snapshot
from schemas.errors import ApiError
from serve.compute import CURRENT_REQUEST, FULL, LEFT, WAITED, CallerLeft, ComputeQueue
from serve.http.access_log import AccessLog
from serve.http.connections import Connections
from serve.http.guard import GuardedConnection
from serve.http.request import SCOPE, Request
from serve.settings import Settings
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient

PATIENCE = 30.0
DESCRIPTION = f"/v1/alphas/{published.ALPHA}"
METRICS = f"/v1/alphas/{published.ALPHA}/metrics"


class Gate:
    """Work that waits until released, and records its start order."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.open = threading.Event()

    def work(self, name: str) -> Callable[[], str]:
        def run() -> str:
            self.begun.append(name)
            assert self.open.wait(PATIENCE)
            return name

        return run


def ignore(_: BaseException) -> None:
    """Record no failure."""


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        await asyncio.sleep(0.002)


def call(queue: ComputeQueue, key: str, work: Callable[[], Any]) -> asyncio.Task[Any]:
    return call_for(queue, Request(key, {}, key_id=key), work)


def call_for(queue: ComputeQueue, request: Request, work: Callable[[], Any]) -> asyncio.Task[Any]:
    context = copy_context()
    context.run(CURRENT_REQUEST.set, request)
    return asyncio.create_task(queue.run(work), context=context)


def refusal(done: asyncio.Task[Any]) -> ApiError:
    error = done.exception()
    assert isinstance(error, ApiError)
    assert (error.code, error.status) == ("overloaded", 503)
    return error


@contextmanager
def queued(threads: int, max_waiting: int, max_seconds: float) -> Iterator[tuple[ComputeQueue, Gate]]:
    queue, gate = ComputeQueue(threads, max_waiting, max_seconds, ignore), Gate()
    try:
        yield queue, gate
    finally:
        gate.open.set()
        queue.close()


def test_one_key_cannot_occupy_every_compute_thread() -> None:
    async def scenario() -> None:
        with queued(2, 100, PATIENCE) as (queue, gate):
            heavy = [call(queue, "heavy", gate.work(f"heavy {n}")) for n in range(20)]
            await until(lambda: len(gate.begun) == 2 and queue.waiting == 18)
            for n in range(5):
                assert await call(queue, f"light {n % 2}", lambda: "light") == "light"
            assert len(gate.begun) == 2, "a key is never given more threads than it may have"
            gate.open.set()
            assert await asyncio.gather(*heavy) == [f"heavy {n}" for n in range(20)]
            assert (queue.waiting, queue.running, queue.refused.total()) == (0, 0, 0)

    asyncio.run(scenario())


def test_one_key_cannot_fill_the_queue() -> None:
    async def scenario() -> None:
        with queued(1, 4, PATIENCE) as (queue, gate):
            others = [call(queue, "other", gate.work("other"))]
            heavy = [call(queue, "heavy", gate.work(f"heavy {n}")) for n in range(8)]
            await until(lambda: sum(task.done() for task in heavy) == 5)
            assert [task.done() for task in heavy] == [False] * 3 + [True] * 5, "those that came last"
            light = call(queue, "light", gate.work("light"))
            await until(lambda: queue.waiting == 3)
            for task in heavy[3:]:
                refusal(task)
            gate.open.set()
            assert await light == "light"
            await asyncio.gather(*heavy[:3], *others)
            assert queue.refused == Counter({FULL: 5})

    asyncio.run(scenario())


def test_a_full_queue_refuses_new_calls() -> None:
    async def scenario() -> None:
        with queued(1, 2, PATIENCE) as (queue, gate):
            calls = [call(queue, key, gate.work(key)) for key in ("a", "b", "c", "d")]
            await until(lambda: queue.waiting == 2)
            late = call(queue, "e", gate.work("e"))
            await until(late.done)
            refusal(late)
            gate.open.set()
            await asyncio.gather(*calls)

    asyncio.run(scenario())


def test_a_queued_call_is_refused_after_its_timeout() -> None:
    async def scenario() -> None:
        with queued(1, 100, 0.05) as (queue, gate):
            tasks = [call(queue, "a", gate.work("a")), call(queue, "b", gate.work("b"))]
            waiting = [call(queue, "b", gate.work("late")) for _ in range(3)]
            await asyncio.wait(waiting, timeout=PATIENCE)
            for task in waiting:
                refusal(task)
            gate.open.set()
            assert await asyncio.gather(*tasks) == ["a", "b"]
            assert sorted(gate.begun) == ["a", "b"]
            assert queue.refused == Counter({WAITED: 3})

    asyncio.run(scenario())


def test_answers_are_not_computed_for_disconnected_callers() -> None:
    async def scenario() -> None:
        with queued(1, 4, PATIENCE) as (queue, gate):
            tasks = [call(queue, "a", gate.work("a")), call(queue, "b", gate.work("b"))]
            requested = [Request(f"{n}", {}, key_id="a") for n in range(2)]
            left = [call_for(queue, request, gate.work("left")) for request in requested]
            await until(lambda: queue.waiting == 2)
            requested[0].left = requested[1].left = True
            gate.open.set()
            await asyncio.wait([*tasks, *left])
            assert all(isinstance(task.exception(), CallerLeft) for task in left)
            assert "left" not in gate.begun
            assert queue.refused == Counter({LEFT: 2})

    asyncio.run(scenario())


def noted(n: int, seconds: float, computed: list[int]) -> Callable[[], int]:
    """Return work that records its completion; some of it fails."""

    def run() -> int:
        time.sleep(seconds)
        computed.append(n)
        if n % 17 == 0:
            raise LookupError(n)
        return n

    return run


@pytest.mark.parametrize("seed", range(6))
def test_every_call_is_computed_or_refused_and_none_is_left_waiting(seed: int) -> None:
    draw = random.Random(seed)

    async def scenario() -> None:
        queue = ComputeQueue(draw.randint(1, 3), draw.randint(1, 12), 0.02, ignore)
        computed: list[int] = []

        tasks = {}
        for n in range(200):
            tasks[n] = call(
                queue, f"key {draw.randint(0, 5)}", noted(n, draw.choice([0, 0.001, 0.004]), computed)
            )
            if draw.random() < 0.4:
                await asyncio.sleep(draw.choice([0, 0.001]))
            if draw.random() < 0.1:
                tasks[draw.randrange(n + 1)].cancel()
        await asyncio.wait(tasks.values(), timeout=PATIENCE)
        await until(lambda: queue.running == 0)
        queue.close()
        assert queue.waiting == 0
        assert len(computed) == len(set(computed))
        ended = {n: task for n, task in tasks.items() if not task.cancelled()}
        for n, task in ended.items():
            if task.exception() is None:
                assert task.result() == n
            elif not isinstance(task.exception(), LookupError):
                refusal(task)
            assert (n in computed) == (not isinstance(task.exception(), ApiError))

    asyncio.run(scenario())


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Return a function that releases hanging alpha descriptions."""
    gate, description = Gate(), Snapshot.description

    def hang(snapshot: Snapshot) -> Any:
        gate.work("description")()
        return description(snapshot)

    monkeypatch.setattr(Snapshot, "description", hang)
    yield gate
    gate.open.set()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}", "accept-encoding": "identity"}


def test_a_shed_call_has_a_retry_after_and_others_are_answered(root: Path, hanging: Gate) -> None:
    with running(root, threads=1, max_waiting_answers=6) as api:
        heavy, light = bearer(api.key()), bearer(api.key())
        api.wait(_overload(api, hanging, heavy, light))


async def _overload(api: ApiClient, gate: Gate, heavy: dict[str, str], light: dict[str, str]) -> None:
    get = api.client.get
    calls = [asyncio.create_task(get(DESCRIPTION, headers=heavy)) for _ in range(10)]
    await until(lambda: sum(task.done() for task in calls) == 6)
    assert len(gate.begun) == 1
    for result in [task.result() for task in calls if task.done()]:
        assert (result.status_code, result.json()["error"]["code"]) == (503, "overloaded")
        assert int(result.headers["retry-after"]) >= 2
        assert "x-ratelimit-remaining-second" in result.headers
    for path in (METRICS, f"{DESCRIPTION}/scores", "/v1/me", "/v1/health"):
        answer: httpx.Response = await get(path, headers=light)
        assert answer.status_code == 200, path
    for path in (
        "/v1/me",
        f"{DESCRIPTION}/scores",
    ):  # a cached page does not wait for computed answers, not even those of its own key
        assert (await get(path, headers=heavy)).status_code == 200
    gate.open.set()
    assert sorted([(await task).status_code for task in calls]) == [200] * 4 + [503] * 6


def test_health_probes_do_not_queue(root: Path, hanging: Gate) -> None:
    with running(root, threads=1, max_waiting_answers=2, max_wait_seconds=0.1) as api:
        keys = [bearer(api.key()) for _ in range(2)]

        async def scenario() -> None:
            tasks = [asyncio.create_task(api.client.get(DESCRIPTION, headers=key)) for key in keys * 3]
            await until(lambda: sum(task.done() for task in tasks) == 4)
            result = await api.client.get("/v1/health", headers={"accept-encoding": "gzip"})
            assert result.status_code == 200
            hanging.open.set()
            assert [(await task).status_code for task in tasks].count(200) == 2

        api.wait(scenario())


def test_a_request_detects_its_callers_disconnection() -> None:
    async def scenario() -> None:
        begun: asyncio.Future[Request] = asyncio.get_running_loop().create_future()
        lines: list[Any] = []

        async def inner(scope: Any, *_: Any) -> None:
            begun.set_result(scope[SCOPE])
            await until(lambda: scope[SCOPE].left)

        config = uvicorn.Config(
            AccessLog(inner, [lines.append], Connections(Settings(datasets=""))),
            log_config=None,
            proxy_headers=False,
            ws="none",
            lifespan="off",
        )
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: GuardedConnection(config, ServerCounts(), {}, loop), "127.0.0.1", 0
        )
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"GET /v1/any HTTP/1.1\r\nHost: here\r\n\r\n")
        request = await begun
        assert not request.left
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        writer.close()
        await until(lambda: bool(lines))
        assert [line["request_id"] for line in lines] == [request.id]
        server.close()

    asyncio.run(scenario())

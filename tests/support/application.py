"""The real application inside this process, with real files and a real key store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from serve.app import create
from serve.auth.settings import AccessSettings
from serve.http.request import Application
from serve.settings import Settings
from tests.support.client import ApiClient


@pytest.fixture(scope="module")
def api(root: Path) -> Iterator[ApiClient]:
    """Return the application over the root of the module."""
    with running(root) as result:
        yield result


@contextmanager
def running(
    root: Path | str, *, counts: Path | None = None, store: str | None = None, **settings: Any
) -> Iterator[ApiClient]:
    """Start the application over a datasets root, with its key store next to it; two of them need counts of their own."""
    given = {"ALPHA_RESULTS_LIMITS_STATE": counts, "ALPHA_RESULTS_ACCESS": store}
    access = AccessSettings.from_environment(
        {name: str(value) for name, value in given.items() if value is not None}, root
    )
    chosen = {"refresh_seconds": 0.1, "threads": 2, **settings}
    with started(create(Settings(datasets=str(root), **chosen), access), access) as client:
        yield client


@contextmanager
def started(
    application: Application, access: AccessSettings, *, caller: str = "127.0.0.1"
) -> Iterator[ApiClient]:
    """Run a given application within the block; calls come from the address `caller`."""
    with asyncio.Runner() as runner:
        stop = runner.run(_start(application))
        transport = httpx.ASGITransport(app=application, client=(caller, 4321))
        client = httpx.AsyncClient(transport=transport, base_url="http://api")
        try:
            yield ApiClient(runner, client, access)
        finally:
            runner.run(client.aclose())
            runner.run(stop())


async def _start(app: Application) -> Any:
    """Start the application's lifespan like a server, and return the function that ends it."""
    inbox: asyncio.Queue[Any] = asyncio.Queue()
    outbox: asyncio.Queue[Any] = asyncio.Queue()
    scope: Any = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
    task = asyncio.ensure_future(app(scope, inbox.get, outbox.put))
    await inbox.put({"type": "lifespan.startup"})
    message = await outbox.get()
    assert message["type"] == "lifespan.startup.complete", message

    async def stop() -> None:
        await inbox.put({"type": "lifespan.shutdown"})
        ended = await outbox.get()
        assert ended["type"] == "lifespan.shutdown.complete", ended
        await task

    return stop

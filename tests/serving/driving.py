"""Drives the real application in process: real files, a real key store, the real order of checks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

from serve.app import create
from serve.auth.admin import open_administration
from serve.auth.settings import AccessSettings
from serve.http.asgi import Application
from serve.settings import Settings

T = TypeVar("T")
WIDE = "per_second=100000,per_minute=1000000,per_day=10000000,monthly=null"


@dataclass
class Running:
    """A running application, and the means to ask it and to make keys for it."""

    runner: asyncio.Runner
    client: httpx.AsyncClient
    access: AccessSettings

    def wait(self, work: Awaitable[T]) -> T:
        async def run() -> T:
            return await work

        return self.runner.run(run())

    def get(
        self, path: str, token: str | None = None, *, method: str = "GET", headers: Mapping[str, str] = {}
    ) -> httpx.Response:
        sent = {"accept-encoding": "identity", **headers}
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        return self.wait(self.client.request(method, path, headers=sent))

    def gather(self, paths: list[str], token: str) -> list[httpx.Response]:
        async def all_at_once() -> list[httpx.Response]:
            headers = {"authorization": f"Bearer {token}"}
            return await asyncio.gather(*(self.client.get(path, headers=headers) for path in paths))

        return self.wait(all_at_once())

    def json(self, path: str, token: str, status: int = 200) -> Any:
        found = self.get(path, token)
        assert found.status_code == status, (found.status_code, found.text)
        return found.json()

    def key(self, *, admin: bool = False, account: str | None = None, **grants: Any) -> str:
        """Issue a key of an account of its own, or of the one named, and return its token."""

        async def issue() -> str:
            async with open_administration(self.access, "tests") as acts:
                email = account or f"user{len(await acts.accounts.all())}@example.org"
                if not any(x.email == email for x in await acts.accounts.all()):
                    await acts.accounts.create(email, admin=admin, ceiling_endpoints="all")
                given = {"endpoints": "all", "alphas": "all", "runs": "all", "rate": WIDE, **grants}
                return (await acts.keys.issue(email, "a key", **given)).token

        return self.wait(issue())


@contextmanager
def running(
    root: Path | str, *, counts: Path | None = None, store: str | None = None, **settings: Any
) -> Iterator[Running]:
    """Start the application over a datasets root, with its key store beside it; two of them need counts of their own."""
    given = {"ALPHA_RESULTS_LIMITS_STATE": counts, "ALPHA_RESULTS_ACCESS": store}
    access = AccessSettings.from_environment(
        {name: str(value) for name, value in given.items() if value is not None}, root
    )
    told = {"refresh_seconds": 0.1, "threads": 2, **settings}
    app = create(Settings(datasets=str(root), **told), access)
    with asyncio.Runner() as runner:
        stop = runner.run(_start(app))
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=True, client=("127.0.0.1", 4321))
        client = httpx.AsyncClient(transport=transport, base_url="http://api")
        try:
            yield Running(runner, client, access)
        finally:
            runner.run(client.aclose())
            runner.run(stop())


async def _start(app: Application) -> Any:
    """Begin the application's lifespan as a server does, and return what ends it."""
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

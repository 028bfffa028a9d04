"""One application running in this process, asked over ASGI from plain functions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from serve.http.asgi import Application

T = TypeVar("T")


@dataclass(frozen=True)
class Undecoded:
    """An answer whose body is as it was sent, content coding and all."""

    status_code: int
    headers: httpx.Headers
    content: bytes


class Running:
    """An application between its start and its end, on an event loop of its own.

    The suite asks thousands of questions one after the other; on one loop in one thread they are plain calls,
    while the application starts and stops once.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="application", daemon=True)
        self._to_application: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        self._from_application: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()

    def __enter__(self) -> Self:
        self._thread.start()
        self.run(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=120)

    def ask(
        self, method: str, target: str, headers: Mapping[str, str] | Sequence[tuple[str, str]]
    ) -> httpx.Response:
        """Send one request; `target` is the path and the query as they stand in the request line."""
        return self.run(self._ask(method, target, headers))

    def raw(self, method: str, target: str, headers: Mapping[str, str]) -> Undecoded:
        """Send one request, and return the body with the coding it came in."""
        return self.run(self._raw(method, target, headers))

    def ask_together(self, targets: Sequence[tuple[str, Mapping[str, str]]]) -> list[httpx.Response]:
        """Send several GET requests at once."""

        async def all_of_them() -> list[httpx.Response]:
            return list(await asyncio.gather(*(self._ask("GET", *target) for target in targets)))

        return self.run(all_of_them())

    async def _ask(
        self, method: str, target: str, headers: Mapping[str, str] | Sequence[tuple[str, str]]
    ) -> httpx.Response:
        return await self._client.request(method, f"http://service{target}", headers=headers)

    async def _raw(self, method: str, target: str, headers: Mapping[str, str]) -> Undecoded:
        request = self._client.build_request(method, f"http://service{target}", headers=headers)
        response = await self._client.send(request, stream=True)
        try:
            content = b"".join([chunk async for chunk in response.aiter_raw()])
        finally:
            await response.aclose()
        return Undecoded(response.status_code, response.headers, content)

    async def _start(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
        self._life = asyncio.create_task(self._live(scope))
        await self._to_application.put({"type": "lifespan.startup"})
        answer = await self._from_application.get()
        assert answer["type"] == "lifespan.startup.complete", answer
        transport = httpx.ASGITransport(app=self._application, client=("203.0.113.9", 40000))
        # The suite says what is accepted: a body is then as the application made it.
        self._client = httpx.AsyncClient(transport=transport, headers={"accept-encoding": "identity"})

    async def _live(self, scope: dict[str, Any]) -> None:
        await self._application(scope, self._to_application.get, self._from_application.put)

    async def _stop(self) -> None:
        await self._client.aclose()
        await self._to_application.put({"type": "lifespan.shutdown"})
        answer = await self._from_application.get()
        assert answer["type"] == "lifespan.shutdown.complete", answer
        await self._life

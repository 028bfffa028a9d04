"""Synchronous client of an application in this process, over ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from serve.auth.settings import AccessSettings
from tests.support.keys import issue_key

T = TypeVar("T")
AS_IT_IS = {"accept-encoding": "identity"}
"""Tests choose the accepted coding themselves, so that a body is as the application sent it."""


@dataclass(frozen=True)
class Undecoded:
    """An answer with its body as sent, undecoded."""

    status_code: int
    headers: httpx.Headers
    content: bytes


@dataclass
class ApiClient:
    """A running application, with a client and issuing of keys.

    Its event loop runs only during requests.
    """

    runner: asyncio.Runner
    client: httpx.AsyncClient
    access: AccessSettings

    def wait(self, work: Awaitable[T]) -> T:
        """Run a coroutine on the application's event loop."""

        async def run() -> T:
            return await work

        return self.runner.run(run())

    def get(
        self, path: str, token: str | None = None, *, method: str = "GET", headers: Mapping[str, str] = {}
    ) -> httpx.Response:
        """Send a GET with or without a key."""
        bearer = {} if token is None else {"authorization": f"Bearer {token}"}
        return self.send(method, path, {**headers, **bearer})

    def json(self, path: str, token: str, status: int = 200) -> Any:
        """Send a GET, assert its status, and return the body."""
        result = self.get(path, token)
        assert result.status_code == status, (result.status_code, result.text)
        return result.json()

    def send(
        self, method: str, target: str, headers: Mapping[str, str] | Sequence[tuple[str, str]]
    ) -> httpx.Response:
        """Send one request; `target` is the request line's path and query."""
        return self.wait(self.client.request(method, target, headers=_uncoded(headers)))

    def send_together(self, targets: Sequence[tuple[str, Mapping[str, str]]]) -> list[httpx.Response]:
        """Send several GET requests at once."""

        async def all_of_them() -> list[httpx.Response]:
            requests = (self.client.get(target, headers=_uncoded(headers)) for target, headers in targets)
            return list(await asyncio.gather(*requests))

        return self.wait(all_of_them())

    def undecoded(self, method: str, target: str, headers: Mapping[str, str]) -> Undecoded:
        """Send one request; return the raw body and its coding."""

        async def send() -> Undecoded:
            async with self.client.stream(method, target, headers=headers) as response:
                content = b"".join([chunk async for chunk in response.aiter_raw()])
            return Undecoded(response.status_code, response.headers, content)

        return self.wait(send())

    def key(self, *, admin: bool = False, account: str | None = None, **grants: Any) -> str:
        """Issue a key, by default of a new account, and return its token."""
        return self.wait(issue_key(self.access, account, admin=admin, **grants))


def _uncoded(headers: Mapping[str, str] | Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    given = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    names = {name.lower() for name, _ in given}
    return [*(pair for pair in AS_IT_IS.items() if pair[0] not in names), *given]

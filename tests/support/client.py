"""Asks an application that runs in this process, over ASGI, from plain functions."""

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
"""The suite says what coding is accepted: a body is then as the application made it."""


@dataclass(frozen=True)
class Undecoded:
    """An answer whose body is as it was sent, content coding and all."""

    status_code: int
    headers: httpx.Headers
    content: bytes


@dataclass
class ApiClient:
    """A running application, and the means to ask it and to make keys for it.

    Its event loop runs while something is asked, and stands still in between.
    """

    runner: asyncio.Runner
    client: httpx.AsyncClient
    access: AccessSettings

    def wait(self, work: Awaitable[T]) -> T:
        """Run something on the application's event loop."""

        async def run() -> T:
            return await work

        return self.runner.run(run())

    def get(
        self, path: str, token: str | None = None, *, method: str = "GET", headers: Mapping[str, str] = {}
    ) -> httpx.Response:
        """Ask with a key, or without one."""
        bearer = {} if token is None else {"authorization": f"Bearer {token}"}
        return self.ask(method, path, {**headers, **bearer})

    def json(self, path: str, token: str, status: int = 200) -> Any:
        """Ask for what is to be answered with this status, and return the body."""
        result = self.get(path, token)
        assert result.status_code == status, (result.status_code, result.text)
        return result.json()

    def gather(self, paths: list[str], token: str) -> list[httpx.Response]:
        """Ask for several paths at once, compressed as callers get them."""

        async def all_at_once() -> list[httpx.Response]:
            headers = {"authorization": f"Bearer {token}"}
            return await asyncio.gather(*(self.client.get(path, headers=headers) for path in paths))

        return self.wait(all_at_once())

    def ask(
        self, method: str, target: str, headers: Mapping[str, str] | Sequence[tuple[str, str]]
    ) -> httpx.Response:
        """Send one request; `target` is the path and the query as they stand in the request line."""
        return self.wait(self.client.request(method, target, headers=_uncoded(headers)))

    def ask_together(self, targets: Sequence[tuple[str, Mapping[str, str]]]) -> list[httpx.Response]:
        """Send several GET requests at once."""

        async def all_of_them() -> list[httpx.Response]:
            requests = (self.client.get(target, headers=_uncoded(headers)) for target, headers in targets)
            return list(await asyncio.gather(*requests))

        return self.wait(all_of_them())

    def undecoded(self, method: str, target: str, headers: Mapping[str, str]) -> Undecoded:
        """Send one request, and return the body with the coding it came in."""

        async def ask() -> Undecoded:
            async with self.client.stream(method, target, headers=headers) as response:
                content = b"".join([chunk async for chunk in response.aiter_raw()])
            return Undecoded(response.status_code, response.headers, content)

        return self.wait(ask())

    def key(self, *, admin: bool = False, account: str | None = None, **grants: Any) -> str:
        """Issue a key of an account of its own, or of the one named, and return its token."""
        return self.wait(issue_key(self.access, account, admin=admin, **grants))


def _uncoded(headers: Mapping[str, str] | Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    given = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    names = {name.lower() for name, _ in given}
    return [*(pair for pair in AS_IT_IS.items() if pair[0] not in names), *given]

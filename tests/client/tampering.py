"""A transport that records requests, and answers or damages chosen ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import httpx


class TamperingTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Forwards requests to the real service, records them, and changes answers.

    Parameters
    ----------
    change
        Returns another answer to a request with this body, or None.
    before
        Called before each request with the number of earlier ones.
    """

    def __init__(
        self,
        change: Callable[[httpx.Request, bytes], httpx.Response | None] = lambda *_: None,
        before: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._inner = httpx.HTTPTransport()
        self._change, self._before = change, before
        self.requests: list[httpx.Request] = []
        self.statuses: list[int] = []
        """Statuses of the service's answers."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._before(len(self.requests))
        self.requests.append(request)
        answer = self._inner.handle_request(request)
        self.statuses.append(answer.status_code)
        body = b"".join(answer.stream)  # type: ignore[arg-type]  # as it was sent
        answer.close()
        sent = httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(body))
        return self._change(request, body) or sent

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await asyncio.to_thread(self.handle_request, request)

    def close(self) -> None:
        self._inner.close()

    async def aclose(self) -> None:
        self.close()

    @property
    def calls(self) -> list[str]:
        return [x.url.path for x in self.requests if x.url.path.startswith("/v1")]

    @property
    def files(self) -> list[httpx.Request]:
        return [x for x in self.requests if x.url.path.startswith("/files")]


class BrokenStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body whose connection breaks."""

    def __init__(self, begun: bytes) -> None:
        self._begun = begun

    def __iter__(self) -> Iterator[bytes]:
        yield self._begun
        raise httpx.ReadError("the connection broke")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._begun
        raise httpx.ReadError("the connection broke")


def refusal(status: int, code: str, **headers: str) -> httpx.Response:
    envelope = {"code": code, "message": "A sentence.", "details": None, "request_id": "r-1"}
    return httpx.Response(status, json={"error": envelope}, headers=headers)

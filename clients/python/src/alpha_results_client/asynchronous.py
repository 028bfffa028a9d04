"""The asyncio client: the same methods as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Generic, TypeVar

import httpx

from alpha_results_client.client import BaseClient, BaseRun
from alpha_results_client.collect import alpha_ids
from alpha_results_client.exchange import Broken, Plan, Reply, Send, Step, Work, outcome
from alpha_results_client.methods import AsyncClientMethods, AsyncRunMethods

F = TypeVar("F")
T = TypeVar("T")


class AsyncRun(AsyncRunMethods[F], BaseRun, Generic[F]):
    """The results of one alpha's run, as :class:`alpha_results_client.Run`."""


class AsyncClient(AsyncClientMethods[F], BaseClient[httpx.AsyncClient], Generic[F]):
    """Reads the results of alpha runs, without blocking the event loop while it waits.

    Parameters and errors are those of :class:`alpha_results_client.Client`.
    """

    _http_class = httpx.AsyncClient
    _run_class = AsyncRun

    async def __aenter__(self) -> AsyncClient[F]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    # Otherwise Python would iterate over client[0], client[1] and so on, without end.
    __iter__ = None
    __contains__ = None

    async def __aiter__(self) -> AsyncIterator[str]:
        """Iterate over the ids of the alphas that the key may read, latest started first."""
        for alpha in await self._do(alpha_ids(self._settings)):
            yield alpha

    async def _do(self, plan: Plan[T]) -> T:
        """Run a plan, awaiting each step."""
        received = None
        try:
            while True:
                received = await self._take(plan.send(received))
        except StopIteration as end:
            result: T = end.value
            return result

    async def _take(self, step: Step) -> Any:
        if isinstance(step, Send):
            return await self._send(step)
        if isinstance(step, Work):
            return await asyncio.to_thread(step.call)  # a large table takes a while
        return await asyncio.sleep(step.seconds)

    async def _send(self, step: Send) -> Reply | Broken:
        request = self._request(step)
        pieces: list[bytes] = []
        answer = reason = None
        try:
            answer = await self._http.send(request, stream=True)
            try:
                async for piece in answer.aiter_bytes():
                    pieces.append(piece)  # noqa: PERF401 - received chunks are kept after a failure
            finally:
                await answer.aclose()
        except httpx.RequestError as error:
            reason = f"{type(error).__name__}: {error}"
        return outcome(answer, pieces, reason)

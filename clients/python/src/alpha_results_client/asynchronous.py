"""The client for asyncio: the same calls, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

import httpx

from alpha_results_client.client import BaseClient, BaseRun, Options
from alpha_results_client.collect import alpha_ids
from alpha_results_client.exchange import Broken, Fetch, Plan, Reply, Send, Work
from alpha_results_client.methods import AsyncClientMethods, AsyncRunMethods
from alpha_results_client.metrics import metrics_rows
from alpha_results_client.table import Table, make_frame
from alpha_results_client.values import Value
from alpha_results_client.wide import wide_returns

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from typing_extensions import Unpack

F = TypeVar("F")
T = TypeVar("T")


class AsyncClient(BaseClient[F, httpx.AsyncClient], AsyncClientMethods[F], Generic[F]):
    """Reads the results of alpha runs, without blocking the event loop while it waits.

    Parameters and errors are those of :class:`alpha_results_client.Client`.
    """

    _http_class = httpx.AsyncClient

    if TYPE_CHECKING:  # what `frames` makes of F; the constructor itself is that of the base

        @overload
        def __init__(
            self: AsyncClient[pl.DataFrame], base_url: str | None = ..., key: str | None = ..., *, frames: Literal["polars"] = ..., **options: Unpack[Options]
        ) -> None: ...  # fmt: skip

        @overload
        def __init__(
            self: AsyncClient[pd.DataFrame], base_url: str | None = ..., key: str | None = ..., *, frames: Literal["pandas"], **options: Unpack[Options]
        ) -> None: ...  # fmt: skip

        @overload
        def __init__(
            self: AsyncClient[list[dict[str, Any]]], base_url: str | None = ..., key: str | None = ..., *, frames: Literal["rows"], **options: Unpack[Options]
        ) -> None: ...  # fmt: skip
        def __init__(
            self, base_url: str | None = None, key: str | None = None, *, frames: str = "polars", **options: Unpack[Options]
        ) -> None: ...  # fmt: skip

    async def __aenter__(self) -> AsyncClient[F]:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        if self._tls is not None:
            await self._tls.aclose()

    # Without these Python would try client[0], client[1] and so on, which never ends.
    __iter__ = None
    __contains__ = None

    async def __aiter__(self) -> AsyncIterator[str]:
        """Iterate over the ids of the alphas the key may read, latest started first."""
        for alpha in await self._do(alpha_ids(self._settings)):
            yield alpha

    def __getitem__(self, alpha: str) -> AsyncRun[F]:
        """Return a run by its alpha's address; the first request is made by its first awaited method."""
        return AsyncRun(self, alpha)

    def run(self, alpha: str, snapshot: str | None = None) -> AsyncRun[F]:
        """Return a run, with every call answered from the snapshot given, where one is."""
        return AsyncRun(self, alpha, snapshot)

    async def table(self, endpoint: str, **parameters: Value) -> Table[F]:
        """Return every row of a collection by its registry id, with its `meta`; parameters as the interface names them."""
        return await self._do(self._table_plan(endpoint, parameters))

    async def returns(
        self,
        alphas: Sequence[str] | None = None,
        *,
        book: str = "long_short",
        start: Value = None,
        end: Value = None,
    ) -> F:
        """Return daily returns side by side, as :meth:`alpha_results_client.Client.returns`."""
        frame: F = await self._do(wide_returns(self._settings, alphas, book, start, end))
        return frame

    async def _answer(self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]) -> Any:
        return await self._do(self._answer_plan(endpoint, path, query))

    async def _do(self, plan: Plan[T]) -> T:
        """Carry a plan out, giving way to others at each step."""
        try:
            step = next(plan)
            while True:
                if isinstance(step, Send):
                    step = plan.send(await self._send(step))
                elif isinstance(step, Fetch):
                    step = plan.send(await self._fetch(step))
                elif isinstance(step, Work):
                    # Out of the event loop: a large table takes its time.
                    loop = asyncio.get_running_loop()
                    step = plan.send(await loop.run_in_executor(None, step.call))
                else:
                    await asyncio.sleep(step.seconds)
                    step = next(plan)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _send(self, step: Send) -> Reply | Broken:
        headers = self._headers(step)
        try:
            answer = await self._http.get(step.target, headers=headers)
        except httpx.RequestError as error:
            return Broken(f"{type(error).__name__}: {error}")
        return Reply(answer.status_code, answer.headers, answer.content)

    async def _fetch(self, step: Fetch) -> Reply | Broken:
        http, request = self._link_request(step)
        try:
            answer = await http.send(request, stream=True)
            try:
                if not step.into.begin(answer.status_code, answer.headers):
                    return Reply(answer.status_code, answer.headers, await answer.aread())
                async for piece in answer.aiter_bytes():
                    if not step.into.take(piece):
                        break
            finally:
                await answer.aclose()
        except httpx.RequestError as error:
            return Broken(f"{type(error).__name__}: {error}")
        return Reply(answer.status_code, answer.headers, b"")


class AsyncRun(BaseRun[AsyncClient[F]], AsyncRunMethods[F], Generic[F]):
    """The results of one alpha's run, as :class:`alpha_results_client.Run`."""

    async def pinned(self) -> AsyncRun[F]:
        """Return the run with every later call answered from the snapshot that is served now."""
        books = await self._client.table("portfolio.books", alpha=self.alpha)
        return AsyncRun(self._client, self.alpha, str(books.meta["snapshot"]))

    async def table(self, endpoint: str, **parameters: Value) -> Table[F]:
        """Return every row of one of the run's collections by its registry id, with its `meta`."""
        return await self._client.table(endpoint, **self._parameters(**parameters))

    async def metrics_frame(self, *, granularity: str = "overall", **parameters: Value) -> F:
        """Return the figures of :meth:`metrics` as a long table, as :meth:`alpha_results_client.Run.metrics_frame`."""
        metrics = await self._answer("performance.metrics", {}, {"granularity": granularity, **parameters})
        frame: F = make_frame(metrics_rows(metrics), "metrics_figure", self._client._settings.frames)  # noqa: SLF001 - of the same package
        return frame

    async def _answer(self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]) -> Any:
        return await self._client._answer(endpoint, {"alpha": self.alpha, **path}, self._pinned(query))  # noqa: SLF001 - as above

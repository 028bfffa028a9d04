"""The client for asyncio: the same calls, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    TypeVar,
    overload,
)

import httpx

from alpha_results_client.cache import DEFAULT_BYTES, DiskCache
from alpha_results_client.client import TIMEOUT, PathText, make_verify, split, user_agent
from alpha_results_client.collect import alpha_ids, collect, fetch
from alpha_results_client.errors import AlphaResultsClientError
from alpha_results_client.exchange import Broken, Fetch, Link, Plan, Reply, Send, Work
from alpha_results_client.methods import AsyncClientMethods, AsyncRunMethods
from alpha_results_client.metrics import metrics_rows
from alpha_results_client.settings import Progress, Settings
from alpha_results_client.suggestions import suggesting
from alpha_results_client.table import Table, make_frame
from alpha_results_client.values import Value
from alpha_results_client.wide import wide_returns

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

F = TypeVar("F")
T = TypeVar("T")


class AsyncClient(AsyncClientMethods[F], Generic[F]):
    """Reads the results of alpha runs, without blocking the event loop while it waits.

    Parameters and errors are those of :class:`alpha_results_client.Client`.
    """

    @overload
    def __init__(
        self: AsyncClient[pl.DataFrame], base_url: str | None = ..., key: str | None = ..., *, frames: Literal["polars"] = ..., cache: PathText | None = ...,
        cache_bytes: int = ..., progress: bool | Progress = ..., retries: int = ..., longest_wait: float = ...,
        timeout: float = ..., links: bool = ..., transport: httpx.AsyncBaseTransport | None = ...,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self: AsyncClient[pd.DataFrame], base_url: str | None = ..., key: str | None = ..., *, frames: Literal["pandas"], cache: PathText | None = ...,
        cache_bytes: int = ..., progress: bool | Progress = ..., retries: int = ..., longest_wait: float = ...,
        timeout: float = ..., links: bool = ..., transport: httpx.AsyncBaseTransport | None = ...,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self: AsyncClient[list[dict[str, Any]]], base_url: str | None = ..., key: str | None = ..., *, frames: Literal["rows"], cache: PathText | None = ...,
        cache_bytes: int = ..., progress: bool | Progress = ..., retries: int = ..., longest_wait: float = ...,
        timeout: float = ..., links: bool = ..., transport: httpx.AsyncBaseTransport | None = ...,
    ) -> None: ...  # fmt: skip
    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        frames: str = "polars",
        cache: PathText | None = None,
        cache_bytes: int = DEFAULT_BYTES,
        progress: bool | Progress = False,
        retries: int = 4,
        longest_wait: float = 65.0,
        timeout: float = TIMEOUT,
        links: bool = True,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        stored = None if cache is None else DiskCache(cache, cache_bytes)
        self._settings = Settings(base_url, key, frames, retries, longest_wait, stored, progress, links)
        self._http = httpx.AsyncClient(
            base_url=self._settings.base_url,
            timeout=timeout,
            transport=transport,
            headers={"User-Agent": user_agent()},
            verify=make_verify(self._settings.base_url),
        )
        # For links of a store that is reached by TLS when the service is not; made when there is one.
        self._tls: httpx.AsyncClient | None = self._http if transport is not None else None

    def __repr__(self) -> str:
        return f"AsyncClient({self._settings!r})"

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
        """Return a run by its alpha's address; nothing is asked before one of its methods is awaited."""
        return AsyncRun(self, alpha)

    def run(self, alpha: str, snapshot: str | None = None) -> AsyncRun[F]:
        """Return a run, with every call answered from the snapshot given, where one is."""
        return AsyncRun(self, alpha, snapshot)

    async def table(self, endpoint: str, **parameters: Value) -> Table[F]:
        """Return every row of a collection by its registry id, with its `meta`; parameters as the interface names them."""
        path, query = split(endpoint, parameters)
        found: Table[F] = await self._do(
            self._suggesting(path, query, collect(self._settings, endpoint, path, query))
        )
        return found

    async def returns(
        self,
        alphas: Sequence[str] | None = None,
        *,
        book: str = "long_short",
        start: Value = None,
        end: Value = None,
    ) -> F:
        """Return daily returns side by side: ``date``, and a column for each alpha, null where it has no session.

        Parameters
        ----------
        alphas
            Their addresses; None takes all that the key may read. A call or more each.
        book
            The book whose returns they are.
        start, end
            First and last day.
        """
        found: F = await self._do(wide_returns(self._settings, alphas, book, start, end))
        return found

    def _suggesting(self, path: Mapping[str, str], query: Mapping[str, Value], plan: Plan[T]) -> Plan[T]:
        return suggesting(self._settings, path, query, plan)

    async def _collection(self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]) -> F:
        found: Table[F] = await self._do(
            self._suggesting(path, query, collect(self._settings, endpoint, path, query, with_meta=False))
        )
        return found.frame

    async def _object(
        self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]
    ) -> dict[str, Any]:
        found: dict[str, Any] = await self._do(
            self._suggesting(path, query, fetch(self._settings, endpoint, path, query))
        )
        return found

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
        if self._http.is_closed:
            raise AlphaResultsClientError("the client was closed")
        headers = {**step.headers, "Authorization": self._settings.authorization.value}
        try:
            answer = await self._http.get(step.target, headers=headers)
        except httpx.RequestError as error:
            return Broken(f"{type(error).__name__}: {error}")
        return Reply(answer.status_code, answer.headers, answer.content)

    async def _fetch(self, step: Fetch) -> Reply | Broken:
        http = self._http
        if step.url.startswith("https:") and not self._settings.base_url.startswith("https:"):
            if self._tls is None:
                self._tls = httpx.AsyncClient(timeout=http.timeout, headers={"User-Agent": user_agent()})
            http = self._tls
        request = http.build_request("GET", step.url, headers=step.headers)
        request.url = Link(request.url)
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


class AsyncRun(AsyncRunMethods[F], Generic[F]):
    """The results of one alpha's run, as :class:`alpha_results_client.Run`."""

    def __init__(self, client: AsyncClient[F], alpha: str, snapshot: str | None = None) -> None:
        self._client = client
        self.alpha = alpha
        self.snapshot = snapshot

    def __repr__(self) -> str:
        return f"AsyncRun({self.alpha!r}, snapshot={self.snapshot!r})"

    async def pinned(self) -> AsyncRun[F]:
        """Return the run with every later call answered from the snapshot that is served now."""
        found = await self._client.table("portfolio.books", alpha=self.alpha)
        return AsyncRun(self._client, self.alpha, str(found.meta["snapshot"]))

    async def table(self, endpoint: str, **parameters: Value) -> Table[F]:
        """Return every row of one of the run's collections by its registry id, with its `meta`."""
        return await self._client.table(
            endpoint, alpha=self.alpha, **{"snapshot": self.snapshot, **parameters}
        )

    async def metrics_frame(self, *, granularity: str = "overall", **parameters: Value) -> F:
        """Return the figures of :meth:`metrics` as a long table, as :meth:`alpha_results_client.Run.metrics_frame`."""
        query = {"snapshot": self.snapshot, "granularity": granularity, **parameters}
        found = await self._client._object("performance.metrics", {"alpha": self.alpha}, query)  # noqa: SLF001 - of the same package
        frame: F = make_frame(metrics_rows(found), "metrics_figure", self._client._settings.frames)  # noqa: SLF001 - as above
        return frame

    async def _collection(self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]) -> F:
        return await self._client._collection(endpoint, {"alpha": self.alpha, **path}, self._pinned(query))  # noqa: SLF001 - as above

    async def _object(
        self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]
    ) -> dict[str, Any]:
        return await self._client._object(endpoint, {"alpha": self.alpha, **path}, self._pinned(query))  # noqa: SLF001 - as above

    def _pinned(self, query: Mapping[str, Value]) -> Mapping[str, Value]:
        return query if query.get("snapshot") is not None else {**query, "snapshot": self.snapshot}

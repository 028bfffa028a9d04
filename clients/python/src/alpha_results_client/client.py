"""The blocking client."""

from __future__ import annotations

import contextlib
import os
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    TypedDict,
    TypeVar,
    Union,
    overload,
)

import httpx

from alpha_results_client.cache import DEFAULT_BYTES, DiskCache
from alpha_results_client.collect import alpha_ids, collect, fetch
from alpha_results_client.declared import ENDPOINTS
from alpha_results_client.errors import AlphaResultsClientError
from alpha_results_client.exchange import Broken, Fetch, Link, Plan, Reply, Send, Work
from alpha_results_client.methods import ClientMethods, RunMethods
from alpha_results_client.metrics import metrics_rows
from alpha_results_client.settings import VERSION, Progress, Settings
from alpha_results_client.suggestions import did_you_mean, suggesting
from alpha_results_client.table import Table, make_frame
from alpha_results_client.values import Value
from alpha_results_client.wide import wide_returns

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from typing_extensions import Unpack

F = TypeVar("F")
T = TypeVar("T")
H = TypeVar("H", httpx.Client, httpx.AsyncClient)
C = TypeVar("C")
Transport = Union[httpx.BaseTransport, httpx.AsyncBaseTransport]
PathText = Union[str, "os.PathLike[str]"]
TIMEOUT = 60.0
"""Seconds without a byte after which a connection counts as broken."""
_USER_AGENT = {"User-Agent": f"alpha-results-client/{VERSION}"}
"""What the service's log sees of this client."""


class Options(TypedDict, total=False):
    """The further arguments of a client, for type checkers."""

    cache: PathText | None
    cache_bytes: int
    progress: bool | Progress
    retries: int
    longest_wait: float
    timeout: float
    links: bool
    transport: Transport | None


class BaseClient(Generic[F, H]):
    """Settings, connections and plans of the blocking and the asynchronous client, which carry plans out each in its way."""

    _http_class: type[H]

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
        transport: Any = None,
    ) -> None:
        stored = None if cache is None else DiskCache(cache, cache_bytes)
        self._settings = Settings(base_url, key, frames, retries, longest_wait, stored, progress, links)
        self._http: H = self._http_class(
            base_url=self._settings.base_url,
            timeout=timeout,
            transport=transport,
            headers=_USER_AGENT,
            verify=_make_verify(self._settings.base_url),
        )
        # For links of a store that is reached by TLS when the service is not; made when there is one.
        self._tls: H | None = self._http if transport is not None else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings!r})"

    def _table_plan(self, endpoint: str, parameters: Mapping[str, Value]) -> Plan[Table[F]]:
        if endpoint not in ENDPOINTS:
            raise AlphaResultsClientError(
                f"there is no endpoint {endpoint!r}{did_you_mean(endpoint, ENDPOINTS)}"
            )
        path = {name: str(parameters[name]) for name in ENDPOINTS[endpoint].in_path}
        query = {name: value for name, value in parameters.items() if name not in path}
        return suggesting(self._settings, path, query, collect(self._settings, endpoint, path, query))

    def _answer_plan(self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]) -> Plan[Any]:
        """Fetch the frame of a collection, or an object."""
        if not ENDPOINTS[endpoint].collection:
            plan = fetch(self._settings, endpoint, path, query)
            return (yield from suggesting(self._settings, path, query, plan))
        rows = collect(self._settings, endpoint, path, query, with_meta=False)
        return (yield from suggesting(self._settings, path, query, rows)).frame

    def _headers(self, step: Send) -> Mapping[str, str]:
        if self._http.is_closed:
            raise AlphaResultsClientError("the client was closed")
        return {**step.headers, "Authorization": self._settings.authorization.value}

    def _link_request(self, step: Fetch) -> tuple[H, httpx.Request]:
        """Return the request of a file by link, and the connections it goes over."""
        http = self._http
        if step.url.startswith("https:") and not self._settings.base_url.startswith("https:"):
            if self._tls is None:
                self._tls = self._http_class(timeout=http.timeout, headers=_USER_AGENT)
            http = self._tls
        request = http.build_request("GET", step.url, headers=step.headers)
        request.url = Link(request.url)
        return http, request


class BaseRun(Generic[C]):
    """The client, alpha and snapshot of a run."""

    def __init__(self, client: C, alpha: str, snapshot: str | None = None) -> None:
        self._client = client
        self.alpha = alpha
        self.snapshot = snapshot

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.alpha!r}, snapshot={self.snapshot!r})"

    def _parameters(self, **parameters: Value) -> Mapping[str, Value]:
        return {"alpha": self.alpha, "snapshot": self.snapshot, **parameters}

    def _pinned(self, query: Mapping[str, Value]) -> Mapping[str, Value]:
        return query if query.get("snapshot") is not None else {**query, "snapshot": self.snapshot}


class Client(BaseClient[F, httpx.Client], ClientMethods[F], Generic[F]):
    """Reads the results of alpha runs.

    Parameters
    ----------
    base_url
        Of the service, such as ``https://results.example``; without one, what the variable ``ALPHA_RESULTS_URL`` holds.
    key
        The API key; without one, what ``ALPHA_RESULTS_KEY`` holds. It is in no representation, message or log of this package, and is sent to `base_url` alone.
    frames
        ``"polars"``, ``"pandas"``, or ``"rows"`` for lists of dicts, which needs neither.
    cache
        A folder for answers, reused while the service confirms their entity tag, and for files of tables; a call
        still counts.
    cache_bytes
        How much it may hold.
    progress
        True shows a bar for what takes several pages (needs tqdm); a function is called with
        ``(what, rows so far, rows in all)`` after each page, or megabyte of a file.
    retries
        Further attempts where a failure may pass: no connection, 429, 502, 503, 504. ``Retry-After`` is obeyed.
    longest_wait
        Seconds; a longer ``Retry-After`` raises at once.
    timeout
        Seconds without a byte after which a connection counts as broken.
    links
        Whether rows that are a large part of a table come from its file, by signed link; the logger ``alpha_results_client``
        says why they came by pages instead.
    transport
        Another transport of httpx, for tests and proxies.

    Raises
    ------
    AlphaResultsClientError
        Every call may raise what is below it: :class:`ApiError` when the service refuses, :class:`NoAnswer`,
        :class:`UnexpectedAnswer`.
    """

    _http_class = httpx.Client

    if TYPE_CHECKING:  # what `frames` makes of F; the constructor itself is that of the base

        @overload
        def __init__(
            self: Client[pl.DataFrame], base_url: str | None = ..., key: str | None = ..., *, frames: Literal["polars"] = ..., **options: Unpack[Options]
        ) -> None: ...  # fmt: skip

        @overload
        def __init__(
            self: Client[pd.DataFrame], base_url: str | None = ..., key: str | None = ..., *, frames: Literal["pandas"], **options: Unpack[Options]
        ) -> None: ...  # fmt: skip

        @overload
        def __init__(
            self: Client[list[dict[str, Any]]], base_url: str | None = ..., key: str | None = ..., *, frames: Literal["rows"], **options: Unpack[Options]
        ) -> None: ...  # fmt: skip
        def __init__(
            self, base_url: str | None = None, key: str | None = None, *, frames: str = "polars", **options: Unpack[Options]
        ) -> None: ...  # fmt: skip

    def __enter__(self) -> Client[F]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
        if self._tls is not None:
            self._tls.close()

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids of the alphas the key may read, latest started first."""
        return iter(self._do(alpha_ids(self._settings)))

    def __contains__(self, alpha: object) -> bool:
        return alpha in self._do(alpha_ids(self._settings))

    def _ipython_key_completions_(self) -> list[str]:
        """Return the completions of ``client["`` in a notebook; none if the service does not answer."""
        try:
            return list(self)
        except AlphaResultsClientError:
            return []

    def __getitem__(self, alpha: str) -> Run[F]:
        """Return a run by its alpha's address; the first request is made by its first method call."""
        return Run(self, alpha)

    def run(self, alpha: str, snapshot: str | None = None) -> Run[F]:
        """Return a run, with every call answered from the snapshot given, where one is."""
        return Run(self, alpha, snapshot)

    def table(self, endpoint: str, **parameters: Value) -> Table[F]:
        """Return every row of a collection by its registry id, with its `meta`; parameters as the interface names them."""
        return self._do(self._table_plan(endpoint, parameters))

    def returns(
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
        frame: F = self._do(wide_returns(self._settings, alphas, book, start, end))
        return frame

    def _answer(self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]) -> Any:
        return self._do(self._answer_plan(endpoint, path, query))

    def _do(self, plan: Plan[T]) -> T:
        """Carry a plan out, waiting for each step."""
        try:
            step = next(plan)
            while True:
                if isinstance(step, Send):
                    step = plan.send(self._send(step))
                elif isinstance(step, Fetch):
                    step = plan.send(self._fetch(step))
                elif isinstance(step, Work):
                    step = plan.send(step.call())
                else:
                    time.sleep(step.seconds)
                    step = next(plan)
        except StopIteration as end:
            result: T = end.value
            return result

    def _send(self, step: Send) -> Reply | Broken:
        headers = self._headers(step)
        try:
            answer = self._http.get(step.target, headers=headers)
        except httpx.RequestError as error:
            return Broken(f"{type(error).__name__}: {error}")
        return Reply(answer.status_code, answer.headers, answer.content)

    def _fetch(self, step: Fetch) -> Reply | Broken:
        http, request = self._link_request(step)
        try:
            answer = http.send(request, stream=True)
            with contextlib.closing(answer):
                if not step.into.begin(answer.status_code, answer.headers):
                    return Reply(answer.status_code, answer.headers, answer.read())
                for piece in answer.iter_bytes():
                    if not step.into.take(piece):
                        break
        except httpx.RequestError as error:
            return Broken(f"{type(error).__name__}: {error}")
        return Reply(answer.status_code, answer.headers, b"")


class Run(BaseRun[Client[F]], RunMethods[F], Generic[F]):
    """The results of one alpha's run. Each call is answered from the snapshot that is served then, unless one is pinned."""

    def pinned(self) -> Run[F]:
        """Return the run with every later call answered from the snapshot that is served now, for as long as it is there.

        One call; it reads the list of books, which every run has.
        """
        books = self._client.table("portfolio.books", alpha=self.alpha)
        return Run(self._client, self.alpha, str(books.meta["snapshot"]))

    def table(self, endpoint: str, **parameters: Value) -> Table[F]:
        """Return every row of one of the run's collections by its registry id, with its `meta`."""
        return self._client.table(endpoint, **self._parameters(**parameters))

    def metrics_frame(self, *, granularity: str = "overall", **parameters: Value) -> F:
        """Return the figures of :meth:`metrics` as a long table: one row for each, with its unit, status and source.

        `period` is null for figures of no year or month; `name` is the path in the answer, such as ``core.ic`` of the run and
        ``within_window.core.ic`` of the window.
        """
        metrics = self._answer("performance.metrics", {}, {"granularity": granularity, **parameters})
        frame: F = make_frame(metrics_rows(metrics), "metrics_figure", self._client._settings.frames)  # noqa: SLF001 - of the same package
        return frame

    def _answer(self, endpoint: str, path: Mapping[str, str], query: Mapping[str, Value]) -> Any:
        return self._client._answer(endpoint, {"alpha": self.alpha, **path}, self._pinned(query))  # noqa: SLF001 - as above


def _make_verify(base_url: str) -> ssl.SSLContext | bool:
    """Return what a connection to the service is checked with.

    Reading the usual certificates takes longer than a call. Where the address needs none, none are read, and no TLS
    connection would pass.
    """
    return True if base_url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

"""The blocking client, and the base of both clients."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, Union

import httpx

from alpha_results_client.cache import DEFAULT_BYTES, DiskCache
from alpha_results_client.collect import alpha_ids, collect, fetch
from alpha_results_client.declared import ENDPOINTS
from alpha_results_client.errors import AlphaResultsClientError
from alpha_results_client.exchange import Broken, Link, Plan, Reply, Send, Step, Work, outcome
from alpha_results_client.methods import ClientMethods, RunMethods
from alpha_results_client.metrics import metrics_rows
from alpha_results_client.settings import VERSION, Settings, is_number
from alpha_results_client.suggestions import did_you_mean, suggesting
from alpha_results_client.table import Table, make_frame
from alpha_results_client.values import Query, Value, format_value
from alpha_results_client.wide import wide_returns

F = TypeVar("F")
T = TypeVar("T")
H = TypeVar("H", httpx.Client, httpx.AsyncClient)
PathText = Union[str, "os.PathLike[str]"]
_USER_AGENT = {"User-Agent": f"alpha-results-client/{VERSION}"}


class BaseRun:
    """The client, alpha and snapshot of a run. `methods.pyi` has the return types of its methods."""

    def __init__(self, client: BaseClient[Any], alpha: str, snapshot: str | None = None) -> None:
        self._client = client
        self.alpha = alpha
        self.snapshot = snapshot

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.alpha!r}, snapshot={self.snapshot!r})"

    def pinned(self) -> Any:
        """Return the run pinned to the snapshot that it reads now, readable until that snapshot is removed.

        Takes one call, for the list of books, which every run has.
        """
        parameters = {"alpha": self.alpha, "snapshot": self.snapshot}

        def plan() -> Plan[BaseRun]:
            books = yield from self._client._table_plan("portfolio.books", parameters)  # noqa: SLF001 - of the same package
            return type(self)(self._client, self.alpha, str(books.meta["snapshot"]))

        return self._client._do(plan())  # noqa: SLF001 - as above

    def table(self, endpoint: str, **parameters: Value) -> Any:
        """Return all rows of one of the run's collections by its registry id, with its `meta`."""
        pinned: dict[str, Value] = {"snapshot": self.snapshot} if _takes_snapshot(endpoint) else {}
        return self._client.table(endpoint, alpha=self.alpha, **{**pinned, **parameters})

    def metrics_frame(self, *, granularity: str = "overall", **parameters: Value) -> Any:
        """Return the figures of :meth:`metrics` as a long table: one row per figure, with its unit, status and source.

        `period` is null for figures that do not belong to a year or month; `name` is the path in the answer, such as
        ``core.ic`` for the run and ``within_window.core.ic`` for the window.
        """
        endpoint = "performance.metrics"
        names = {x.name: x.parameter for x in ENDPOINTS[endpoint].arguments}  # `from` is `start` in Python
        options = {names.get(name, name): format_value(name, value) for name, value in parameters.items()}
        path, query = self._located(endpoint, {}, {"granularity": granularity, **options})

        def plan() -> Plan[Any]:
            metrics = yield from self._client._answer_plan(endpoint, path, query)  # noqa: SLF001 - as above
            return make_frame(metrics_rows(metrics), "metrics_figure", self._client._settings.frames)  # noqa: SLF001 - as above

        return self._client._do(plan())  # noqa: SLF001 - as above

    def _answer(self, endpoint: str, path: Mapping[str, str], query: Query) -> Any:
        return self._client._answer(endpoint, *self._located(endpoint, path, query))  # noqa: SLF001 - as above

    def _located(
        self, endpoint: str, path: Mapping[str, str], query: Query
    ) -> tuple[Mapping[str, str], Query]:
        """Add the run's alpha, and its snapshot if the endpoint takes one, to the parameters of a call."""
        if query.get("snapshot") is None and _takes_snapshot(endpoint):
            query = {**query, "snapshot": self.snapshot}
        return {"alpha": self.alpha, **path}, query


def _takes_snapshot(endpoint: str) -> bool:
    return endpoint in ENDPOINTS and "snapshot" in ENDPOINTS[endpoint].query


class BaseClient(Generic[H]):
    """Settings, connections and calls of both clients. `methods.pyi` has the return types of their methods."""

    _http_class: type[H]
    _run_class: type[BaseRun]

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        frames: str = "polars",
        cache: PathText | None = None,
        cache_bytes: int = DEFAULT_BYTES,
        retries: int = 4,
        longest_wait: float = 65.0,
        timeout: float = 60.0,
        links: bool = True,
        transport: Any = None,
    ) -> None:
        stored = None if cache is None else DiskCache(cache, cache_bytes)
        self._settings = Settings(base_url, key, frames, retries, longest_wait, stored, links)
        if not (is_number(timeout) and timeout > 0):
            raise AlphaResultsClientError("timeout must be more than 0 seconds")
        self._http: H = self._http_class(
            base_url=self._settings.base_url, timeout=timeout, transport=transport, headers=_USER_AGENT
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings!r})"

    def __getitem__(self, alpha: str) -> Any:
        """Return a run by its alpha's address; no request is sent before its first method call."""
        return self.run(alpha)

    def run(self, alpha: str, snapshot: str | None = None) -> Any:
        """Return a run, pinned to a snapshot if one is given."""
        if not isinstance(alpha, str):
            raise TypeError(f"an alpha is named by its address, a string, not by {alpha!r}")
        return self._run_class(self, alpha, snapshot)

    def table(self, endpoint: str, **parameters: Value) -> Any:
        """Return all rows of a collection by its registry id, with its `meta`; parameters are named as in the API."""
        return self._do(self._table_plan(endpoint, parameters))

    def returns(
        self,
        alphas: Sequence[str] | None = None,
        *,
        book: str = "long_short",
        start: Value = None,
        end: Value = None,
    ) -> Any:
        """Return daily returns of several alphas: ``date``, and a column per alpha, null for sessions that it lacks.

        Parameters
        ----------
        alphas
            Their addresses, or a single one; None for all that the key may read. Each takes one or more calls.
        book
            The book whose returns they are.
        start, end
            First and last day.
        """
        query = {"book": book, "from": format_value("start", start), "to": format_value("end", end)}
        return self._do(wide_returns(self._settings, alphas, query))

    def _do(self, plan: Plan[Any]) -> Any:
        """Run a plan; an asynchronous client returns an awaitable."""
        raise NotImplementedError

    def _answer(self, endpoint: str, path: Mapping[str, str], query: Query) -> Any:
        return self._do(self._answer_plan(endpoint, path, query))

    def _table_plan(self, endpoint: str, parameters: Mapping[str, Value]) -> Plan[Table[Any]]:
        if endpoint not in ENDPOINTS:
            raise AlphaResultsClientError(
                f"there is no endpoint {endpoint!r}{did_you_mean(endpoint, ENDPOINTS)}"
            )
        if not ENDPOINTS[endpoint].collection:
            raise AlphaResultsClientError(
                f"{endpoint} has no rows: call {ENDPOINTS[endpoint].method}(), which returns its object"
            )
        missing = [name for name in ENDPOINTS[endpoint].in_path if parameters.get(name) is None]
        if missing:
            raise AlphaResultsClientError(f"{endpoint} needs {' and '.join(missing)}: pass {missing[0]}=…")
        query = {name: format_value(name, value) for name, value in parameters.items()}
        path = {name: query.pop(name) or "" for name in ENDPOINTS[endpoint].in_path}
        plan = collect(self._settings, endpoint, path, query)
        return (yield from suggesting(self._settings, path, query, plan))

    def _answer_plan(self, endpoint: str, path: Mapping[str, str], query: Query) -> Plan[Any]:
        """Fetch the frame of a collection, or an object."""
        if not ENDPOINTS[endpoint].collection:
            plan = fetch(self._settings, endpoint, path, query)
            return (yield from suggesting(self._settings, path, query, plan))
        rows = collect(self._settings, endpoint, path, query, with_meta=False)
        return (yield from suggesting(self._settings, path, query, rows)).frame

    def _request(self, step: Send) -> httpx.Request:
        """Return the request of a step; the key is sent only to the service, never with a link."""
        if self._http.is_closed:
            raise AlphaResultsClientError("the client was closed")
        request = self._http.build_request("GET", step.target, headers=step.headers)
        if step.is_to_service:
            request.headers["Authorization"] = self._settings.authorization.value
        else:
            request.url = Link(request.url)
        return request


class Run(RunMethods[F], BaseRun, Generic[F]):
    """The results of one alpha's run; each call reads the served snapshot unless one is pinned."""


class Client(ClientMethods[F], BaseClient[httpx.Client], Generic[F]):
    """Reads the results of alpha runs.

    Parameters
    ----------
    base_url
        Address of the service, such as ``https://results.example``; by default the variable ``ALPHA_RESULTS_URL``.
    key
        The API key; by default the variable ``ALPHA_RESULTS_KEY``. It never appears in a representation, message or log of
        this package, and is sent only to `base_url`.
    frames
        ``"polars"``, ``"pandas"``, or ``"rows"`` for lists of dicts, which needs neither.
    cache
        A folder for answers, reused while the service confirms their entity tag, and for files of tables; a reused answer
        still counts as a call.
    cache_bytes
        Maximum bytes of the cache.
    retries
        Further attempts after a temporary failure: no connection, 429, 502, 503, 504. ``Retry-After`` is obeyed.
    longest_wait
        Longest wait in seconds; a longer ``Retry-After`` raises at once.
    timeout
        Seconds without a byte after which a connection counts as broken.
    links
        Whether large parts of a table are downloaded as its file, by signed link; if they are paged instead, the logger
        ``alpha_results_client`` says why.
    transport
        Another transport of httpx, for tests and proxies.

    Raises
    ------
    AlphaResultsClientError
        Base of the errors that any call may raise: :class:`ApiError` if the service refuses, :class:`NoAnswer`,
        :class:`UnexpectedAnswer`.
    """

    _http_class = httpx.Client
    _run_class = Run

    def __enter__(self) -> Client[F]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids of the alphas that the key may read, latest started first."""
        return iter(self._do(alpha_ids(self._settings)))

    def __contains__(self, alpha: object) -> bool:
        return alpha in self._do(alpha_ids(self._settings))

    def _ipython_key_completions_(self) -> list[str]:
        """Return the completions of ``client["`` in a notebook; none if the service does not answer."""
        try:
            return list(self)
        except AlphaResultsClientError:
            return []

    def _do(self, plan: Plan[T]) -> T:
        """Run a plan, blocking at each step."""
        received = None
        try:
            while True:
                received = self._take(plan.send(received))
        except StopIteration as end:
            result: T = end.value
            return result

    def _take(self, step: Step) -> Any:
        if isinstance(step, Send):
            return self._send(step)
        if isinstance(step, Work):
            return step.call()
        return time.sleep(step.seconds)

    def _send(self, step: Send) -> Reply | Broken:
        request = self._request(step)
        pieces: list[bytes] = []
        answer = reason = None
        try:
            answer = self._http.send(request, stream=True)
            with contextlib.closing(answer):
                for piece in answer.iter_bytes():
                    pieces.append(piece)  # noqa: PERF402 - received chunks are kept after a failure
        except httpx.RequestError as error:
            reason = f"{type(error).__name__}: {error}"
        return outcome(answer, pieces, reason)

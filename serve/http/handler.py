"""Endpoint functions, the checks of every request in a fixed order, and the response."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from inspect import iscoroutinefunction
from typing import Any, Final, NamedTuple, TypeAlias

import orjson
from litestar import HttpMethod, route
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import HTTPRouteHandler
from polars.exceptions import PanicException

from datasets.figures.unavailable import BLOCK_ERROR
from datasets.snapshot import Snapshot
from schemas.endpoint import AllowListScope, Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError, SnapshotCorrupt, SnapshotNotKept
from schemas.parameters import BENCHMARK, BENCHMARKS, SNAPSHOT, SYMBOL_PATH, ParameterKind
from serve.auth.allow_list import Mode
from serve.compute import CURRENT_REQUEST
from serve.http.errors import failure_response
from serve.http.params import InvalidParameters, Values, parse, refusal
from serve.http.request import Queries, Request
from serve.http.responses import (
    IDENTITY,
    IMMEDIATE_BYTES,
    OVERHEAD,
    Answer,
    Response,
    Single,
    answer_body,
    answer_response,
    body_response,
    encode_page,
    entity_tag,
    matches,
    negotiate,
    not_modified,
    page_body,
)
from serve.market_data.operator_files import require_known
from serve.pages.books import visible_books
from serve.pages.query import PageResult
from serve.state import ServerState

_LISTS: Final = frozenset(
    {"catalog.alphas.list", "research.screen", "research.luck.catalogue", "admin.alphas.list"}
)
"""Endpoints about all alphas, which cannot be answered before the catalogue was read."""
PRICES: Final = "benchmarks.daily"
"""The endpoint that serves the prices of benchmarks."""
_BENCHMARKS: Final = (SYMBOL_PATH, BENCHMARK, BENCHMARKS)
"""Parameters that name benchmarks."""
_MAX_REQUESTS: Final = 4096
"""Maximum number of requests whose parsed parameters are cached: the same page is often requested again."""
_MAX_REQUEST_BYTES: Final = 512
"""Maximum bytes of the path values and query string of a cached request, which bounds the memory of the cache."""
_MAX_QUERIES: Final = 8
"""Maximum number of cached queries of one request, by snapshot and view of the key."""


class PageEndpoint(NamedTuple):
    """An endpoint whose pages are determined by a query alone.

    Attributes
    ----------
    query
        A pure function from a checked request to the hashable query.
    meta
        Returns members of the page's meta that do not depend on its rows; they extend or replace those of every page of a run.
    source
        Name of the function in :attr:`ServerState.pages` that answers the query.
    """

    query: Callable[[Request], Any]
    meta: Callable[[Request, Any], Mapping[str, Any]] | None = None
    source: str = "tables"


class ComputedOnce(NamedTuple):
    """An endpoint whose object the snapshot, the parameters and the key's rights determine; it is cached as JSON."""

    answer: Callable[[ServerState, Request], Single]


EndpointFunction: TypeAlias = (
    PageEndpoint | ComputedOnce | Callable[[ServerState, Request], Answer | Awaitable[Answer]]
)
"""An endpoint; a coroutine function answers on the event loop, any other on a compute thread."""


class EndpointHandler:
    """Handles the requests to one endpoint.

    Parameters
    ----------
    service
        The open components of the process.
    endpoint
        The declaration.
    function
        Answers a request that passed all checks.
    """

    def __init__(self, service: ServerState, endpoint: Endpoint, function: EndpointFunction) -> None:
        self.endpoint: Final = endpoint
        self._service = service
        self._function = function
        self._on_loop = iscoroutinefunction(function)
        self._takes_snapshot = SNAPSHOT in endpoint.parameters

    def route(self) -> HTTPRouteHandler:
        """Return the framework's handler of the path; it accepts OPTIONS only to refuse it, else the framework would answer."""
        path = re.sub(r"{(\w+)}", r"{\1:str}", self.endpoint.path)

        async def answer() -> Response:
            # No arguments: the framework would validate them for every request.
            request: Request = CURRENT_REQUEST.get()
            if request.scope["method"] != HttpMethod.GET:
                raise MethodNotAllowedException
            request.endpoint = self.endpoint.id
            request.path, request.query_string = request.scope["path_params"], request.scope["query_string"]
            try:
                return await self._check(request)
            except (Exception, PanicException) as error:  # noqa: BLE001 - no unforeseen failure may leak
                return failure_response(error, request)

        methods = [HttpMethod.GET, HttpMethod.OPTIONS]
        return route(path, http_method=methods, name=self.endpoint.id)(answer)

    async def _check(self, request: Request) -> Response:
        """Check a request and answer it. The order is part of the API: the first failure is reported."""
        if not self.endpoint.public:
            # Key, account, address, limits, endpoint.
            request.caller = caller = await self._service.access.authorize(
                request.headers, request.client, self.endpoint, request
            )
            request.limit_headers, request.raw = caller.headers, caller.expose_raw
        if self.endpoint.allow_list is not AllowListScope.NONE:  # before revealing any fact about the alpha
            of_alphas = self.endpoint.allow_list is AllowListScope.ALPHAS
            allowed = request.caller.alphas if of_alphas else request.caller.runs
            if allowed.mode is not Mode.ALL:
                request.caller.require_alpha(self.endpoint, request.path["alpha"])
        await self._read_parameters(request)
        try:
            await self._resolve(request)
            return await self._answer(request)
        except SnapshotCorrupt:
            for snapshot in request.pinned:  # gc may have removed it since the pointer was last read
                open_fresh = partial(self._service.snapshots.open_fresh, snapshot.alpha_id, snapshot.id)
                await self._service.compute(open_fresh)
            raise

    # The checks

    async def _read_parameters(self, request: Request) -> None:
        """Read the parameters; report all invalid ones at once, and an unknown benchmark or missing book with them."""
        path, query_string = request.path, request.query_string
        try:
            if len(query_string) + sum(map(len, path.values())) > _MAX_REQUEST_BYTES:
                request.values, request.queries = parse(self.endpoint, path, query_string), {}
            else:
                parsed = _parse(self.endpoint.id, tuple(path.items()), query_string)
                request.values, request.queries = parsed
        except InvalidParameters as error:
            raise await self._with_available(request, error) from None

    async def _with_available(self, request: Request, error: InvalidParameters) -> ApiError:
        """Return the refusal of invalid parameters, extended by an unknown benchmark or by the books that the key may read."""
        listed = (error.details or {})["parameters"]
        invalid, known = {entry["name"] for entry in listed}, self._service.market_data.result
        for parameter in self.endpoint.parameters:
            value = error.values.get(parameter.name)
            if parameter in _BENCHMARKS and known and value is not None and request.caller.may_call(PRICES):
                try:
                    require_known(value if isinstance(value, tuple) else (value,), known, parameter)
                except ApiError as unknown:
                    details = unknown.details or {}
                    return refusal([*details["parameters"], *listed], available=details["available"])
            if parameter.kind is ParameterKind.BOOK and parameter.required and parameter.name in invalid:
                served = self._service.snapshots.resolve(request.path["alpha"])
                if served is not None:
                    books = await self._books(request, served, error.values.get(SNAPSHOT.name))
                    return refusal(listed, available=list(books))
        return error

    async def _books(self, request: Request, served: Snapshot, wanted: str | None) -> tuple[str, ...]:
        """Return the books that the key may read, of the snapshot that the request names if it is kept."""
        request.snapshot = served
        if wanted is not None:
            with suppress(SnapshotNotKept):
                await self._pin(request, wanted)
        return await self._service.compute(partial(visible_books, request.snapshot, raw=request.raw))

    async def _resolve(self, request: Request) -> None:
        """Find the snapshot, or the list of alphas, that answers."""
        snapshots = self._service.snapshots
        if self._takes_snapshot:
            alpha = request.path["alpha"]
            request.snapshot = snapshots.resolve(alpha) or snapshots.served(alpha)
            wanted = request.values[SNAPSHOT.name]
            if wanted is not None:
                await self._pin(request, wanted)
        elif self.endpoint.id in _LISTS:
            request.listing = snapshots.listing
            if not request.listing.pointers:
                snapshots.require_known()

    async def _pin(self, request: Request, wanted: str) -> None:
        """Use the snapshot that the request names in place of the served one."""
        served = request.snapshot
        if wanted != served.id:
            find = partial(self._service.snapshots.find_pinned, served.alpha_id, wanted)
            request.snapshot = await self._service.compute(find)
            request.pinned = (request.snapshot,)

    # The answer

    async def _answer(self, request: Request) -> Response:
        request.caching = self.endpoint.caching
        if isinstance(self._function, PageEndpoint):
            return await self._page(request, self._function)
        if isinstance(self._function, ComputedOnce):
            answer: Answer = await self._computed_once(request, self._function)
        else:
            work: Callable[[], Any] = partial(self._function, self._service, request)
            answer = await (work() if self._on_loop else self._service.compute(work))
        content = answer_body(answer, request)
        coding = negotiate(request.headers.get(b"accept-encoding"))
        respond = partial(answer_response, answer, content, coding, request)
        if coding == IDENTITY or len(content) <= IMMEDIATE_BYTES:
            return respond()
        return await self._service.compute(respond)

    async def _computed_once(self, request: Request, function: ComputedOnce) -> Single:
        """Return an object from the cache, or compute it on a thread."""
        service, snapshot, caller = self._service, request.snapshot, request.caller
        rights = (caller.callable_ids, caller.alphas, caller.runs, request.raw)
        name = (self.endpoint.id, snapshot.published_at, *request.values.items(), *rights)

        def compute() -> Single:
            answer = function.answer(service, request)
            content = orjson.dumps(answer.data)
            answer = replace(answer, data=orjson.Fragment(content))
            if all(x["code"] != BLOCK_ERROR for x in answer.warnings):  # the error may be temporary
                service.bodies.put(snapshot.key, name, answer, len(content) + OVERHEAD)
            return answer

        cached: Single | None = service.bodies.get(snapshot.key, name)
        return await service.compute(compute) if cached is None else cached

    async def _page(self, request: Request, function: PageEndpoint) -> Response:
        """Answer with a cached body, else build one from rows in memory, else from rows that a thread reads."""
        service, snapshot = self._service, request.snapshot if self._takes_snapshot else None
        if_none_match = request.headers.get(b"if-none-match")
        coding = negotiate(request.headers.get(b"accept-encoding"))
        query, tag = self._query(request, function)
        if if_none_match is not None and snapshot is not None:
            etag = entity_tag(tag, coding)
            if matches(if_none_match, etag, exists=False):
                return not_modified(etag, request)
        body = service.bodies.get(query.snapshot, (tag, coding))
        if body is not None:
            return body_response(body, request)

        owner = request.listing if snapshot is None else snapshot
        # A page cut from rows in memory costs little, so it is cached once it is requested again.
        page, put = service.pages[function.source](query, owner), service.bodies.put_if_repeated
        if not isinstance(page, PageResult):
            page, put = await service.compute(page), service.bodies.put
        meta = {} if function.meta is None else function.meta(request, query)
        content = page_body(query, page, snapshot, meta)
        large = coding != IDENTITY and len(content) > IMMEDIATE_BYTES
        # The query of a list of alphas depends on more than the caller may see, so that page's tag is a digest of its bytes.
        encode = partial(encode_page, None if snapshot is None else tag, coding, content)
        body = await service.compute(encode) if large else encode()
        put(query.snapshot, (tag, coding), body, len(body.content) + OVERHEAD)
        return body_response(body, request)

    def _query(self, request: Request, function: PageEndpoint) -> tuple[Any, str]:
        """Return the query of a request, and the tag derived from everything that determines its page.

        Different spellings of a request give the same query, and so share a tag.
        """
        queries, caller, build = request.queries, request.caller, self._service.build
        view: tuple[object, ...]
        if self._takes_snapshot:
            snapshot = request.snapshot
            # A snapshot that was removed and published again has the same id and another time.
            view = (snapshot.key, snapshot.published_at)
        else:
            view = (request.listing.edition, caller.alphas, caller.runs, caller.callable_ids)
        view = (*view, request.raw, build)
        known = queries.get(view)
        if known is not None:
            return known
        query = function.query(request)
        tag = hashlib.sha256(orjson.dumps((self.endpoint.id, build, *query))).hexdigest()[:32]
        if len(queries) >= _MAX_QUERIES:
            queries.clear()
        queries[view] = query, tag
        return query, tag


@lru_cache(_MAX_REQUESTS)
def _parse(
    endpoint_id: str, path: tuple[tuple[str, str], ...], query_string: bytes
) -> tuple[Values, Queries]:
    return parse(ENDPOINTS[endpoint_id], dict(path), query_string), {}

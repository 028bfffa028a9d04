"""The checks of every request, in their one order, and the answer.

A request is handled in two halves. :meth:`EndpointHandler.begin` never waits: it returns the response where everything it
takes lies in memory, and otherwise what has to be waited for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from polars.exceptions import PanicException

from schemas.endpoint import AllowListScope, Endpoint
from schemas.errors import AlphaNotPublished, ApiError, SnapshotCorrupt, SnapshotNotKept
from schemas.parameters import SNAPSHOT, SYMBOL_PATH, ParameterKind
from serve.auth.allow_list import Mode
from serve.auth.tokens import Credentials
from serve.cache.bodies import coded
from serve.compute import CallerLeft
from serve.http import envelope
from serve.http.answer import Answer, EndpointFunction, PageEndpoint, Pending
from serve.http.encoding import IDENTITY, IMMEDIATE_BYTES, negotiate
from serve.http.errors import as_api_error
from serve.http.params import parse_query, refusal
from serve.http.request import ANSWERED, Request
from serve.http.responses import (
    CALLER_LEFT,
    Response,
    failed,
    left_unanswered,
    matches,
    not_modified,
    object_body,
    object_response,
    page_response,
    quoted,
    tag_of_body,
    tag_of_query,
)
from serve.pages.page_query import Found
from serve.pages.readable_books import visible_books

if TYPE_CHECKING:
    from serve.state import ServerState

_LIST: Final = "catalog.alphas.list"
"""The endpoint whose pages the catalogue determines."""

Begun: TypeAlias = Response | Pending[Response]
_Step: TypeAlias = Response | Pending[Any]
"""What a check comes to: the response, or what has to be waited for, which is another step."""


class EndpointHandler:
    """Handles the requests to one endpoint.

    Parameters
    ----------
    service
        What answers are made with.
    endpoint
        The declaration.
    function
        The endpoint's own part: asked only when every check before it has passed.
    """

    def __init__(self, service: ServerState, endpoint: Endpoint, function: EndpointFunction) -> None:
        self.endpoint: Final = endpoint
        self._service = service
        self._function = function
        self._takes_snapshot = SNAPSHOT in endpoint.parameters

    # The two halves

    def begin(self, request: Request) -> Begun:
        """Respond to a request, or return what has to be waited for; never waits and never raises."""
        request.endpoint = self.endpoint.id
        try:
            if self.endpoint.public:
                step = self._authorized(request)
            elif self._service.access.is_local:
                request.caller = self._service.access.authorize_now(
                    Credentials.of(request.headers), request.client, self.endpoint, request
                )
                step = self._authorized(request)
            else:
                step = Pending(partial(self._authorize, request))
        except (Exception, PanicException) as error:  # noqa: BLE001 - the last line: nothing of an unforeseen failure may leak
            return self._failed(request, error)
        return Pending(partial(self._finish, request, step.wait)) if isinstance(step, Pending) else step

    async def _finish(self, request: Request, wait: Callable[[], Awaitable[_Step]]) -> Response:
        """Wait for the rest of what was begun; never raises."""
        ANSWERED.set(request)
        try:
            step = await self._unless_collected(request, wait)
            while isinstance(step, Pending):
                step = await self._unless_collected(request, step.wait)
        except (Exception, PanicException) as error:  # noqa: BLE001 - as above
            return self._failed(request, error)
        return step

    async def _unless_collected(self, request: Request, wait: Callable[[], Awaitable[_Step]]) -> _Step:
        try:
            return await wait()
        except SnapshotCorrupt:
            if request.pinned:  # gc may have removed it since the pointer was read last
                await self._look_for(request)
            raise

    def _failed(self, request: Request, error: BaseException) -> Response:
        if isinstance(error, CallerLeft):
            request.code = CALLER_LEFT
            return left_unanswered()
        if request.snapshot is not None:
            self._service.damage.note(request.snapshot.pointer, error)
        known = as_api_error(error, request)
        request.code = known.code
        return failed(known, request.id, request.answer_headers)

    # The checks

    async def _authorize(self, request: Request) -> _Step:
        request.caller = await self._service.access.authorize(
            Credentials.of(request.headers), request.client, self.endpoint, request
        )
        return self._authorized(request)

    def _authorized(self, request: Request) -> _Step:
        """Go on with a request whose key may call the endpoint."""
        if self.endpoint.allow_list is not AllowListScope.NONE:
            # Before any parameter is judged: what a key may not read, it is told nothing else about.
            caller, alpha_id = request.caller, request.path["alpha"]
            assert caller is not None
            allowed = caller.alphas if self.endpoint.allow_list is AllowListScope.ALPHAS else caller.runs
            if allowed.mode is not Mode.ALL:
                caller.require(self.endpoint, alpha_id)
        try:
            request.parsed = parse_query(self.endpoint, request.path, request.query_string)
        except ApiError as error:
            return self._refused(request, error)
        if self._takes_snapshot:
            self._resolve(request)
            wanted = request.parsed.values[SNAPSHOT.name]
            if wanted is not None and not self._is_pinned(request, wanted):
                return Pending(partial(self._open_pinned, request, wanted))
        elif self.endpoint.id == _LIST:
            request.listing = self._service.snapshots.listing
            if not request.listing.pointers:
                self._service.snapshots.require_known()
        return self._respond(request)

    def _refused(self, request: Request, error: ApiError) -> _Step:
        """Refuse broken parameters: an unknown benchmark with the others, and the books beside a missing one."""
        if SYMBOL_PATH in self.endpoint.parameters and error.details is not None:
            also = self._service.market_data.refusal(request.path[SYMBOL_PATH.name])
            if also is not None and also.details is not None:
                listed = [*also.details["parameters"], *error.details["parameters"]]
                both = refusal(listed)
                error = ApiError(both.code, both.message, {**also.details, "parameters": listed})
        named = {entry["name"] for entry in (error.details or {}).get("parameters", ())}
        if any(
            x.kind is ParameterKind.BOOK and x.required and x.name in named for x in self.endpoint.parameters
        ):
            return Pending(partial(self._refused_with_books, request, error))
        raise error

    async def _refused_with_books(self, request: Request, error: ApiError) -> _Step:
        snapshot = self._service.snapshots.resolve(request.path["alpha"])
        if snapshot is None:
            raise error
        books = await self._service.compute(partial(visible_books, snapshot, raw=request.raw))
        raise ApiError(error.code, error.message, {**(error.details or {}), "available": list(books)})

    def _resolve(self, request: Request) -> None:
        """Find the alpha's snapshot."""
        request.snapshot = self._service.snapshots.resolve(request.path["alpha"])
        if request.snapshot is None:
            self._service.snapshots.require_known(request.path["alpha"])
            raise self._no_alpha()

    def _no_alpha(self) -> ApiError:
        code = "run_not_found" if self.endpoint.allow_list is AllowListScope.RUNS else "alpha_not_found"
        return ApiError(code, "There is no alpha at this address.")

    def _is_pinned(self, request: Request, wanted: str) -> bool:
        """Find the snapshot that is asked for by its id, if that takes no reading."""
        served = request.snapshot
        try:
            found = self._service.snapshots.pinned(request.path["alpha"], wanted)
        except SnapshotNotKept:
            return False
        except AlphaNotPublished:  # withdrawn this very moment
            raise self._no_alpha() from None
        if found is None:
            return False
        request.snapshot, request.pinned = found, found is not served
        return True

    async def _open_pinned(self, request: Request, wanted: str) -> _Step:
        """Read the snapshot that is asked for by its id, and go on."""
        snapshots, alpha_id, served = self._service.snapshots, request.path["alpha"], request.snapshot
        try:
            request.snapshot = await self._service.compute(partial(snapshots.open_pinned, alpha_id, wanted))
        except SnapshotNotKept:
            # Another worker may have seen a newer one already, and told the caller of it.
            await self._look_for(request)
        except AlphaNotPublished:
            raise self._no_alpha() from None
        request.pinned = request.snapshot is not served
        return self._respond(request)

    async def _look_for(self, request: Request) -> None:
        """Find the snapshot that is asked for by its id, by the pointer as it is now."""
        look = self._service.snapshots.look_for
        work = partial(look, request.path["alpha"], request.values[SNAPSHOT.name])
        try:
            request.snapshot = await self._service.compute(work)
        except SnapshotNotKept as error:
            message = "This run has no such snapshot, or it was removed."
            raise ApiError("snapshot_not_found", message, {"current": error.current}) from None
        except AlphaNotPublished:
            raise self._no_alpha() from None

    # The answer

    def _respond(self, request: Request) -> _Step:
        if isinstance(self._function, PageEndpoint):
            return self._page(request, self._function)
        answer = self._function(self._service, request)
        if isinstance(answer, Pending):
            return Pending(partial(self._when_answered, request, answer.wait))
        return self._answered(request, answer)

    async def _when_answered(self, request: Request, wait: Callable[[], Awaitable[Answer]]) -> _Step:
        return self._answered(request, await wait())

    def _answered(self, request: Request, answer: Answer) -> _Step:
        coding = negotiate(request.headers.get(b"accept-encoding"))
        pieces = object_body(request, self.endpoint, answer)
        respond = partial(object_response, request, self.endpoint, answer, pieces, coding)
        if (
            coding == IDENTITY
            or sum(map(len, pieces)) <= IMMEDIATE_BYTES
            or self.endpoint.public  # a probe never waits for a thread
        ):
            return respond()
        return Pending(partial(self._service.compute, respond))

    def _page(self, request: Request, function: PageEndpoint) -> _Step:
        """Answer with a finished body, else with one made of rows in memory, else of what a thread reads."""
        service, caller = self._service, request.caller
        assert caller is not None, "pages are of authorized callers"
        headers = caller.headers
        wanted = request.headers.get(b"if-none-match")
        coding = negotiate(request.headers.get(b"accept-encoding"))
        query, tag = self._query(request, function)
        if wanted is not None and not function.tag_by_body and matches(wanted, quoted(tag, coding)):
            return not_modified(quoted(tag, coding), headers)
        body = service.bodies.get(query.snapshot, (tag, coding))
        if body is not None:
            return page_response(body, headers, wanted)

        source = getattr(service, function.source)
        made_from = request.snapshot or request.listing
        found = source.cached(query, made_from)
        if found is not None and (coding == IDENTITY or found.rows.size <= IMMEDIATE_BYTES):
            return self._of_found(request, function, (query, tag, coding), found, in_memory=True)

        def work() -> Response:
            rows = source.load(query, made_from) if found is None else found
            return self._of_found(request, function, (query, tag, coding), rows, in_memory=False)

        return Pending(partial(service.compute, work))

    def _query(self, request: Request, function: PageEndpoint) -> tuple[Any, str]:
        """Return what a request asks for, and the tag of that."""
        parsed, caller, snapshot, listing = request.parsed, request.caller, request.snapshot, request.listing
        assert parsed is not None
        assert caller is not None
        build = self._service.build
        if snapshot is not None:
            # A snapshot that was removed, built and published once more has the same id, and tells another time.
            view: tuple[object, ...] = (snapshot.key, snapshot.published_at, caller.expose_raw, build)
        else:
            assert listing is not None
            view = (
                listing.edition,
                caller.alphas,
                caller.runs,
                caller.callable_ids,
                caller.expose_raw,
                build,
            )
        known = parsed.queries.get(view)
        if known is not None:
            return known
        query = function.query(request)
        tag = tag_of_query(self.endpoint.id, query, build)
        parsed.remember(view, query, tag)
        return query, tag

    def _of_found(
        self,
        request: Request,
        function: PageEndpoint,
        named: tuple[Any, str, str],
        found: Found,
        *,
        in_memory: bool,
    ) -> Response:
        """Make the response of what was found, and cache its body where that pays.

        Parameters
        ----------
        named
            The query, its tag and the content coding.
        """
        query, tag, coding = named
        pieces = envelope.page(query, found, function.meta(request, query, found))
        name = tag_of_body(b"".join(pieces)) if function.tag_by_body else tag
        body = coded(pieces, coding, quoted(name, coding))
        again = self._service.asked_again.note(tag)
        # A page that is made in no time is cached when it is asked for again.
        if again or not in_memory:
            # What is asked once takes room that is free; only what is asked again pushes others out.
            self._service.bodies.put(query.snapshot, (tag, coding), body.copied(), body.bytes, evict=again)
        return page_response(body, request.the_caller.headers, request.headers.get(b"if-none-match"))

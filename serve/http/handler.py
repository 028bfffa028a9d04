"""The way of every request, in the one order of its checks."""

from __future__ import annotations

import errno
import inspect
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, cast

import structlog
from polars.exceptions import PanicException

from datasets.listing import Listing
from datasets.snapshot import Snapshot
from schemas.endpoints import Endpoint, Gate, Shape
from schemas.errors import (
    AlphaNotPublished,
    ApiError,
    SnapshotCorrupt,
    SnapshotError,
    SnapshotNotKept,
    StorageUnavailable,
)
from schemas.parameters import SNAPSHOT, SYMBOL_PATH, ParameterKind
from serve.auth.caller import Caller
from serve.auth.credentials import Credentials
from serve.cache.lru import LISTING, SnapshotKey, snapshot_key
from serve.cache.miss import CacheMiss
from serve.http import request as tracing
from serve.http.answer import Answer, Answerer
from serve.http.asgi import Scope
from serve.http.context import Context
from serve.http.encoding import IDENTITY, negotiate
from serve.http.etag import matches, matches_any, quoted, tag_of_request
from serve.http.params import refusal
from serve.http.parsed_query import Question, parse_query
from serve.http.request import RequestInfo
from serve.http.responses import Response, answered, failed, not_modified, page_response
from serve.query.readable_books import visible_books
from serve.state import ServerState

_log = structlog.get_logger("serve.http.handler")
_LIST: Final = "catalog.alphas.list"
"""The endpoint whose pages the catalogue determines."""
_KEPT_WHOLE: Final = frozenset({"performance.metrics"})
"""Endpoints of one object whose answers are kept by their own part."""
_NOTHING: Final = Question({}, {})
"""What a request asks before it was read."""


def make_responder(
    service: ServerState, endpoint: Endpoint, answerer: Answerer
) -> Callable[[Scope], Coroutine[Any, Any, Response]]:
    """Return the function that makes the response to a request for one endpoint; it never raises.

    Parameters
    ----------
    answerer
        The endpoint's own part: called only when every check before it has passed.
    """

    async def respond(scope: Scope) -> Response:
        passage = _RequestHandler(service, endpoint, answerer, scope)
        try:
            return await passage.response()
        except (Exception, PanicException) as error:  # noqa: BLE001 - the last line: nothing of an unforeseen failure may leak
            if passage.snapshot is not None:
                service.damage.note(passage.snapshot.pointer, error)
            known = as_api_error(error, passage.trace)
            passage.trace.code = known.code
            return failed(known, passage.trace.request_id, passage.headers)

    return respond


def as_api_error(error: BaseException, trace: RequestInfo) -> ApiError:
    """Say what a failure is to the caller; whatever is not the caller's doing is logged."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, StorageUnavailable | SnapshotError | PanicException):
        _log.error(
            "published_data_unavailable",
            request_id=trace.request_id,
            endpoint=trace.endpoint,
            kind=type(error).__name__,
            reason=str(error),
        )
        return ApiError("upstream_unavailable", "The results cannot be read for now; try again later.")
    if _is_short_of_descriptors(error):
        _log.error("file_descriptors_exhausted", request_id=trace.request_id, endpoint=trace.endpoint)
        return ApiError("upstream_unavailable", "The results cannot be read for now; try again later.")
    _log.exception("unforeseen_failure", request_id=trace.request_id, endpoint=trace.endpoint)
    return ApiError("internal_error", "Something failed here; quote the request id to the operator.")


def _is_short_of_descriptors(error: BaseException | None) -> bool:
    """Tell whether a failure comes of too many open files, here or on the whole machine: it passes by itself."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
            return True
        error = error.__cause__ or error.__context__
    return False


class _RequestHandler:
    """One request on its way through the checks."""

    def __init__(self, service: ServerState, endpoint: Endpoint, answerer: Answerer, scope: Scope) -> None:
        self.service = service
        self.endpoint = endpoint
        self.answerer = answerer
        self.scope = scope
        self.path: Mapping[str, str] = scope["path_params"]
        self.trace = tracing.of(scope)
        self.trace.endpoint = endpoint.id
        self.caller: Caller | None = None
        self.question: Question = _NOTHING
        self.snapshot: Snapshot | None = None
        self.listing: Listing | None = None
        self.pinned = False
        """Whether the snapshot is another than the one served."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What is sent with any answer, errors included: the state of the caller's limits."""
        return {} if self.caller is None else self.caller.headers

    async def response(self) -> Response:
        """Run the checks in their order, then answer."""
        if not self.endpoint.public:
            await self._admit()
        if self.endpoint.gate is not Gate.NONE:
            # Before any parameter is judged: what a key may not read, it is told nothing else about.
            self._authorise()
        await self._read_parameters()
        values = self.question.values
        if SNAPSHOT.name in values:
            self._resolve()
            if values[SNAPSHOT.name] is not None:
                await self._pin(values[SNAPSHOT.name])
        elif self.endpoint.id == _LIST:
            self.listing = self.service.snapshots.listing
            if not self.listing.pointers:
                self.service.snapshots.require_known()
        try:
            return await self._answer()
        except SnapshotCorrupt:
            if self.pinned:  # gc may have removed it since the pointer was read last
                await self._look_for(values[SNAPSHOT.name])
            raise

    async def _admit(self) -> None:
        """The key, its account, the caller's address, rate and quota, the endpoint allow-list."""
        client = self.scope["client"][0] if self.scope.get("client") else None
        self.caller = await self.service.access.admit(
            Credentials.of(self.trace.headers), client, self.endpoint, self._recognised
        )

    def _recognised(self, key_id: str) -> None:
        self.trace.key_id = key_id

    async def _read_parameters(self) -> None:
        try:
            self.question = parse_query(self.endpoint, self.path, self.scope["query_string"])
        except ApiError as error:
            raise await self._with_books(self._with_symbol(error)) from None

    def _with_symbol(self, error: ApiError) -> ApiError:
        """Refuse an unknown benchmark together with the other parameters."""
        known = SYMBOL_PATH not in self.endpoint.parameters
        refused = None if known else self.service.market_data.refusal(self.path[SYMBOL_PATH.name])
        if refused is None or refused.details is None or error.details is None:
            return error
        listed = [*refused.details["parameters"], *error.details["parameters"]]
        both = refusal(listed)
        return ApiError(both.code, both.message, {**refused.details, "parameters": listed})

    async def _with_books(self, error: ApiError) -> ApiError:
        """List the books beside the refusal of a missing one; the caller may read the run."""
        details = error.details or {}
        named = {entry["name"] for entry in details.get("parameters", ())}
        missing = any(
            p.kind is ParameterKind.BOOK and p.required and p.name in named for p in self.endpoint.parameters
        )
        if not missing or self.caller is None:
            return error
        snapshot = self.service.snapshots.resolve(self.path["alpha"])
        if snapshot is None:
            return error
        readable = partial(visible_books, snapshot, raw=self.caller.expose_raw)
        available = list(await self.service.compute(readable))
        return ApiError(error.code, error.message, {**details, "available": available})

    def _authorise(self) -> None:
        """Whether the key may read the alpha; whether there is one is not asked."""
        assert self.caller is not None
        self.caller.require(self.endpoint, self.path["alpha"])

    def _resolve(self) -> None:
        """Whether there is such an alpha."""
        self.snapshot = self.service.snapshots.resolve(self.path["alpha"])
        if self.snapshot is None:
            self.service.snapshots.require_known(self.path["alpha"])
            raise self._no_alpha()

    def _no_alpha(self) -> ApiError:
        code = "run_not_found" if self.endpoint.gate is Gate.RUNS else "alpha_not_found"
        return ApiError(code, "There is no alpha at this address.")

    async def _pin(self, wanted: str) -> None:
        """Answer from the snapshot that is asked for by its id."""
        snapshots, alpha_id = self.service.snapshots, self.path["alpha"]
        served = self.snapshot
        try:
            self.snapshot = snapshots.pinned(alpha_id, wanted)
            if self.snapshot is None:
                self.snapshot = await self.service.compute(partial(snapshots.open_pinned, alpha_id, wanted))
        except SnapshotNotKept:
            # Another worker may have seen a newer one already, and told the caller of it.
            self.snapshot = await self._look_for(wanted)
        except AlphaNotPublished:  # withdrawn this very moment
            raise self._no_alpha() from None
        self.pinned = self.snapshot is not served

    async def _look_for(self, wanted: str) -> Snapshot:
        try:
            return await self.service.compute(
                partial(self.service.snapshots.look_for, self.path["alpha"], wanted)
            )
        except SnapshotNotKept as error:
            message = "This run has no such snapshot, or it is no longer kept."
            raise ApiError("snapshot_not_found", message, {"current": error.current}) from None
        except AlphaNotPublished:
            raise self._no_alpha() from None

    async def _answer(self) -> Response:
        wanted = self.trace.header(b"if-none-match")
        coding = negotiate(self.trace.header(b"accept-encoding"))
        owner = self._owner()
        tag = None if owner is None else self._tag_beforehand(owner)
        # The tag of a list of alphas is that of its body, for what else it is made from the caller may not see.
        named = tag if self.listing is None else None
        if wanted is not None and named is not None and matches(wanted, quoted(named, coding)):
            return not_modified(quoted(named, coding), self.headers)
        if tag is not None and owner is not None:
            finished = self.service.bodies.get(owner, (tag, coding))
            if finished is not None:
                response = page_response(finished, finished.tag or tag, coding, self.headers)
                return self._unless_held_by_caller(response, wanted)
        encode = partial(answered, owner=owner, tag=tag, coding=coding, headers=self.headers)
        hurried = self._context(hurried=True)
        answer = self._at_hand(hurried)
        if answer is not None and coding == IDENTITY:
            return self._unless_held_by_caller(encode(hurried, answer), wanted)
        context = self._context()
        if answer is not None:
            # Cutting a page is nothing; packing a large one is.
            response = await self.service.compute(partial(encode, context, answer))
        elif inspect.iscoroutinefunction(self.answerer):
            response = encode(context, await self.answerer(context))
        else:
            response = await self.service.compute(
                lambda: encode(context, cast(Answer, self.answerer(context)))
            )
        return self._unless_held_by_caller(response, wanted)

    def _context(self, *, hurried: bool = False) -> Context:
        return Context(
            self.service,
            self.endpoint,
            self.question.values,
            self.trace.request_id,
            self.caller,
            self.snapshot,
            hurried,
            self.listing,
        )

    def _at_hand(self, context: Context) -> Answer | None:
        """Ask the route to answer from memory; None when it cannot, or when nothing of the snapshot was read yet."""
        known = self.listing is not None or (self.snapshot is not None and self.snapshot.opened)
        from_memory = self.endpoint.shape is Shape.COLLECTION or self.endpoint.id in _KEPT_WHOLE
        if not known or not from_memory:
            return None
        try:
            return cast(Answer, self.answerer(context))
        except CacheMiss:
            return None

    def _unless_held_by_caller(self, response: Response, wanted: str | None) -> Response:
        etag = None if wanted is None else response.headers.get("etag")
        if etag is not None and (matches(wanted, etag) or matches_any(wanted)):
            return not_modified(etag, self.headers)
        return response

    def _owner(self) -> SnapshotKey | None:
        """Return what a page is made from, where that and the request determine it."""
        if self.listing is not None:
            return LISTING, self.listing.edition
        if self.snapshot is not None and self.endpoint.shape is Shape.COLLECTION:
            return snapshot_key(self.snapshot)
        return None

    def _tag_beforehand(self, owner: SnapshotKey) -> str:
        """Name a page before it is made."""
        assert self.caller is not None
        alphas = None if self.listing is None else self.caller.alphas
        build = self.service.build
        # A snapshot that was removed, built and published once more has the same id, and tells another time.
        published = "" if self.snapshot is None else self.snapshot.published_at
        name = (owner, published, self.caller.expose_raw, alphas, build)
        tag = self.question.names.get(name)
        if tag is None:
            view: dict[str, Any] = {"raw": self.caller.expose_raw}
            if alphas is not None:
                view["alphas"] = alphas.to_json()
            tag = tag_of_request(
                snapshot="/".join((*owner, published)),
                endpoint=self.endpoint.id,
                # Named or served, a snapshot answers the same.
                values={k: v for k, v in self.question.values.items() if k != SNAPSHOT.name},
                view=view,
                build=build,
            )
            self.question.call(name, tag)
        return tag

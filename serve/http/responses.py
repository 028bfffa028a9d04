"""What an endpoint returns, the JSON body it becomes, and the HTTP response: status, headers, entity tag, coding."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final, NamedTuple, Self, TypeAlias, TypeVar

import orjson

from datasets.snapshot import Snapshot
from schemas.endpoint import Endpoint
from schemas.warning_codes import by_member, warning
from serve.http.request import SCOPE, Receive, Request, Scope, Send
from serve.pages.bodies import IDENTITY, Body, coded, entity_tag, tag_of_body
from serve.pages.json import Rows, now
from serve.pages.query import PageResult, UnknownSymbol
from serve.state import ServerState

T = TypeVar("T")
PRIVATE: Final = "private, no-cache"
"""Answers depend on the key, and must be revalidated each time, which the entity tag makes cheap."""
_MAX_SYMBOLS: Final = 10
"""Unknown symbols named one by one."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a collection that is made anew for each request.

    Attributes
    ----------
    rows
        The page.
    meta
        The same in two calls for the same page: the body has an entity tag.
    """

    rows: Rows
    meta: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        items: Sequence[T],
        values: Mapping[str, Any],
        meta: Mapping[str, Any],
        row: Callable[[T], Mapping[str, Any]],
    ) -> Self:
        """Return the page of a list by the limit and the offset of a request; `row` shows an item as an object."""
        rows = [row(item) for item in items[values["offset"] : values["offset"] + values["limit"]]]
        return cls(Rows.of(rows, len(items)), meta)


@dataclass(frozen=True, slots=True)
class Single:
    """One object.

    Attributes
    ----------
    source
        Where its content was read.
    cache_control
        The header; by default the answer is private to the key.
    """

    data: Mapping[str, Any]
    source: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Mapping[str, str], ...] = ()
    cache_control: str = PRIVATE

    @classmethod
    def of_run(
        cls, snapshot: Snapshot, data: Mapping[str, Any], warnings: tuple[Mapping[str, str], ...] = ()
    ) -> Self:
        """Return figures of a run, whose meta names the run, the snapshot and the alpha as its seal does."""
        meta = {**run_meta(snapshot), "source_alpha_id": snapshot.manifest.source_alpha_id}
        return cls(data, f"snapshot {snapshot.id}", meta, warnings)


@dataclass(frozen=True, slots=True)
class Bare:
    """An object without an envelope, which nobody may cache."""

    body: Mapping[str, Any]


Answer: TypeAlias = Page | Single | Bare


class PageEndpoint(NamedTuple):
    """An endpoint whose pages are determined by a query alone.

    Attributes
    ----------
    query
        A pure function from a checked request to the hashable query.
    meta
        Members of the page's meta besides those of every page of a run; it may replace some of those.
    source
        The part of the service that answers the query.
    tag_by_body
        Whether the page is tagged by its bytes, because its query tells of more than the caller sees.
    """

    query: Callable[[Request], Any]
    meta: Callable[[Request, Any, PageResult], Mapping[str, Any]] | None = None
    source: str = "tables"
    tag_by_body: bool = False


ObjectEndpoint: TypeAlias = Callable[[ServerState, Request], Awaitable[Answer]]
"""Any other endpoint."""
EndpointFunction: TypeAlias = PageEndpoint | ObjectEndpoint


def computed(answer: Callable[[ServerState, Request], Answer]) -> ObjectEndpoint:
    """Return the endpoint whose answer is made by a function on a compute thread."""

    async def endpoint(service: ServerState, request: Request) -> Answer:
        return await service.compute(partial(answer, service, request))

    return endpoint


def collection(rows: Rows, limit: int, offset: int, meta: Mapping[str, Any]) -> bytes:
    """Assemble the body of a page.

    Parameters
    ----------
    limit, offset
        As applied.
    meta
        Determined by the snapshot and the request alone: the body has an ETag.
    """
    pagination = {
        "limit": limit,
        "offset": offset,
        "returned": rows.returned,
        "total": rows.total,
        "has_more": offset + rows.returned < rows.total,
    }
    pages, about = orjson.dumps(pagination), orjson.dumps(meta)
    return b"".join((b'{"data":[', rows.objects, b'],"pagination":', pages, b',"meta":', about, b"}"))


def page_body(query: Any, page: PageResult, snapshot: Snapshot | None, meta: Mapping[str, Any]) -> bytes:
    """Assemble the page of a query: a pure function of the snapshot, the query and the key's view.

    Parameters
    ----------
    query
        Of it the limit and the offset.
    snapshot
        None for the list of alphas, whose meta names no run.
    meta
        Members besides those of every page of a run.
    """
    if snapshot is not None:
        meta = {**run_meta(snapshot), **meta}
    warnings = [kind_missing(kind) for kind in page.missing]
    if page.unknown:
        warnings.append(unknown_symbols(page.unknown))
    if warnings:
        meta = {**meta, **by_member(warnings)}
    return collection(page.rows, query.limit, query.offset, meta)


def run_meta(snapshot: Snapshot, alpha_id: str | None = None) -> dict[str, Any]:
    """Return what the meta of every answer about a run says.

    Parameters
    ----------
    alpha_id
        The label it gives to the source; by default that of the seal.
    """
    return {
        "run": snapshot.alpha_id,
        "alpha_id": snapshot.manifest.source_alpha_id if alpha_id is None else alpha_id,
        "snapshot": snapshot.id,
        "published_at": snapshot.published_at,
        **({} if snapshot.manifest.sealed_by is None else {"sealed_by": snapshot.manifest.sealed_by}),
    }


def answer_body(answer: Answer, values: Mapping[str, Any], request_id: str | None) -> bytes:
    """Assemble the body of an answer of an endpoint that is not of cached pages, as it is before it is encoded.

    Parameters
    ----------
    values
        Parameters of the request; of them the limit and the offset of a page.
    request_id
        None leaves out of an object what differs between two calls: the request's name and the time.
    """
    if isinstance(answer, Page):
        return collection(answer.rows, values["limit"], values["offset"], answer.meta)
    if isinstance(answer, Bare):
        return orjson.dumps(answer.body)
    meta = {**answer.meta, **(by_member(answer.warnings) if answer.warnings else {})}
    of_the_call = {} if request_id is None else {"request_id": request_id, "generated_at": now()}
    return orjson.dumps({"data": answer.data, "meta": {**meta, **of_the_call, "source": answer.source}})


def kind_missing(kind: str) -> dict[str, str]:
    """Return the warning of a page that is empty because the run holds no such data."""
    return warning("kind_missing", f"The run holds no {kind} data for this request.", kind=kind)


def unknown_symbols(unknown: Sequence[UnknownSymbol]) -> dict[str, str]:
    """Return the notice that names symbols the run never had: they are more often misspelt than meant."""
    named = [
        x.requested if x.nearest is None else f"{x.requested} (did you mean {x.nearest}?)"
        for x in unknown[:_MAX_SYMBOLS]
    ]
    if len(unknown) > _MAX_SYMBOLS:
        named.append(f"{len(unknown) - _MAX_SYMBOLS} more")
    return warning("unknown_symbol", f"The run never scored or traded {', '.join(named)}.")


# Responses


@cache
def _encoded(name: str) -> bytes:
    return name.lower().encode("ascii")


class Response:
    """A response; all bodies are JSON.

    Parameters
    ----------
    status, body
        As they are sent.
    headers
        Besides those that follow from the body.
    shared
        Whether a shared cache may keep it: then it must not name the call that fetched it.
    """

    __slots__ = ("body", "headers", "shared", "status")

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str], *, shared: bool = False) -> None:
        self.status = status
        self.body = body
        self.headers = headers
        self.shared = shared

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Hand it to the server."""
        scope[SCOPE].shared = self.shared
        headers = [(_encoded(name), value.encode("latin-1")) for name, value in self.headers.items()]
        if self.status != 304:
            headers += [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(self.body)),
            ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


def not_modified(etag: str, headers: Mapping[str, str]) -> Response:
    """Return the 304 of a page the caller has already."""
    sent = {**headers, "etag": etag, "cache-control": PRIVATE, "vary": "Accept-Encoding"}
    return Response(304, b"", sent)


def page_response(body: Body, headers: Mapping[str, str], if_none_match: bytes | None) -> Response:
    """Return the response that carries a page's finished body, or the 304 for a caller who has it already."""
    if if_none_match is not None and (matches(if_none_match, body.etag) or matches_any(if_none_match)):
        return not_modified(body.etag, headers)
    sent = {**headers, "vary": "Accept-Encoding", "cache-control": PRIVATE, "etag": body.etag}
    if body.coding != IDENTITY:
        sent["content-encoding"] = body.coding
    return Response(200, body.content, sent)


def object_response(
    request: Request, endpoint: Endpoint, answer: Answer, content: bytes, coding: str
) -> Response:
    """Return the response that carries the body of an answer, encoded here; a page is tagged by its bytes.

    Parameters
    ----------
    content
        The body, as :func:`answer_body` assembled it.
    """
    if isinstance(answer, Page):
        body = coded(content, coding, entity_tag(tag_of_body(content), coding))
        return page_response(body, request.limit_headers, request.headers.get(b"if-none-match"))
    body = coded(content, coding)
    sent = {**({} if endpoint.shared else request.limit_headers), "vary": "Accept-Encoding"}
    sent["cache-control"] = "no-store" if isinstance(answer, Bare) else answer.cache_control
    if body.coding != IDENTITY:
        sent["content-encoding"] = body.coding
    return Response(200, body.content, sent, shared=endpoint.shared)


def matches(if_none_match: bytes | None, etag: str) -> bool:
    """Whether an ``If-None-Match`` header names this entity tag, weakly compared; ``*`` does not count.

    ``*`` matches any existing answer, which is only known once it is made; see :func:`matches_any`.
    """
    if if_none_match is None:
        return False
    given = if_none_match.decode("latin-1")
    return etag.removeprefix("W/") in (item.strip().removeprefix("W/") for item in given.split(","))


def matches_any(if_none_match: bytes | None) -> bool:
    """Whether the header asks for any representation at all."""
    return if_none_match is not None and if_none_match.strip() == b"*"

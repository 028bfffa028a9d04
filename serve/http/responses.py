"""Results of endpoints: JSON body, entity tag, content coding and HTTP response."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, Self, TypeAlias, TypeVar

import orjson
from isal import isal_zlib

from datasets.snapshot import Snapshot
from schemas.endpoint import Caching
from schemas.warning_codes import by_member, warning
from serve.http.request import Receive, Request, Scope, Send
from serve.pages.query import PageResult, Rows, UnknownSymbol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

T = TypeVar("T")
_MAX_SYMBOLS: Final = 10
"""Maximum number of unknown symbols named one by one."""
IDENTITY: Final = "identity"
CODINGS: Final = ("zstd", "gzip")
"""In ascending order of cost, which decides between equally preferred codings."""
MIN_ENCODED_BYTES: Final = 1024
"""Smaller bodies are not compressed: the saving would be less than a packet."""
IMMEDIATE_BYTES: Final = 1 << 18
"""Bodies up to this size are compressed on the current thread: switching to a compute thread costs about as much."""
OVERHEAD: Final = 400
"""Memory of an entry besides its body, in bytes."""
_LEVEL: Final = 1
"""Compression level of both codings."""
_GZIP: Final = 31
"""zlib's window size with a gzip header."""
_QVALUE: Final = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z")


# Answers of endpoints


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a collection that is built for each request.

    Attributes
    ----------
    rows
        The page.
    meta
        Equal for equal requests, because the body has an entity tag.
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
        """Return a page of a list by the limit and the offset of a request; `row` converts an item to an object."""
        rows = [row(item) for item in items[values["offset"] : values["offset"] + values["limit"]]]
        return cls(Rows.of(rows, len(items)), meta)


@dataclass(frozen=True, slots=True)
class Single:
    """One object.

    Attributes
    ----------
    data
        The object, or its JSON.
    source
        Origin of the data, for ``meta.source``.
    """

    data: Mapping[str, Any] | orjson.Fragment
    source: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Mapping[str, str], ...] = ()

    @classmethod
    def of_run(
        cls, snapshot: Snapshot, data: Mapping[str, Any], warnings: tuple[Mapping[str, str], ...] = ()
    ) -> Self:
        """Return figures of a run; the meta names the run, the snapshot and the alpha id of its seal."""
        meta = {**run_meta(snapshot), "source_alpha_id": snapshot.manifest.source_alpha_id}
        return cls(data, f"snapshot {snapshot.id}", meta, warnings)


@dataclass(frozen=True, slots=True)
class Bare:
    """An object without an envelope."""

    body: Mapping[str, Any]


Answer: TypeAlias = Page | Single | Bare


# Bodies


def collection(rows: Rows, limit: int, offset: int, meta: Mapping[str, Any]) -> bytes:
    """Assemble the body of a page.

    Parameters
    ----------
    limit, offset
        Limit and offset of the page.
    meta
        Determined by the snapshot and the request alone, because the body has an ETag.
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


def answer_body(answer: Answer, request: Request) -> bytes:
    """Assemble the body of an answer that is not a cached page."""
    if isinstance(answer, Page):
        return collection(answer.rows, request.values["limit"], request.values["offset"], answer.meta)
    if isinstance(answer, Bare):
        return orjson.dumps(answer.body)
    meta = {**answer.meta, **(by_member(answer.warnings) if answer.warnings else {})}
    if request.caching is not Caching.SHARED:  # an answer that a shared cache may keep names no request
        meta |= {"request_id": request.id, "generated_at": datetime.now(UTC)}
    body = {"data": answer.data, "meta": {**meta, "source": answer.source}}
    return orjson.dumps(body, option=orjson.OPT_UTC_Z)


def page_body(query: Any, page: PageResult, snapshot: Snapshot | None, meta: Mapping[str, Any]) -> bytes:
    """Assemble the page of a query: a pure function of the snapshot, the query and the key's view.

    Parameters
    ----------
    query
        Has the limit and the offset.
    snapshot
        None for the list of alphas, whose meta names no run.
    meta
        Members that extend or replace those of every page of a run.
    """
    if snapshot is not None:
        meta = {**run_meta(snapshot), **meta, **page.meta}
    warnings = [kind_missing(kind) for kind in page.missing]
    if page.unknown:
        warnings.append(unknown_symbols(page.unknown))
    if warnings:
        meta = {**meta, **by_member(warnings)}
    return collection(page.rows, query.limit, query.offset, meta)


def run_meta(snapshot: Snapshot, alpha_id: str | None = None) -> dict[str, Any]:
    """Return the members that the meta of every answer about a run has.

    Parameters
    ----------
    alpha_id
        Value of ``alpha_id``; by default the alpha id of the seal.
    """
    return {
        "run": snapshot.alpha_id,
        "alpha_id": snapshot.manifest.source_alpha_id if alpha_id is None else alpha_id,
        "snapshot": snapshot.id,
        "published_at": snapshot.published_at,
        **({} if snapshot.manifest.sealed_by is None else {"sealed_by": snapshot.manifest.sealed_by}),
    }


def kind_missing(kind: str) -> dict[str, str]:
    """Return the warning of a page that is empty because the run holds no such data."""
    return warning("kind_missing", f"The run holds no {kind} data for this request.", kind=kind)


def unknown_symbols(unknown: Sequence[UnknownSymbol]) -> dict[str, str]:
    """Return the notice that names symbols the run never had, most of which are misspelt."""
    named = [
        x.requested if x.nearest is None else f"{x.requested} (did you mean {x.nearest}?)"
        for x in unknown[:_MAX_SYMBOLS]
    ]
    if len(unknown) > _MAX_SYMBOLS:
        named.append(f"{len(unknown) - _MAX_SYMBOLS} more")
    return warning("unknown_symbol", f"The run never scored or traded {', '.join(named)}.")


# Codings


@dataclass(frozen=True, slots=True)
class Body:
    """The body of an answer in one content coding.

    Attributes
    ----------
    content
        Bytes as sent.
    coding
        Content coding applied; a small body is not compressed, whatever was negotiated.
    etag
        Entity tag as sent; empty if the body has none.
    """

    content: bytes
    coding: str
    etag: str = ""


def encode_page(tag: str | None, coding: str, content: bytes) -> Body:
    """Encode the body of a page; its entity tag is that of its query, or without one a digest of the body."""
    return encode_body(content, coding, entity_tag(tag or tag_of_body(content), coding))


def tag_of_body(body: bytes) -> str:
    """Return the opaque part of an entity tag made from the bytes of a body."""
    return hashlib.sha256(body).hexdigest()[:32]


def entity_tag(tag: str, coding: str) -> str:
    """Return the ``ETag`` header; each content coding is a separate representation with its own tag.

    Only the tag of the uncompressed body is strong, because another release of a compressor may produce other bytes.
    """
    return f'"{tag}-{coding}"' if coding == IDENTITY else f'W/"{tag}-{coding}"'


def encode_body(content: bytes, coding: str, etag: str = "") -> Body:
    """Apply a negotiated coding to a body."""
    if coding == IDENTITY or len(content) < MIN_ENCODED_BYTES:
        return Body(content, IDENTITY, etag)
    # A copy: the encoder's result keeps all the memory that the encoder reserved.
    return Body(bytes(memoryview(compress(content, coding))), coding, etag)


def compress(body: bytes, coding: str) -> bytes:
    """Apply a coding other than identity; the result is one gzip member or one zstd frame."""
    if coding == "gzip":
        return isal_zlib.compress(body, _LEVEL, _GZIP)
    return zstd.compress(body, _LEVEL)


@lru_cache(maxsize=256)
def negotiate(accept_encoding: bytes | None) -> str:
    """Choose the coding of an answer.

    Parameters
    ----------
    accept_encoding
        The request's header as received; None when there is none.

    Returns
    -------
    str
        A coding of the caller's highest weight, or ``identity``. Items that break the header's grammar are
        omitted, and a caller who accepts none of our codings gets the body uncompressed, not an error.
    """
    weights = _weights((accept_encoding or b"").decode("latin-1"))
    rest = weights.get("*", 0.0)
    offers = [(weights.get(coding, rest), coding) for coding in CODINGS]
    best = max(weight for weight, _ in offers)
    if best <= 0 or best < weights.get(IDENTITY, 0.0):
        return IDENTITY
    return next(coding for weight, coding in offers if weight == best)


def _weights(header: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for item in header.split(","):
        coding, *attributes = (part.strip() for part in item.split(";"))
        weight = 1.0
        for attribute in attributes:
            name, _, value = attribute.partition("=")
            if name.strip().lower() == "q":
                weight = float(value) if _QVALUE.match(value.strip()) else 0.0
        if coding:
            weights[coding.lower()] = weight
    return weights


# Responses


class Response:
    """A response; all bodies are JSON.

    Parameters
    ----------
    status, body
        Status and body as sent.
    headers
        Headers besides content type and length.
    """

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.status = status
        self.body = body
        self.headers = headers

    def to_asgi_response(self, **_: object) -> Self:
        """Return itself, to the framework's handling of exceptions."""
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - the framework names it
        """Send the response."""
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in self.headers.items()]
        if self.status != 304:
            headers += [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(self.body)),
            ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


def answer_response(answer: Answer, content: bytes, coding: str, request: Request) -> Response:
    """Encode the body of an answer that is not a cached page; the entity tag of a page is a digest of its bytes."""
    is_page = isinstance(answer, Page)
    body = encode_page(None, coding, content) if is_page else encode_body(content, coding)
    return body_response(body, request)


def body_response(body: Body, request: Request) -> Response:
    """Return the response with an encoded body, or the 304 for a caller that already has it."""
    if body.etag and matches(request.headers.get(b"if-none-match"), body.etag):
        return not_modified(body.etag, request)
    sent = _headers(request)
    if body.etag:
        sent["etag"] = body.etag
    if body.coding != IDENTITY:
        sent["content-encoding"] = body.coding
    return Response(200, body.content, sent)


def not_modified(etag: str, request: Request) -> Response:
    """Return the 304 for a page that the caller already has."""
    return Response(304, b"", _headers(request) | {"etag": etag})


def _headers(request: Request) -> dict[str, str]:
    of_call = {} if request.caching is Caching.SHARED else request.limit_headers
    return {**of_call, "vary": "Accept-Encoding", "cache-control": request.caching}


def matches(if_none_match: bytes | None, etag: str, *, exists: bool = True) -> bool:
    """Whether an ``If-None-Match`` header names this entity tag, weakly compared.

    ``*`` matches any existing answer; `exists` is False before the answer is computed.
    """
    if if_none_match is None:
        return False
    tags = {item.strip().removeprefix("W/") for item in if_none_match.decode("latin-1").split(",")}
    return etag.removeprefix("W/") in tags or (exists and tags == {"*"})

"""Answers and errors as HTTP responses: status, headers, coded body; and the entity tags, known before any work is done."""

from __future__ import annotations

import errno
import hashlib
import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import orjson
import structlog
from polars.exceptions import PanicException

from schemas.endpoint import Endpoint
from schemas.error_codes import ERROR_CODES
from schemas.errors import ApiError, SnapshotError, StorageUnavailable
from serve.http.answer import PRIVATE, Answer, Bare, Page, failure
from serve.http.request import SCOPE, Receive, Request, Scope, Send
from serve.pages.bodies import IDENTITY, JOINED_BYTES, Body, coded
from serve.pages.json import BodyChunks

_log = structlog.get_logger("serve.http.errors")

CALLER_LEFT: Final = "caller_left"
"""Stands in the log for the code of an answer that nobody waited for any more."""
_CALLER_LEFT_STATUS: Final = 499
RETRY_SECONDS: Final = 2
"""What ``Retry-After`` says of a failure whose length nobody knows."""


@cache
def _encoded(name: str) -> bytes:
    return name.lower().encode("ascii")


class Response:
    """A whole response; all bodies are JSON.

    Parameters
    ----------
    status, body
        As they are sent.
    headers
        Besides those that follow from the body.
    shared
        Whether a shared cache may keep it, so that nothing of the call that fetched it may be in it.
    """

    __slots__ = ("body", "headers", "shared", "size", "status")

    def __init__(
        self, status: int, body: BodyChunks, headers: Mapping[str, str], *, shared: bool = False
    ) -> None:
        self.status = status
        self.body = body
        self.headers = headers
        self.shared = shared
        self.size = sum(map(len, body))

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Hand it to the server, part by part."""
        scope[SCOPE].shared = self.shared
        headers = [(_encoded(name), value.encode("latin-1")) for name, value in self.headers.items()]
        if self.status != 304:
            headers += [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % self.size),
            ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        *first, last = (b"".join(self.body),) if self.size <= JOINED_BYTES else self.body
        for piece in first:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": last, "more_body": False})


def not_modified(etag: str, headers: Mapping[str, str]) -> Response:
    """Return the 304 of a page the caller has already."""
    sent = {**headers, "etag": etag, "cache-control": PRIVATE, "vary": "Accept-Encoding"}
    return Response(304, (), sent)


def page_response(body: Body, headers: Mapping[str, str], if_none_match: bytes | None) -> Response:
    """Return the response that carries a page's finished body, or the 304 for a caller who has it already."""
    if if_none_match is not None and (matches(if_none_match, body.etag) or matches_any(if_none_match)):
        return not_modified(body.etag, headers)
    sent = {**headers, "vary": "Accept-Encoding", "cache-control": PRIVATE, "etag": body.etag}
    if body.coding != IDENTITY:
        sent["content-encoding"] = body.coding
    return Response(200, body.pieces, sent)


def object_response(
    request: Request, endpoint: Endpoint, answer: Answer, pieces: BodyChunks, coding: str
) -> Response:
    """Return the response that carries such a body; large ones are encoded here.

    Parameters
    ----------
    pieces
        Its body.
    """
    if isinstance(answer, Page):
        return _uncached_page(request, pieces, coding)
    shared = endpoint.shared
    sent = {**({} if shared else request.limit_headers), "vary": "Accept-Encoding"}
    sent["cache-control"] = "no-store" if isinstance(answer, Bare) else answer.cache_control
    packed = coded(pieces, coding)
    if packed.coding != IDENTITY:
        sent["content-encoding"] = packed.coding
    return Response(200, packed.pieces, sent, shared=shared)


def _uncached_page(request: Request, pieces: BodyChunks, coding: str) -> Response:
    """Return a page of which nothing was known beforehand: it is tagged by its bytes."""
    etag = quoted(tag_of_body(b"".join(pieces)), coding)
    wanted = request.headers.get(b"if-none-match")
    return page_response(coded(pieces, coding, etag), request.limit_headers, wanted)


def failed(error: ApiError, request_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """Turn an error into its response; a 503 that may pass says when to come back."""
    sent = {**(headers or {}), **error.headers, "cache-control": "no-store"}
    if error.status == 503 and not ERROR_CODES[error.code].permanent:
        sent.setdefault("Retry-After", str(math.ceil(RETRY_SECONDS)))
    return Response(error.status, (failure(error, request_id),), sent)


def left_unanswered() -> Response:
    """Return what is recorded, and never sent, of a request whose caller left before its answer was computed."""
    return Response(_CALLER_LEFT_STATUS, (b"",), {})


def tag_of_query(endpoint: str, query: tuple[Any, ...], build: str) -> str:
    """Name the page of a query by everything that determines it.

    Parameters
    ----------
    endpoint
        Registry id.
    query
        Spellings of one request come to one query, and so share a tag.
    build
        Version of the running program.

    Returns
    -------
    str
        The opaque part of the tag, without quotes.
    """
    return tag_of_body(orjson.dumps((endpoint, build, *query)))


def tag_of_body(body: bytes) -> str:
    """Name an answer by its bytes."""
    return hashlib.sha256(body).hexdigest()[:32]


def quoted(tag: str, coding: str) -> str:
    """Write the header: each content coding is a representation of its own, with a tag of its own.

    Only that of the plain body is strong: another release of a compressor makes other bytes of it.
    """
    return f'"{tag}-{coding}"' if coding == IDENTITY else f'W/"{tag}-{coding}"'


def matches(if_none_match: bytes | None, etag: str) -> bool:
    """Whether an ``If-None-Match`` header names this entity tag, weakly compared; ``*`` does not count.

    ``*`` asks whether anything is there, which is only known once the answer is made; see :func:`matches_any`.
    """
    if if_none_match is None:
        return False
    given = if_none_match.decode("latin-1")
    return etag.removeprefix("W/") in (item.strip().removeprefix("W/") for item in given.split(","))


def matches_any(if_none_match: bytes | None) -> bool:
    """Whether the header asks for any representation at all."""
    return if_none_match is not None and if_none_match.strip() == b"*"


def as_api_error(error: BaseException, request: Request) -> ApiError:
    """Return the error a caller gets; whatever is not the caller's doing is logged."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, StorageUnavailable | SnapshotError | PanicException):
        _log.error(
            "published_data_unavailable",
            request_id=request.id,
            endpoint=request.endpoint,
            kind=type(error).__name__,
            reason=str(error),
        )
        return _unavailable()
    if _is_short_of_descriptors(error):
        _log.error("file_descriptors_exhausted", request_id=request.id, endpoint=request.endpoint)
        return _unavailable()
    _log.error("unforeseen_failure", request_id=request.id, endpoint=request.endpoint, exc_info=error)
    return ApiError("internal_error", "Something failed here; quote the request id to the operator.")


def _unavailable() -> ApiError:
    return ApiError("upstream_unavailable", "The results cannot be read for now; try again later.")


def _is_short_of_descriptors(error: BaseException | None) -> bool:
    """Whether a failure comes of too many open files, here or on the whole machine: it passes by itself."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
            return True
        error = error.__cause__ or error.__context__
    return False

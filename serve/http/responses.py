"""Answers and errors as HTTP responses: status, headers, coded body."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from schemas.error_codes import ERROR_CODES
from schemas.errors import ApiError
from serve.cache.bodies import JOINED_BYTES, Body, coded
from serve.cache.lru import SnapshotKey
from serve.http import encoding, envelope
from serve.http import request as tracing
from serve.http.answer import PRIVATE, Answer, Bare, Page
from serve.http.asgi import Receive, Scope, Send
from serve.http.context import Context
from serve.http.etag import quoted, tag_of_body
from serve.query.json import BodyChunks

RETRY_SECONDS: Final = 2
"""What ``Retry-After`` says of a failure whose length nobody knows."""


class Response(NamedTuple):
    """A whole response; all bodies are JSON.

    Attributes
    ----------
    shared
        Whether a shared cache may keep it, so that nothing of the call that fetched it may be in it.
    """

    status: int
    body: BodyChunks
    headers: Mapping[str, str]
    shared: bool = False

    @property
    def size(self) -> int:
        """Bytes of its body."""
        return sum(map(len, self.body))

    def fields(self, request_id: str | None) -> list[tuple[str, str]]:
        """Return its headers as they are sent, with the request's id where this is the one to tell it."""
        found = [] if request_id is None or self.shared else [("x-request-id", request_id)]
        found += [(name.lower(), value) for name, value in self.headers.items()]
        if self.status != 304:
            found += [("content-type", "application/json"), ("content-length", str(self.size))]
        return found

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Hand it to the server; the request's id is added on the way, unless the trace says otherwise."""
        tracing.of(scope).shared = self.shared
        await self.send(send, None)

    async def send(self, send: Send, request_id: str | None) -> None:
        """Hand it to the server, part by part."""
        headers = [(name.encode("ascii"), value.encode("latin-1")) for name, value in self.fields(request_id)]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        *first, last = (b"".join(self.body),) if self.size <= JOINED_BYTES else self.body
        for piece in first:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": last, "more_body": False})


def not_modified(etag: str, headers: Mapping[str, str]) -> Response:
    """Return the 304 of a page the caller holds already."""
    sent = {**headers, "etag": etag, "cache-control": PRIVATE, "vary": "Accept-Encoding"}
    return Response(304, (), sent)


def page_response(body: Body, tag: str, coding: str, headers: Mapping[str, str]) -> Response:
    """Return the response that carries a page's finished body.

    Parameters
    ----------
    tag, coding
        Of the page, and as negotiated; together they name the representation.
    """
    sent = {**headers, "vary": "Accept-Encoding", "cache-control": PRIVATE, "etag": quoted(tag, coding)}
    if body.coding != encoding.IDENTITY:
        sent["content-encoding"] = body.coding
    return Response(200, body.pieces, sent)


def answered(
    context: Context,
    answer: Answer,
    *,
    owner: SnapshotKey | None,
    tag: str | None,
    coding: str,
    headers: Mapping[str, str],
) -> Response:
    """Turn an answer into its response; runs on a compute thread, for large bodies are encoded here.

    Parameters
    ----------
    owner, tag
        What a page is made from and the name it is kept under, when they were known beforehand. That name is its entity
        tag too, but for a list of alphas: the catalogue it is made from changes with alphas that the caller does not see.
        Such a list, and a page of which nothing was known beforehand, is tagged by its bytes.
    coding
        As negotiated.
    headers
        To be sent whatever the answer is.
    """
    if isinstance(answer, Page):
        pieces = page_body(context, answer)
        name = tag if tag is not None and context.listed is None else tag_of_body(b"".join(pieces))
        body = coded(pieces, coding)
        if tag is not None and owner is not None and _is_kept(context, answer, body, tag):
            context.service.bodies.put(owner, (tag, coding), body.to_keep(name), body.bytes)
        return page_response(body, name, coding, headers)
    shared = context.endpoint.shared
    sent = {**({} if shared else headers), "vary": "Accept-Encoding", "cache-control": PRIVATE}
    if isinstance(answer, Bare):
        content = envelope.bare(answer.body)
        sent["cache-control"] = "no-store"
    else:
        meta = dict(answer.meta)
        if answer.warnings:
            meta["warnings"] = list(answer.warnings)
        request_id = None if shared else context.request_id
        content = envelope.single(answer.data, request_id=request_id, source=answer.source, meta=meta)
        sent["cache-control"] = answer.cache_control
    packed = coded((content,), coding)
    if packed.coding != encoding.IDENTITY:
        sent["content-encoding"] = packed.coding
    return Response(200, packed.pieces, sent, shared)


def _is_kept(context: Context, page: Page, body: Body, tag: str) -> bool:
    """Tell whether a page's body is worth its memory."""
    if not context.hurried or body.coding != encoding.IDENTITY:
        return True
    # Cut from rows in memory: what lies there already is not kept twice, and the rest when it is asked again, for
    # a body that goes at once leaves the processor's caches as they are.
    small = body.bytes <= JOINED_BYTES
    return (small or not page.shared) and context.service.asked_again.note(tag)


def page_body(context: Context, page: Page) -> BodyChunks:
    """Assemble a page's body: a pure function of the snapshot, the request and the key's view."""
    meta = dict(page.meta)
    if page.warnings:
        meta["warnings"] = list(page.warnings)
    return envelope.collection(
        page.rows,
        returned=page.returned,
        total=page.total,
        limit=context.values["limit"],
        offset=context.values["offset"],
        meta=meta,
    )


def failed(error: ApiError, request_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """Turn an error into its response; a 503 that may pass says when to come back."""
    sent = {**(headers or {}), **error.headers, "cache-control": "no-store"}
    if error.status == 503 and not ERROR_CODES[error.code].permanent:
        sent.setdefault("Retry-After", str(math.ceil(RETRY_SECONDS)))
    return Response(error.status, (envelope.failure(error, request_id),), sent)

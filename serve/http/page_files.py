"""Static files of pages outside /v1: they are the same for everybody, need no key, and contain no data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from litestar import HttpMethod, Response, Router, get
from litestar.connection import ASGIConnection
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from serve.compute import CURRENT_REQUEST
from serve.http.responses import IDENTITY, encode_body, entity_tag, matches, negotiate, tag_of_body

_COMMON_HEADERS: Final = {
    "vary": "Accept-Encoding",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class PageFile(NamedTuple):
    """A file of a page: its path, its media type, and a function that reads it at the first request."""

    path: str
    media_type: str
    read: Callable[[], bytes]


def page_routes(files: Sequence[PageFile], headers: Mapping[str, str], *others: HTTPRouteHandler) -> Router:
    """Return the routes of a page's files, whose answers all have `headers`, and of other handlers."""
    handlers = [_route(file, {**_COMMON_HEADERS, **headers}) for file in files]
    return Router("/", route_handlers=[*handlers, *others], guards=[refuse_options])


def refuse_options(request: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """Refuse OPTIONS, which the framework would otherwise answer."""
    if request.scope.get("method") == HttpMethod.OPTIONS:
        raise MethodNotAllowedException


def _route(file: PageFile, headers: Mapping[str, str]) -> HTTPRouteHandler:
    async def answer() -> Response[bytes]:
        received = CURRENT_REQUEST.get().headers
        body, tag, coding = _encoded(file, negotiate(received.get(b"accept-encoding")))
        known, sent = received.get(b"if-none-match"), {**headers, "etag": tag}
        if matches(known, tag):
            return Response(b"", status_code=304, headers=sent)
        if coding != IDENTITY:
            sent["content-encoding"] = coding
        return Response(body, headers=sent, media_type=file.media_type)

    return get(file.path)(answer)


@cache
def _encoded(file: PageFile, coding: str) -> tuple[bytes, str, str]:
    """Return a file in a content coding, with its entity tag; the cache is small, because files and codings are few."""
    plain = file.read()
    body = encode_body(plain, coding)
    return body.content, entity_tag(tag_of_body(plain), body.coding), body.coding

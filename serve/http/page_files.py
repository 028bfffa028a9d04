"""Files of pages outside /v1: they are the same for everybody, need no key, and contain no data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from litestar import HttpMethod, Request, Response, route
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import HTTPRouteHandler

from serve.http.responses import matches, matches_any
from serve.pages.bodies import coded, entity_tag, negotiate, tag_of_body

_EVERY: Final = {
    "vary": "Accept-Encoding",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


class PageFile(NamedTuple):
    """A file of a page: where it is, its type and what it holds, read at its first request."""

    path: str
    media_type: str
    read: Callable[[], bytes]


def page_routes(files: Sequence[PageFile], headers: Mapping[str, str]) -> list[HTTPRouteHandler]:
    """Return the handlers of a page's files; every answer has the headers given."""
    return [_route(file, {**_EVERY, **headers}) for file in files]


def _route(file: PageFile, headers: Mapping[str, str]) -> HTTPRouteHandler:
    async def answer(request: Request[Any, Any, Any]) -> Response[bytes]:
        if request.method != HttpMethod.GET:
            raise MethodNotAllowedException
        body, tag, coding = _coded(file, negotiate(_header(request, "accept-encoding")))
        known, sent = _header(request, "if-none-match"), {**headers, "etag": tag}
        if matches(known, tag) or matches_any(known):
            return Response(b"", status_code=304, headers=sent)
        if coding != "identity":
            sent["content-encoding"] = coding
        return Response(body, headers=sent, media_type=file.media_type)

    return route(file.path, http_method=[HttpMethod.GET, HttpMethod.OPTIONS])(answer)


def _header(request: Request[Any, Any, Any], name: str) -> bytes | None:
    given = request.headers.get(name)
    return None if given is None else given.encode("latin-1")


@cache
def _coded(file: PageFile, coding: str) -> tuple[bytes, str, str]:
    """Return a file in a content coding, with its entity tag: a few files in a few codings are all there are."""
    plain = file.read()
    body = coded(plain, coding)
    return body.content, entity_tag(tag_of_body(plain), body.coding), body.coding

"""The interface's own description, outside /v1: the OpenAPI document, and an interactive page of it.

Everything comes from this host: the page's files are those of Swagger UI as a package brings them, and the page may load
nothing else and run no script that stands in it. Neither needs a key; the page sends the one that is typed into it, and
forgets it when it is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from litestar import HttpMethod, Request, Response, route
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import HTTPRouteHandler

from schemas.openapi import rendered
from serve.http.encoding import encode, negotiate
from serve.http.etag import matches, matches_any, quoted, tag_of_body

DOCUMENT_PATH: Final = "/openapi.json"
PAGE_PATH: Final = "/docs"
_PACKAGE: Final = "swagger-ui-py"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may do: talk to this host, and show pictures that stand in its style sheet."""
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Alpha Research Results API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="interface"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
# No validator of another host; only GET can be tried, as there is nothing else.
_START: Final = """\
"use strict";
window.ui = SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#interface",
  validatorUrl: null,
  deepLinking: true,
  persistAuthorization: false,
  queryConfigEnabled: false,
  supportedSubmitMethods: ["get"],
});
"""


class _Part(NamedTuple):
    """A file of the page: where it is, its type and what it holds, read when it is first asked for."""

    path: str
    media_type: str
    read: Callable[[], bytes]


PARTS: Final = (
    _Part(DOCUMENT_PATH, "application/json", lambda: rendered().encode()),
    _Part(PAGE_PATH, "text/html", _PAGE.encode),
    _Part(f"{PAGE_PATH}/start.js", "text/javascript", _START.encode),
    _Part(f"{PAGE_PATH}/swagger-ui.css", "text/css", lambda: _packaged("swagger-ui.css")),
    _Part(
        f"{PAGE_PATH}/swagger-ui-bundle.js",
        "text/javascript",
        lambda: _packaged("swagger-ui-bundle.js"),
    ),
)


def routes() -> Sequence[HTTPRouteHandler]:
    """Return the handlers of the document, the page and its files."""
    return [_route(part) for part in PARTS]


def _route(part: _Part) -> HTTPRouteHandler:
    async def answer(request: Request[Any, Any, Any]) -> Response[bytes]:
        if request.method != HttpMethod.GET:
            raise MethodNotAllowedException
        body, tag, coding = _coded(part, negotiate(_header(request, "accept-encoding")))
        headers = {
            "etag": tag,
            "cache-control": "public, max-age=3600",
            "vary": "Accept-Encoding",
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "content-security-policy": POLICY,
        }
        known = _header(request, "if-none-match")
        if matches(known, tag) or matches_any(known):
            return Response(b"", status_code=304, headers=headers)
        if coding != "identity":
            headers["content-encoding"] = coding
        return Response(body, headers=headers, media_type=part.media_type)

    return route(part.path, http_method=[HttpMethod.GET, HttpMethod.OPTIONS])(answer)


def _header(request: Request[Any, Any, Any], name: str) -> bytes | None:
    given = request.headers.get(name)
    return None if given is None else given.encode("latin-1")


@cache
def _coded(part: _Part, coding: str) -> tuple[bytes, str, str]:
    """Return a file in a content coding, with its entity tag: five files in a few codings are all there are."""
    plain = part.read()
    body, applied = encode(plain, coding)
    return body, quoted(tag_of_body(plain), applied), applied


def _packaged(name: str) -> bytes:
    """Read a file of the package without running any of its code."""
    found = next(file for file in files(_PACKAGE) or () if file.name == name)
    return Path(str(found.locate())).read_bytes()

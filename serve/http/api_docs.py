"""The interface's own description, outside /v1: the OpenAPI document, an interactive page of it, and widgets of OpenBB Workspace.

The page's files are those of Swagger UI from a package; its policy forbids other hosts and inline scripts. The pages need no key;
Swagger UI sends the key that is typed into it, and forgets it when it is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import files
from pathlib import Path
from typing import Final

from litestar.handlers import HTTPRouteHandler

from schemas import widgets
from schemas.openapi import rendered
from serve.http.page_files import PageFile, page_routes

DOCUMENT_PATH: Final = "/openapi.json"
WIDGETS_PATH: Final = "/widgets.json"
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
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="interface"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
# No validator of another host; only GET can be tried, since all endpoints answer GET.
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


PARTS: Final = (
    PageFile(DOCUMENT_PATH, "application/json", lambda: rendered().encode()),
    PageFile(WIDGETS_PATH, "application/json", lambda: widgets.rendered().encode()),
    PageFile(PAGE_PATH, "text/html", _PAGE.encode),
    PageFile(f"{PAGE_PATH}/start.js", "text/javascript", _START.encode),
    PageFile(f"{PAGE_PATH}/swagger-ui.css", "text/css", lambda: _packaged("swagger-ui.css")),
    PageFile(
        f"{PAGE_PATH}/swagger-ui-bundle.js",
        "text/javascript",
        lambda: _packaged("swagger-ui-bundle.js"),
    ),
)


def routes() -> Sequence[HTTPRouteHandler]:
    """Return the handlers of the document, the page and its files."""
    return page_routes(PARTS, {"cache-control": "public, max-age=3600", "content-security-policy": POLICY})


def _packaged(name: str) -> bytes:
    """Read a file of the package without running any of its code."""
    packaged = next(file for file in files(_PACKAGE) or () if file.name == name)
    return Path(str(packaged.locate())).read_bytes()

"""The documentation of the API, outside /v1: the OpenAPI document, an interactive page, and widgets for OpenBB Workspace.

The page's files come from a package of Swagger UI; its content security policy forbids other hosts and inline scripts. The pages
need no key; Swagger UI sends the key that is typed into it, and forgets it when the page is closed.
"""

from __future__ import annotations

from importlib.metadata import files
from pathlib import Path
from typing import Final

from litestar import Router

from schemas.documents import widgets
from schemas.documents.openapi import rendered
from serve.http.page_files import PageFile, page_routes

DOCUMENT_PATH: Final = "/openapi.json"
WIDGETS_PATH: Final = "/widgets.json"
PAGE_PATH: Final = "/docs"
_PACKAGE: Final = "swagger-ui-py"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content security policy: only calls to this host, and images embedded in the style sheet."""
_ASSETS: Final = Path(__file__).with_name("assets")

PARTS: Final = (
    PageFile(DOCUMENT_PATH, "application/json", lambda: rendered().encode()),
    PageFile(WIDGETS_PATH, "application/json", lambda: widgets.rendered().encode()),
    PageFile(PAGE_PATH, "text/html", (_ASSETS / "docs.html").read_bytes),
    PageFile(f"{PAGE_PATH}/start.js", "text/javascript", (_ASSETS / "docs.js").read_bytes),
    PageFile(f"{PAGE_PATH}/swagger-ui.css", "text/css", lambda: _packaged("swagger-ui.css")),
    PageFile(
        f"{PAGE_PATH}/swagger-ui-bundle.js",
        "text/javascript",
        lambda: _packaged("swagger-ui-bundle.js"),
    ),
)


def routes() -> Router:
    """Return the routes of the document, the page and its files."""
    return page_routes(PARTS, {"cache-control": "public, max-age=3600", "content-security-policy": POLICY})


def _packaged(name: str) -> bytes:
    """Read a file of the package without running any of its code."""
    packaged = next(file for file in files(_PACKAGE) or () if file.name == name)
    return Path(str(packaged.locate())).read_bytes()

"""The explorer: a static page that shows answers of /v1 as tables and charts.

The page needs no key; its calls of /v1 use the visitor's. The visitor types the key, or passes it after the `#` of the
address, which browsers do not send; it stays in the session storage of the tab.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from litestar import Response, Router, get

from datasets import charts
from serve.http.page_files import PageFile, page_routes

PAGE_PATH: Final = "/explorer"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Content security policy: scripts, calls and images from this host only; text is never rendered as markup or script."""
_HEADERS: Final = {
    # Revalidated each time, usually with a 304, so that a page never mixes files of two releases.
    "cache-control": "no-cache",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
_ASSETS: Final = Path(__file__).with_name("assets")


def _module(name: str) -> bytes:
    return charts.modules()[name]


def _path(name: str) -> str:
    return PAGE_PATH if name.endswith(".html") else f"{PAGE_PATH}/{name}"


FILES: Final = (
    *(
        PageFile(_path(path.name), _TYPES[path.suffix], path.read_bytes)
        for path in sorted(_ASSETS.iterdir())
        if path.suffix in _TYPES
    ),
    *(PageFile(_path(name), "text/javascript", partial(_module, name)) for name in charts.MODULES),
    PageFile(_path("chart.js"), "text/javascript", charts.library),
)
"""The page, its modules and style sheet, and the library of its charts."""


def routes() -> Router:
    """Return the routes of the page, of its files and of `/`, which redirects to it."""
    return page_routes(FILES, _HEADERS, get("/")(_redirect_to_page))


async def _redirect_to_page() -> Response[bytes]:
    # Relative, because a proxy may serve the application below a path.
    return Response(b"", status_code=307, headers={"location": PAGE_PATH[1:], "cache-control": "no-cache"})

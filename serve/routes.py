"""The application: a route for each declared endpoint, links to files, and the pages beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

from litestar import Litestar, Request, Response, asgi
from litestar.exceptions import HTTPException, MethodNotAllowedException
from litestar.handlers import ASGIRouteHandler

from schemas.errors import ApiError
from serve import explorer as explorer_pages
from serve.downloads.files import Files
from serve.downloads.links import FILES
from serve.http import api_docs
from serve.http import request as requests
from serve.http.asgi import Application
from serve.http.errors import as_api_error
from serve.http.handler import EndpointHandler
from serve.http.responses import failed
from serve.sharing import routes as sharing
from serve.sharing.profile import PATH as SHARING
from serve.state import ServerState


def application(
    handlers: Sequence[EndpointHandler],
    files: Files,
    lifespan: Callable[[Litestar], AbstractAsyncContextManager[None]],
    *,
    service: ServerState,
    docs: bool,
    explorer: bool,
) -> Application:
    """Make the application.

    Parameters
    ----------
    handlers
        Of the declared endpoints.
    files
        Answers links.
    lifespan
        What is open while the server runs.
    service
        What answers are made with.
    docs, explorer
        Whether these pages are served.
    """
    made: Any = Litestar(
        [
            _mounted(files),
            *(handler.route() for handler in handlers),
            sharing.router(service),
            *(api_docs.routes() if docs else ()),
            *(explorer_pages.routes() if explorer else ()),
        ],
        exception_handlers={HTTPException: _unrouted, Exception: _unforeseen},
        lifespan=[lifespan],
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
    found: Application = made
    return found


def _mounted(files: Files) -> ASGIRouteHandler:
    """Return the handler of everything below the path of links, whatever the method."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await files(scope, receive, send)

    return asgi(FILES, is_mount=True, copy_scope=False)(answer)


def _unrouted(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    if request.scope["path"].startswith(f"{SHARING}/"):
        return sharing.failed(request, error)
    if isinstance(error, MethodNotAllowedException):
        return _failure(request, ApiError("method_not_allowed", "This path answers GET only."))
    return _failure(request, ApiError("not_found", "No such path."))


def _unforeseen(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    return _failure(request, as_api_error(error, requests.of(cast("Any", request.scope))))


def _failure(request: Request[Any, Any, Any], error: ApiError) -> Response[bytes]:
    ours = requests.of(cast("Any", request.scope))
    ours.code = error.code
    made = failed(error, ours.id)
    return Response(
        b"".join(made.body),
        status_code=made.status,
        headers=dict(made.headers),
        media_type="application/json",
    )

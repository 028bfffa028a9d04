"""The application behind the fast path: whatever is not a plain GET of a path of ours, and every path that is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from litestar import HttpMethod, Litestar, Request, Response, asgi, route
from litestar.exceptions import HTTPException, MethodNotAllowedException
from litestar.handlers import ASGIRouteHandler, HTTPRouteHandler

from schemas.endpoint import Endpoint
from schemas.errors import ApiError
from serve import explorer as explorer_pages
from serve.downloads.files import Files
from serve.downloads.links import FILES
from serve.http import api_docs as pages
from serve.http import request as requests
from serve.http.asgi import Application
from serve.http.errors import as_api_error
from serve.http.handler import EndpointHandler
from serve.http.middleware import finished
from serve.http.responses import Response as ServedResponse
from serve.http.responses import failed


def application(
    handlers: Sequence[EndpointHandler], files: Files, *, api_docs: bool, explorer: bool
) -> Application:
    """Make the application of the endpoints, of links to files and, if wanted, of the pages beside them."""
    made: Any = Litestar(
        [
            *map(_route, handlers),
            _mounted(files),
            *(pages.routes() if api_docs else ()),
            *(explorer_pages.routes() if explorer else ()),
        ],
        exception_handlers={HTTPException: _unrouted, Exception: _unforeseen},
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
    found: Application = made
    return found


def _route(handler: EndpointHandler) -> HTTPRouteHandler:
    """Return the application's handler of one path; it takes OPTIONS too, which Litestar would answer itself."""

    async def answer(request: Request[Any, Any, Any]) -> ServedResponse:
        if request.method != HttpMethod.GET:
            raise MethodNotAllowedException
        ours = requests.of(cast(Any, request.scope))
        ours.path, ours.query_string = request.scope["path_params"], request.scope["query_string"]
        return await finished(handler.begin(ours))

    methods = [HttpMethod.GET, HttpMethod.OPTIONS]
    return route(_template(handler.endpoint), http_method=methods, name=handler.endpoint.id)(answer)


def _mounted(files: Files) -> ASGIRouteHandler:
    """Return the application's handler of everything below the path of links, whatever the method."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await files(scope, receive, send)

    return asgi(FILES, is_mount=True, copy_scope=False)(answer)


def _template(endpoint: Endpoint) -> str:
    """Return the path as the router writes placeholders."""
    path = endpoint.path
    for parameter in endpoint.parameters:
        if parameter.in_path:
            path = path.replace(f"{{{parameter.name}}}", f"{{{parameter.name}:str}}")
    return path


def _unrouted(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    if isinstance(error, MethodNotAllowedException):
        return _failure(request, ApiError("method_not_allowed", "This path answers GET only."))
    return _failure(request, ApiError("not_found", "No such path."))


def _unforeseen(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    return _failure(request, as_api_error(error, requests.of(cast(Any, request.scope))))


def _failure(request: Request[Any, Any, Any], error: ApiError) -> Response[bytes]:
    ours = requests.of(cast(Any, request.scope))
    ours.code = error.code
    made = failed(error, ours.id)
    return Response(
        b"".join(made.body),
        status_code=made.status,
        headers=dict(made.headers),
        media_type="application/json",
    )

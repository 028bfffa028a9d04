"""Assembly of the serving application."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final, cast

from litestar import HttpMethod, Litestar, Request, Response, asgi, route
from litestar.exceptions import HTTPException, MethodNotAllowedException
from litestar.handlers import ASGIRouteHandler, HTTPRouteHandler

from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError
from serve import settings
from serve.auth.settings import AccessSettings
from serve.downloads.files import Files
from serve.downloads.links import FILES
from serve.endpoints import (
    account,
    admin,
    benchmarks,
    catalog,
    performance,
    portfolio,
    signals,
    source,
    tables,
)
from serve.http import api_docs
from serve.http import request as requests
from serve.http.access_log import recorder
from serve.http.answer import EndpointFunction
from serve.http.asgi import Application
from serve.http.errors import as_api_error
from serve.http.handler import EndpointHandler
from serve.http.middleware import RequestMiddleware, finished
from serve.http.protocol.connections import Connections
from serve.http.protocol.limits import ConnectionLimits
from serve.http.responses import Response as ServedResponse
from serve.http.responses import failed
from serve.http.router import Router
from serve.observability import logging, make_instruments
from serve.observability.sampling import both, sampling
from serve.runtime import freeze_gc, unfreeze_gc
from serve.server import closing
from serve.settings import Settings
from serve.state import ServerState

if TYPE_CHECKING:
    from serve.observability.prometheus import Instruments

ROUTES: Final[dict[str, EndpointFunction]] = {
    **account.ROUTES,
    **catalog.ROUTES,
    **source.ROUTES,
    **tables.ROUTES,
    **signals.ROUTES,
    **portfolio.ROUTES,
    **performance.ROUTES,
    **benchmarks.ROUTES,
    **admin.ROUTES,
}
"""Registry id -> what answers it."""


def create(
    program: Settings,
    access: AccessSettings,
    instruments: Instruments | None = None,
    watched: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Application:
    """Assemble the application; files and stores are opened when its lifespan starts.

    Parameters
    ----------
    program, access
        Its settings.
    instruments
        Measure the service; None measures nothing.
    watched
        Watches over the end of the lifespan, while everything is being closed.

    Raises
    ------
    SettingsError
        When no file system answers to the datasets' address.
    """
    service = ServerState(program, access)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(service)
            if instruments is not None:
                await stack.enter_async_context(sampling(instruments, service, middleware))
            yield
            with watched():
                files.close()
                await stack.aclose()
            unfreeze_gc()

    handlers = [EndpointHandler(service, ENDPOINTS[name], function) for name, function in ROUTES.items()]
    files = Files(service)
    inner = Litestar(
        [
            *map(_route, handlers),
            _mounted(files),
            *(api_docs.routes() if program.api_docs == "on" else ()),
        ],
        lifespan=[lifespan],
        exception_handlers={HTTPException: _unrouted, Exception: _unforeseen},
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
    console = logging.for_people(program.log_format)
    record = recorder(program.log_level, console=console)
    middleware = RequestMiddleware(
        cast(Any, inner),
        Router(handlers) if program.fast_path == "on" else None,
        record if instruments is None else both(record, instruments.answered),
        Connections(ConnectionLimits.of(program, behind_proxies=access.trusted_hops > 0)),
    )
    return middleware


def from_environment() -> Application:
    """Assemble the application of a worker process, whose parent left the settings in its environment."""
    program = settings.resolve(os.environ)
    logging.configure(program.log_level, program.log_format)
    freeze_gc()
    access = AccessSettings.from_environment(os.environ, program.datasets)
    return create(program, access, make_instruments(program), closing)


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

"""Assembly of the serving application."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import AsyncIterator
from contextlib import (
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from typing import TYPE_CHECKING, Any, Final

import structlog
from litestar import Litestar, Request, asgi
from litestar.exceptions import HTTPException, MethodNotAllowedException
from litestar.handlers import ASGIRouteHandler

from schemas.endpoints import ENDPOINTS
from schemas.errors import AlphaResultsError, ApiError
from schemas.extras import extra
from serve import explorer as explorer_pages
from serve import settings
from serve.auth.settings import AccessSettings
from serve.compute import CURRENT_REQUEST
from serve.downloads.links import FILES
from serve.endpoints import (
    account,
    admin,
    benchmarks,
    catalog,
    changes,
    downloads,
    figures,
    performance,
    portfolio,
    research,
    signals,
    snapshots,
)
from serve.endpoints.files import Files
from serve.http import api_docs
from serve.http.access_log import AccessLog, recorder
from serve.http.connections import Connections, fit_to_descriptors
from serve.http.errors import failure_response, no_such_path
from serve.http.handler import EndpointFunction, EndpointHandler
from serve.http.request import Application
from serve.observability import logging, make_instruments
from serve.server import closing, end_with_parent
from serve.settings import Settings
from serve.sharing import routes as sharing
from serve.sharing.profile import PATH as SHARING
from serve.state import ServerState, sampled_values

if TYPE_CHECKING:
    from serve.agents.server import Agents
    from serve.observability.metrics import Instruments

_log = structlog.get_logger("serve.app")

ROUTES: Final[dict[str, EndpointFunction]] = {
    **account.ROUTES,
    **catalog.ROUTES,
    **changes.ROUTES,
    **snapshots.ROUTES,
    **downloads.ROUTES,
    **signals.ROUTES,
    **portfolio.ROUTES,
    **performance.ROUTES,
    **figures.ROUTES,
    **benchmarks.ROUTES,
    **research.ROUTES,
    **admin.ROUTES,
}
"""Registry id -> its function."""

AGENTS: Final = "/mcp"
"""Path of the MCP server."""


def create(
    program: Settings,
    access: AccessSettings,
    instruments: Instruments | None = None,
    *,
    owns_process: bool = False,
) -> Application:
    """Assemble the application; files and stores are opened when its lifespan starts.

    Parameters
    ----------
    program, access
        Settings of the program, and of keys and limits.
    instruments
        Measure the service; None without a metrics port.
    owns_process
        Whether the process ends with the application: its heap is frozen after the start, and it is killed if closing takes too
        long.

    Raises
    ------
    SettingsError
        When no file system supports the address of the datasets.
    """
    service = ServerState(program, access)
    agents = _agents(service) if program.agents else None

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(service)
            if agents is not None:
                await stack.enter_async_context(agents.running(logged))
            if instruments is not None:
                await stack.enter_async_context(
                    instruments.sampling(lambda: sampled_values(service, logged.in_flight))
                )
            if owns_process:
                gc.freeze()
            yield
            with closing() if owns_process else nullcontext():
                await stack.aclose()

    inner: Any = Litestar(
        [
            _mount(FILES, Files(service)),
            *(() if agents is None else (_mount(AGENTS, agents),)),
            *(EndpointHandler(service, ENDPOINTS[name], answer).route() for name, answer in ROUTES.items()),
            sharing.router(service),
            *((api_docs.routes(),) if program.api_docs == "on" else ()),
            *((explorer_pages.routes(),) if program.explorer else ()),
        ],
        exception_handlers={HTTPException: _refuse_unrouted, Exception: _failure},
        lifespan=[lifespan],
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
    records = [recorder(program.log_level, console=logging.is_console(program.log_format))]
    if instruments is not None:
        records.append(instruments.count_request)
    limits = fit_to_descriptors(program, behind_proxies=access.trusted_hops > 0)
    logged = AccessLog(inner, records, Connections(limits))
    return logged


def from_environment() -> Application:
    """Assemble the application of a worker process, with the settings in its environment; exit if one cannot be used."""
    program = settings.resolve(os.environ)
    logging.configure(program.log_level, program.log_format)
    end_with_parent()
    access = AccessSettings.from_environment(os.environ, program.datasets)
    try:
        return create(program, access, make_instruments(program), owns_process=True)
    except AlphaResultsError as error:
        _log.error("worker_cannot_start", reason=str(error))
        sys.exit(error.exit_code)


def _agents(service: ServerState) -> Agents:
    with extra("agents", "ALPHA_RESULTS_AGENTS"):
        from serve.agents.server import (  # noqa: PLC0415 - an extra, loaded only if agents are enabled
            Agents,
        )
    return Agents(service)


def _mount(path: str, inner: Application) -> ASGIRouteHandler:
    """Return a handler for all paths below a path and all methods."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await inner(scope, receive, send)

    return asgi(path, is_mount=True, copy_scope=False)(answer)


def _refuse_unrouted(request: Request[Any, Any, Any], error: HTTPException) -> Any:
    if request.scope["path"].startswith(f"{SHARING}/"):
        return sharing.error_response(request, error)
    if isinstance(error, MethodNotAllowedException):
        return _failure(request, ApiError("method_not_allowed", "This path answers GET only."))
    return _failure(request, no_such_path(request.scope["path"]))


def _failure(_: Request[Any, Any, Any], error: Exception) -> Any:
    return failure_response(error, CURRENT_REQUEST.get())

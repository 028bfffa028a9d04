"""Assembly of the serving application."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from litestar import Litestar

from schemas.endpoints import ENDPOINTS
from serve import settings
from serve.auth.settings import AccessSettings
from serve.downloads.files import Files
from serve.endpoints import (
    account,
    admin,
    benchmarks,
    catalog,
    changes,
    exposures,
    figures,
    luck,
    performance,
    portfolio,
    research,
    signals,
    snapshots,
    source,
    tables,
)
from serve.http.access_log import AccessLog, recorder
from serve.http.answer import EndpointFunction
from serve.http.asgi import Application
from serve.http.connections import ConnectionLimits, Connections
from serve.http.handler import EndpointHandler
from serve.observability import logging, make_instruments
from serve.routes import application
from serve.server import closing, end_with_parent
from serve.settings import Settings
from serve.state import ServerState

if TYPE_CHECKING:
    from serve.observability.metrics import Instruments

ROUTES: Final[dict[str, EndpointFunction]] = {
    **account.ROUTES,
    **catalog.ROUTES,
    **changes.ROUTES,
    **snapshots.ROUTES,
    **source.ROUTES,
    **tables.ROUTES,
    **signals.ROUTES,
    **portfolio.ROUTES,
    **performance.ROUTES,
    **luck.ROUTES,
    **exposures.ROUTES,
    **figures.ROUTES,
    **benchmarks.ROUTES,
    **research.ROUTES,
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

    handlers = [EndpointHandler(service, ENDPOINTS[name], function) for name, function in ROUTES.items()]
    files = Files(service)

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(service)
            if instruments is not None:
                await stack.enter_async_context(instruments.sampling(service, logged))
            yield
            with watched():
                files.close()
                await stack.aclose()

    inner = application(
        handlers,
        files,
        lifespan,
        service=service,
        docs=program.api_docs == "on",
        explorer=program.explorer,
    )
    records = [recorder(program.log_level, console=logging.for_people(program.log_format))]
    if instruments is not None:
        records.append(instruments.answered)
    logged = AccessLog(
        inner,
        records,
        Connections(ConnectionLimits.of(program, behind_proxies=access.trusted_hops > 0)),
    )
    return logged


def from_environment() -> Application:
    """Assemble the application of a worker process, whose parent left the settings in its environment."""
    program = settings.resolve(os.environ)
    logging.configure(program.log_level, program.log_format)
    end_with_parent()
    access = AccessSettings.from_environment(os.environ, program.datasets)
    return create(program, access, make_instruments(program), closing)

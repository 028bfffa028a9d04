"""``alpha-results serve run``."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any, Final

import click

from datasets.layout import CATALOG
from datasets.storage import open_storage, require_supported
from schemas.errors import SettingsError
from schemas.settings import SETTINGS, setting_named_in_errors
from schemas.settings.options import flag, options
from serve import settings
from serve.auth.settings import AccessSettings
from serve.observability import logging, serve_metrics
from serve.server import (
    Shutdown,
    bind,
    end_immediately,
    serve_alone,
    serve_with_workers,
)
from serve.settings import Settings

_APP: Final = "serve.app:from_environment"
_CONNECTION: Final = "serve.http.guard:GuardedConnection"
_WORKER_SILENCE_SECONDS: Final = 60
"""Seconds that a worker may be silent before the parent replaces it."""
_ACCESS: Final = ("access", "limits_state", "trusted_hops")
"""Settings of keys and limits with a flag."""


@click.command()
@options(*(flag(setting.name) for setting in settings.declared()), *map(flag, _ACCESS))
def run(**flags: Any) -> None:
    """Serve the published results over HTTP until interrupted.

    Before the port opens, the command checks the settings, the root, the stores of keys and of counts, and that
    the port is free. A running service survives the loss of a store. SIGTERM and Ctrl-C let requests in flight
    finish; a second signal ends it at once.

    Exit code: 2 if a setting cannot be used or the port is taken, 5 if a store does not answer, 7 if the application
    cannot start; 143 after SIGTERM, 0 after Ctrl-C, or 130 if that came before it served.
    """
    access_flags = {name: flags.pop(name) for name in _ACCESS}
    program = settings.resolve(os.environ, flags)
    with setting_named_in_errors("datasets"):  # first, as the default access store lies next to the root
        require_supported(program.datasets)
    access = AccessSettings.from_environment(
        os.environ, program.datasets, {**access_flags, "workers": program.workers}
    )
    logging.configure(program.log_level, program.log_format)
    check(program, access)
    sockets = bind(program.host, program.port)
    if program.workers > 1:
        # Workers are new processes: they read their settings from the environment, which, unlike a command line, does
        # not appear in process listings.
        variables = {SETTINGS[name].variable: text for name, text in access_flags.items() if text is not None}
        variables[SETTINGS["access"].variable] = access.access
        os.environ.update(settings.variables(program) | variables)
        with serve_metrics(program, workers=True) as (_, draining):
            shutdown = Shutdown(program.drain_delay_seconds, draining)
            ended_by = serve_with_workers(_APP, _server(program), sockets, shutdown)
        if ended_by == signal.SIGTERM:
            end_immediately(ended_by)  # everything is closed; the exit status names the signal
    else:
        # A parent of workers does not need it.
        from serve.app import create  # noqa: PLC0415

        with serve_metrics(program, workers=False) as (instruments, draining):
            application = create(program, access, instruments, owns_process=True)
            serve_alone(
                application, _server(program), sockets, Shutdown(program.drain_delay_seconds, draining)
            )


def check(program: Settings, access: AccessSettings) -> None:
    """Open the root, the file of factors and the stores of keys and of counts; each failure is one line.

    Raises
    ------
    AlphaResultsError
        If one of them cannot be used.
    """
    from serve.auth.authenticator import Authenticator  # noqa: PLC0415 - it loads the store, which --help does not need

    async def open_stores() -> None:
        authenticator = await Authenticator.open(access)
        try:
            await authenticator.require_limiter()
        finally:
            await authenticator.close()

    # A missing local root is more likely a typo than an empty catalogue.
    storage = open_storage(program.datasets)
    if storage.missing:
        raise SettingsError(
            f"--datasets or ALPHA_RESULTS_DATASETS: there is no folder {program.datasets!r}; `alpha-results build` publishes into one"
        )
    if storage.folder is not None:
        storage.children(CATALOG)  # fails now if this user may not read it
    if program.factors:
        from serve.market_data.operator_files import factor_files  # noqa: PLC0415 - a parent of workers does not need Polars

        factor_files(program.factors).check()
    asyncio.run(open_stores())


def _server(program: Settings) -> dict[str, Any]:
    return {
        "host": program.host,
        "port": program.port,
        "workers": program.workers,
        "loop": "uvloop",
        # By name: only serving processes import it.
        "http": _CONNECTION,
        "ws": "none",
        "lifespan": "on",
        # The client's address is found by counting hops, not by uvicorn's header parsing.
        "proxy_headers": False,
        "server_header": False,
        "access_log": False,
        "timeout_keep_alive": program.keep_alive_seconds,
        "log_config": None,
        "timeout_graceful_shutdown": max(1, round(program.drain_seconds)),
        # A worker that is starting or short of CPU is slow, not dead; killing it would make things worse.
        "timeout_worker_healthcheck": _WORKER_SILENCE_SECONDS,
    }

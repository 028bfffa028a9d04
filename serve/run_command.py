"""``python -m serve run``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
import uvicorn

from datasets.storage import Storage
from schemas.errors import SettingsError
from serve import logs, settings
from serve.access.gate import Access
from serve.access.settings import AccessSettings
from serve.app import create
from serve.memory import settle
from serve.settings import PREFIX, Settings

_APP: Final = "serve.app:from_environment"
_WORKER_SILENCE_S: Final = 60
"""How long a worker may stay silent before the parent replaces it."""


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command a flag for every setting, as it is declared."""
    for setting in reversed(settings.declared()):
        if not setting.secret:
            shown = f" Default {setting.default}." if setting.default is not None else ""
            about = f"{setting.meaning}{shown} Also {setting.variable}."
            command = click.option(setting.flag, setting.name, help=about, metavar=setting.type.upper())(
                command
            )
    return command


@click.command()
@_options
@click.option(
    "--access",
    "store",
    metavar="URL",
    help="Store of accounts and keys: a file, or postgresql://… (a password belongs in the variable). "
    f"By default an SQLite file beside the datasets root. Also {PREFIX}ACCESS.",
)
def run(store: str | None, **flags: Any) -> None:
    """Serve the published results over HTTP until interrupted.

    Everything is checked once before a port is opened; a running service then outlives a store that goes away.
    """
    program = settings.resolve(os.environ, flags)
    access = AccessSettings.from_environment(
        os.environ, program.datasets, {"store": store, "workers": program.workers}
    )
    logs.configure(program.log_level, program.log_format)
    _require_root(program)
    asyncio.run(_try(access))
    settle()
    if program.workers > 1:
        # Workers are new processes: they read what they need from the environment, which shows in no list of
        # processes, unlike a command line.
        os.environ.update(settings.variables(program))
        os.environ[f"{PREFIX}ACCESS"] = access.store
        uvicorn.run(_APP, factory=True, **_server(program))
    else:
        uvicorn.run(create(program, access), **_server(program))


def _server(program: Settings) -> dict[str, Any]:
    return {
        "host": program.host,
        "port": program.port,
        "workers": program.workers,
        "loop": "uvloop",
        "http": "httptools",
        "ws": "none",
        "lifespan": "on",
        # The caller's address behind proxies is worked out by counting hops, never by believing a header.
        "proxy_headers": False,
        "server_header": False,
        "access_log": False,
        "log_config": None,
        "timeout_graceful_shutdown": max(1, round(program.drain_seconds)),
        # A worker that is starting, or starved of a processor, is slow rather than dead: killing it makes it worse.
        "timeout_worker_healthcheck": _WORKER_SILENCE_S,
    }


def _require_root(program: Settings) -> None:
    """Refuse a local root that is not there: more likely a typing error than an empty catalogue."""
    storage = Storage(program.datasets)
    if storage.is_local and not Path(storage.base).is_dir():
        raise SettingsError(
            f"--datasets: there is no folder {program.datasets!r}; `python -m pipeline build` publishes into one"
        )


async def _try(access: AccessSettings) -> None:
    """Open and close the access store, so that what is wrong with it is said in one line."""
    await (await Access.open(access)).close()

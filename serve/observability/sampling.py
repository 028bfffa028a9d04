"""Connects the measurements with the running service."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import structlog

from serve.http.middleware import Recorder

if TYPE_CHECKING:
    from serve.http.middleware import RequestMiddleware
    from serve.observability.prometheus import Instruments
    from serve.state import ServerState

_log = structlog.get_logger("serve.observability")
_INTERVAL_SECONDS: Final = 1.0
_SLOW_SAMPLE_EVERY: Final = 5
"""One look in this many also asks what takes longer."""


def both(first: Recorder, second: Recorder) -> Recorder:
    """Return what hands a finished request to two recorders."""

    def record(known: Mapping[str, Any]) -> None:
        first(known)
        second(known)

    return record


@asynccontextmanager
async def sampling(
    instruments: Instruments, service: ServerState, shell: RequestMiddleware
) -> AsyncIterator[None]:
    """Sample a service as long as the context lasts, the first time before it begins."""

    def look(*, slowly: bool, lag: float = 0.0) -> None:
        try:
            instruments.sample(service, shell.in_flight, lag)
            if slowly:
                instruments.sample_slowly(service)
        except Exception:  # noqa: BLE001 - answers matter more than their measurement
            _log.exception("sampling_failed")

    async def follow() -> None:
        turn = 0
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + _INTERVAL_SECONDS
            await asyncio.sleep(_INTERVAL_SECONDS)
            turn += 1
            look(slowly=turn % _SLOW_SAMPLE_EVERY == 0, lag=max(0.0, loop.time() - due))

    look(slowly=True)
    task = asyncio.create_task(follow())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        look(slowly=True)

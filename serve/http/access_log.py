"""The log line of a request: there is one for each, so it is written by the shortest way."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import orjson
import structlog

_LOGGER: Final = "serve.access_log"
_SEVERITY: Final = "info"
_EVENT: Final = "request"

Recorder: TypeAlias = Callable[[Mapping[str, Any]], None]


def recorder(level: str, *, console: bool) -> Recorder:
    """Return what writes a request's line.

    Parameters
    ----------
    level
        Least severe line written.
    console
        Whether lines are for people; those take the way of all others.

    Returns
    -------
    callable
        Takes what is known of the request. As JSON the line is the one all others would have been, without the
        third of a small request's time that making it step by step takes.
    """
    if logging.getLevelNamesMapping()[level.upper()] > logging.INFO:
        return lambda _: None
    if console:
        log = structlog.get_logger(_LOGGER)
        return lambda known: log.info(_EVENT, **known)
    return _Lines()


class _Lines:
    """Writes lines, those of one turn of the event loop together: a system call for each would be dearer than they are."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []

    def __call__(self, known: Mapping[str, Any]) -> None:
        line = {
            **known,
            "event": _EVENT,
            "logger": _LOGGER,
            "level": _SEVERITY,
            "timestamp": datetime.now(UTC),
        }
        self._waiting.append(orjson.dumps(line, option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE))
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._write)

    def _write(self) -> None:
        lines, self._waiting = self._waiting, []
        sys.stderr.write(b"".join(lines).decode())

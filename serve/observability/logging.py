"""Logging of this project and of the server, on standard error."""

from __future__ import annotations

import io
import logging
import sys
from typing import Final, TextIO

import structlog

from schemas.console.terminal import visible

_QUIET: Final = {
    "uvicorn.access": logging.CRITICAL,
    "alembic": logging.WARNING,
    "sqlalchemy.pool": logging.CRITICAL,
}
"""Loggers that duplicate our lines -> their minimum level."""
_FIELDS: Final = ("block",)
"""Extra fields of lines of `datasets`, which logs with the standard library."""


def is_console(form: str) -> bool:
    """Whether to write console lines: by the setting, or on a terminal."""
    return form == "console" or (form == "auto" and sys.stderr.isatty())


def configure(level: str, form: str) -> None:
    """Set up logging for the process.

    Parameters
    ----------
    level
        Least severe line written.
    form
        ``json``, ``console``, or ``auto``: console on a terminal, json elsewhere.
    """
    console = is_console(form)
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    foreign: list[structlog.typing.Processor] = [*shared, structlog.stdlib.ExtraAdder(allow=_FIELDS)]
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_traceback)
        if console
        else structlog.processors.JSONRenderer()
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=foreign,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *([_escape_control] if console else [structlog.processors.format_exc_info]),
            renderer,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name, minimum in _QUIET.items():
        logging.getLogger(name).setLevel(minimum)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def _escape_control(_: object, __: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Escape terminal control sequences: paths and names in a line come from callers."""
    return {
        name: visible(value).replace("\n", "\\n") if isinstance(value, str) else value
        for name, value in line.items()
    }


def _traceback(stream: TextIO, error: structlog.typing.ExcInfo) -> None:
    """Write a plain traceback: rich ones print local variables, which may include a token."""
    written = io.StringIO()
    structlog.dev.plain_traceback(written, error)
    stream.write(visible(written.getvalue()))

"""The query engine, loaded when it is first needed: soon after the port is open, or by the first query."""

from __future__ import annotations

import threading
from functools import cache, cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from serve.pages.duckdb import Engine


@cache
def engine_version() -> str:
    """Return the release of the engine, without loading it."""
    return version("duckdb")


class Reader:
    """Has the engine that reads Parquet files. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: Engine | None = None

    @cached_property
    def engine(self) -> Engine:
        """The engine, which is loaded and opened for the first who asks."""
        with self._lock:
            if self._opened is None:
                from serve.pages.duckdb import Engine  # noqa: PLC0415 - a quarter of a second no start waits for

                self._opened = Engine()
            return self._opened

    def close(self) -> None:
        """Let the database go; no statement may be running."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()

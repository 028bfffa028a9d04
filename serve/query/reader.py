"""The query engine, loaded when it is first needed: soon after the port is open, or by the first query."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from schemas.tables import PUBLISHED_TABLES
from serve.query.sql import select_all

if TYPE_CHECKING:
    import polars as pl

    from datasets.snapshot import Snapshot
    from serve.query.duckdb import Engine
    from serve.query.page_query import Rows
    from serve.query.sql import Paged, Statement


@cache
def engine_version() -> str:
    """Return the release of the engine, without loading it."""
    return version("duckdb")


class Reader:
    """Answers statements over Parquet files as :class:`serve.query.duckdb.Engine` does. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: Engine | None = None

    def open(self) -> Engine:
        """Load and open the engine, unless that was done already."""
        found = self._opened
        if found is None:
            with self._lock:
                found = self._opened
                if found is None:
                    from serve.query.duckdb import Engine  # noqa: PLC0415 - a quarter of a second no start waits for

                    found = self._opened = Engine()
        return found

    def close(self) -> None:
        """Let the database go; no statement may be running."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()

    def frame(self, statement: Statement) -> pl.DataFrame:
        """Run a statement and return all its rows; errors as of the engine."""
        return self.open().frame(statement)

    def dataset(
        self, snapshot: Snapshot, dataset: str, columns: Sequence[str], book: str | None = None
    ) -> pl.DataFrame:
        """Return columns of a whole dataset, or of its part of one book; errors as of the engine."""
        return self.frame(select_all(PUBLISHED_TABLES[dataset], snapshot.file(dataset, book), columns))

    def parts(self, statement: Statement, rows: int) -> AbstractContextManager[Iterator[pl.DataFrame]]:
        """Run a statement and hand its rows over as they are read; errors as of the engine."""
        return self.open().parts(statement, rows)

    def page(self, query: Paged) -> Rows:
        """Run a page's queries; errors as of the engine."""
        return self.open().page(query)

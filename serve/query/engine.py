"""Pages of stored rows: cut from what is held, else asked of the engine."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, NamedTuple

from datasets.snapshot import Snapshot
from schemas.rows import RowModel
from serve.cache.lru import snapshot_key
from serve.cache.miss import CacheMiss
from serve.cache.tables import TableCache
from serve.query.duckdb import Reader, Rows
from serve.query.rendered_table import RenderedTable, Stored, estimated_bytes, held
from serve.query.signals import WeekFilter
from serve.query.sql import Paged

_AT_ONCE: Final = 50_000
"""Rows that may be gone through on the event loop; more would keep other requests waiting."""


class Asked(NamedTuple):
    """A dataset, and how its rows are shown.

    Attributes
    ----------
    snapshot, dataset, book
        Whose file; `book` is None for a dataset that is not kept by book.
    model
        What a row shows.
    raw
        Whether the key sees the columns of the unconditioned signal.
    figures
        Columns the rows may be filtered and sorted by, besides day and name.
    laid_by
        The one of them by which a day's rows mostly are; None for those that are asked for as they lie in the file.
    """

    snapshot: Snapshot
    dataset: str
    model: RowModel
    raw: bool
    book: str | None = None
    figures: tuple[str, ...] = ()
    laid_by: str | None = None

    @property
    def name(self) -> Hashable:
        """Tells the datasets and views of a snapshot apart."""
        return (self.dataset, self.book, self.model.name, self.raw)


class Pages:
    """Answers pages of stored rows. Safe to share between threads.

    Parameters
    ----------
    reader
        What reads the files.
    datasets
        What is held of them.
    """

    def __init__(self, reader: Reader, datasets: TableCache) -> None:
        self._reader = reader
        self._datasets = datasets

    def window(
        self, asked: Asked, values: Mapping[str, Any], direct: Callable[[], Paged], *, hurried: bool
    ) -> Rows:
        """Return a page of the rows of some days, of some names where they are given, in the order of the file.

        Parameters
        ----------
        values
            Parsed parameters: ``from``, ``to``, ``limit``, ``offset``, and ``symbol`` where the route has it.
        direct
            Makes the query that answers the same from the file.
        hurried
            Answer from memory alone.

        Raises
        ------
        CacheMiss
            When `hurried` and the answer is not at hand.
        SnapshotCorrupt
            When the file is gone or cannot be read.
        """
        found = self._datasets.find(snapshot_key(asked.snapshot), asked.name)
        if found is None:
            return self._directly(asked, direct, hurried=hurried)
        start, end = found.index.between(values["from"], values["to"])
        offset, limit, symbols = values["offset"], values["limit"], values.get("symbol")
        if symbols is None:
            return _neighbours(found, start, end, offset, limit)
        if hurried and found.index.rows_of(symbols) > _AT_ONCE:
            raise CacheMiss
        numbers = found.index.of(symbols, start, end)
        page = numbers[offset : offset + limit]
        return Rows(found.rows.chosen(page), len(page), len(numbers))

    def week(
        self,
        asked: Asked,
        values: Mapping[str, Any],
        day: dt.date,
        direct: Callable[[], Paged],
        *,
        conditions: WeekFilter,
        hurried: bool,
    ) -> Rows:
        """Return a page of one day's rows, filtered and sorted.

        Parameters
        ----------
        values
            Parsed parameters; of these ``limit`` and ``offset``.
        conditions
            What the others come to.
        direct, hurried
            As of :meth:`window`.

        Raises
        ------
        CacheMiss, SnapshotCorrupt
            As :meth:`window`.
        """
        found = self._datasets.find(snapshot_key(asked.snapshot), asked.name)
        if found is None:
            return self._directly(asked, direct, hurried=hurried)
        start, end = found.index.between(day, day)
        offset, limit = values["offset"], values["limit"]
        if found.index.is_stored_order(conditions):
            return _neighbours(found, start, end, offset, limit)
        numbers = found.index.week(start, end, conditions)
        page = numbers[offset : offset + limit]
        return Rows(found.rows.chosen(page), len(page), len(numbers))

    def _directly(self, asked: Asked, direct: Callable[[], Paged], *, hurried: bool) -> Rows:
        if hurried:
            raise CacheMiss
        started = time.perf_counter()
        rows = self._reader.page(direct())
        self._datasets.record_miss(
            snapshot_key(asked.snapshot),
            asked.name,
            seconds=time.perf_counter() - started,
            size=estimated_bytes(asked.model, asked.snapshot.entry(asked.dataset, asked.book).rows),
            build=lambda: self._read(asked),
        )
        return rows

    def hold(self, asked: Asked, most: int) -> bool:
        """Hold a dataset before anybody asks for it, unless it is held; wait until it is.

        Parameters
        ----------
        most
            Bytes that all held datasets may come to by this.

        Returns
        -------
        Whether there was room.
        """
        owner = snapshot_key(asked.snapshot)
        if self._datasets.find(owner, asked.name) is not None:
            return True
        size = estimated_bytes(asked.model, asked.snapshot.entry(asked.dataset, asked.book).rows)
        if self._datasets.kept.bytes + size > most:
            return False
        self._datasets.hold(owner, asked.name, size=size, build=lambda: self._read(asked))
        return True

    def _read(self, asked: Asked) -> RenderedTable | None:
        snapshot = asked.snapshot
        present = snapshot.columns(asked.dataset)
        if not set(asked.figures) <= set(present):
            return None
        stored = Stored(
            asked.model,
            snapshot.file(asked.dataset, asked.book),
            present,
            asked.raw,
            constants=None if asked.book is None else {"book": asked.book},
            figures=asked.figures,
            laid_by=asked.laid_by,
        )
        return held(self._reader, stored)


def _neighbours(found: RenderedTable, start: int, end: int, offset: int, limit: int) -> Rows:
    """Return a page of a stretch as it is held."""
    first = min(start + offset, end)
    last = min(first + limit, end)
    return Rows(found.rows.between(first, last), last - first, end - start, shared=True)

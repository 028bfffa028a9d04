"""The daily returns of one book of every alpha served, kept up to date for searching neighbours.

A thread follows the catalogue: it reads what the file of this machine does not hold yet, one process for all of the machine,
and holds the returns rounded in memory, as far as they fit. Damage of the file costs reading again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
import structlog
from polars.exceptions import PanicException

from datasets.listing import Listing
from datasets.manifest import Pointer
from datasets.snapshot import Snapshot
from schemas.errors import StorageUnavailable
from serve.peers.nearest import Pool
from serve.peers.readable import Allowed, Readable
from serve.peers.returns import DailyReturns
from serve.peers.returns_file import Record, ReturnsDamaged, ReturnsFile, open_returns
from serve.peers.rounded_returns import RoundedReturns

_log = structlog.get_logger("serve.peers")
_BATCH: Final = 64
"""Snapshots that are read before what was read can be searched."""
_FOLLOW_SECONDS: Final = 0.2
"""Between two looks at what another process appended, while something lacks."""
_AGAIN_SECONDS: Final = 10.0
"""Before what could not be read is tried again."""
_REMOTE_READERS: Final = 4
"""Snapshots read at once where each read waits for a store."""
_MIN_REWRITTEN: Final = 2**24
"""Bytes of replaced snapshots below which the file is left as it is."""
_MIN_OUTSIDE: Final = 64
"""Alphas without a row in memory that are put up with before all are arranged anew."""
_MAX_POOLS: Final = 8
"""Allow-lists whose alphas are remembered, of those asked with last."""
_Key = tuple[str, str]


class ReturnsStore:
    """The returns of one book.

    Parameters
    ----------
    book
        Whose returns.
    listing, resolve
        Of the catalogue: every pointer as of now, and the snapshot served of an alpha.
    read
        Reads the returns of a snapshot's book; with no sessions when it has none.
    folder
        Where the file is, None for one of this process alone.
    limit
        Returns the bytes that returns in memory may take.
    local
        Whether published files lie on this machine.
    """

    def __init__(
        self,
        book: str,
        *,
        listing: Callable[[], Listing],
        resolve: Callable[[str], Snapshot | None],
        read: Callable[[Snapshot, str], DailyReturns],
        folder: Path | None,
        limit: Callable[[], int],
        local: bool,
    ) -> None:
        self._book = book
        self._listing = listing
        self._resolve = resolve
        self._read = read
        self._folder = folder
        self._limit = limit
        self._readers = 1 if local else _REMOTE_READERS
        self._records: dict[_Key, Record] = {}
        self._rows: dict[_Key, int] = {}
        self._failed: dict[_Key, float] = {}
        self._rounded: RoundedReturns | None = None
        self._file: ReturnsFile | None = None
        self._pools: dict[Hashable, tuple[Listing, int, Readable]] = {}
        self._version = 0
        self._outside = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = False
        self.was_ready = False
        """Whether all that was published at some moment had been read."""
        self._thread = threading.Thread(target=self._run, name="daily returns", daemon=True)
        self._thread.start()

    # Asked by requests

    @property
    def progress(self) -> tuple[int, int]:
        """How many of the alphas served were read, and how many there are."""
        pointers = self._listing().pointers
        return sum(_key(x) in self._records for x in pointers), len(pointers)

    @property
    def nbytes(self) -> int:
        """Memory that returns take or may come to take."""
        rounded = self._rounded
        return 0 if rounded is None else rounded.capacity * rounded.row_bytes

    def readable(self, allowed: Allowed) -> Readable:
        """Return what a key can search of the alphas served now.

        Raises
        ------
        ReturnsDamaged
            When everything is being read again.
        """
        listing, version = self._listing(), self._version
        with self._lock:
            known = self._pools.get(allowed)
        if known is not None and known[0] is listing and known[1] == version:
            return known[2]
        found = self._make(listing, allowed)
        with self._lock:
            self._pools.pop(allowed, None)
            self._pools[allowed] = (listing, version, found)
            while len(self._pools) > _MAX_POOLS:
                self._pools.pop(next(iter(self._pools)))
        return found

    def _make(self, listing: Listing, allowed: Allowed) -> Readable:
        with self._lock:
            file, rounded, rows, records = self._file, self._rounded, self._rows, self._records
            if file is None:
                raise ReturnsDamaged("the daily returns are being read again")
            wanted = [_key(x) for x in listing.pointers if allowed.allows(x.alpha_id)]
            wanted.sort()
            found = [(key, records[key]) for key in wanted if key in records]
            unreadable = frozenset(key[0] for key in wanted if key in self._failed and key not in records)
            chosen = [(key, record) for key, record in found if record.sessions]
            places = np.array([rows.get(key, -1) for key, _ in chosen], np.int64)
        pool = Pool([key[0] for key, _ in chosen], [x for _, x in chosen], file, rounded, places)
        not_read = frozenset(key[0] for key in wanted if key not in records) - unreadable
        no_data = frozenset(key[0] for key, record in found if not record.sessions)
        return Readable(pool, not_read, unreadable, no_data)

    def damaged(self) -> None:
        """Read everything again: the file turned out not to be what was written."""
        self._begin_anew(remove=True)
        self._wake.set()

    def catalogue_changed(self) -> None:
        """Read what was published since."""
        self._wake.set()

    def close(self) -> None:
        """End after the snapshots at work."""
        self._stopped = True
        self._wake.set()
        self._thread.join()
        if self._file is not None:
            self._file.release()

    # The thread

    def _run(self) -> None:
        while not self._stopped:
            self._wake.clear()
            try:
                pause = self._pass()
            except ReturnsDamaged as error:
                _log.warning("daily_returns_damaged", book=self._book, reason=str(error))
                self._begin_anew(remove=True)
                pause = _FOLLOW_SECONDS
            except OSError as error:
                # The disk takes no more: a file of this process alone may lie on another one.
                _log.warning("daily_returns_not_shared", book=self._book, reason=str(error))
                pause = _FOLLOW_SECONDS if self._folder is not None else _AGAIN_SECONDS
                self._folder = None
                self._begin_anew(remove=False)
            except Exception as error:  # noqa: BLE001 - whatever it was, the next look may work
                _log.error(
                    "daily_returns_failed", book=self._book, reason=str(error), kind=type(error).__name__
                )
                pause = _AGAIN_SECONDS
            self._wake.wait(pause)

    def _pass(self) -> float | None:
        """Read what lacks, a batch at a time; return after how many seconds to look again, None for never by itself."""
        while not self._stopped:
            file = self._opened()
            if file.replaced:
                self._begin_anew(remove=False)
                continue
            self._take(file.read_on())
            lacking = self._lacking()
            if not lacking:
                self._arrange_if_needed(file)
                self.was_ready = True
                return _AGAIN_SECONDS if self._failed else None
            if not file.may_write():
                return _FOLLOW_SECONDS
            self._take(file.read_on())  # what the one that wrote before appended last
            if file.has_remains:
                file = self._rewrite(file, list(self._records.values()))
            if not self._read_some(file, lacking[:_BATCH]):
                return _AGAIN_SECONDS
        return None

    def _opened(self) -> ReturnsFile:
        if self._file is None:
            with self._lock:
                self._file = open_returns(self._folder, self._book)
        return self._file

    def _lacking(self) -> list[Pointer]:
        """Return the pointers whose returns are to be read, the latest started first."""
        now = time.monotonic()
        return [
            x
            for x in self._listing().pointers
            if _key(x) not in self._records and self._failed.get(_key(x), 0.0) < now
        ]

    def _read_some(self, file: ReturnsFile, pointers: Sequence[Pointer]) -> bool:
        """Read some snapshots; return whether the store answers."""
        with ThreadPoolExecutor(self._readers, thread_name_prefix="daily returns") as pool:
            for pointer, found in zip(pointers, pool.map(self._returns, pointers), strict=True):
                if isinstance(found, StorageUnavailable):
                    return False
                if found is None:
                    continue
                record = file.append(pointer.alpha_id, pointer.snapshot, found)
                self._take([(record, found)])
        return True

    def _returns(self, pointer: Pointer) -> DailyReturns | StorageUnavailable | None:
        """Read the returns of a snapshot; None when it is not served any more or cannot be read."""
        snapshot = self._resolve(pointer.alpha_id)
        if self._stopped or snapshot is None or snapshot.id != pointer.snapshot:
            return None
        try:
            # Of thousands of snapshots, only those that are asked for keep their manifest in memory.
            return self._read(snapshot if snapshot.opened else snapshot.with_pointer(pointer), self._book)
        except StorageUnavailable as error:
            return error
        except (Exception, PanicException) as error:  # noqa: BLE001 - whatever it was, the other alphas are none the worse
            _log.warning("daily_returns_not_read", alpha=pointer.alpha_id, reason=str(error))
            self._failed[_key(pointer)] = time.monotonic() + _AGAIN_SECONDS
            self._version += 1
            return None

    def _take(self, read: Iterable[tuple[Record, DailyReturns]]) -> None:
        """Note what is in the file, and hold it in memory once that is arranged."""
        for record, returns in read:
            key = (record.alpha_id, record.snapshot)
            with self._lock:
                row = None if self._rounded is None else self._rounded.add(returns)
                if row is not None:
                    self._rows[key] = row
                self._records[key] = record
                self._failed.pop(key, None)
                self._version += 1

    def _arrange_if_needed(self, file: ReturnsFile) -> None:
        """Arrange the returns in memory at first, and when many that are served found no room since."""
        served = [self._records[key] for x in self._listing().pointers if (key := _key(x)) in self._records]
        served = [record for record in served if record.sessions]
        outside = sum((x.alpha_id, x.snapshot) not in self._rows for x in served)
        if self.was_ready and outside <= self._outside + max(_MIN_OUTSIDE, len(served) // 20):
            return
        with self._lock:
            # Until it is arranged, searches read the file: slower, and never twice the memory.
            self._rounded, self._rows = None, {}
            self._version += 1
        if file.size > 2 * sum(12 * x.sessions for x in served) + _MIN_REWRITTEN and file.may_write():
            file = self._rewrite(file, served)
            served = [self._records[x.alpha_id, x.snapshot] for x in served]
        if served:
            self._arrange(file, served)
        self._outside = len(served) - len(self._rows)

    def _arrange(self, file: ReturnsFile, records: Sequence[Record]) -> None:
        """Hold returns in memory, in rows of one span of days, as far as they fit."""
        spans = np.array([file.days(record)[[0, -1]] for record in records])
        last, limit = int(spans[:, 1].max()), self._limit()
        rounded = RoundedReturns(int(spans[:, 0].min()), last, len(records), limit)
        if rounded.capacity < len(records):
            # A few alphas with a long history must not leave the others without room.
            rounded = RoundedReturns(int(np.quantile(spans[:, 0], 0.05)), last, len(records), limit)
        rows = {}
        for record in records:
            row = rounded.add(file.whole(record))
            if row is not None:
                rows[record.alpha_id, record.snapshot] = row
        with self._lock:
            self._rounded, self._rows = rounded, rows
            self._version += 1
        _log.info("daily_returns_loaded", book=self._book, alphas=len(records), bytes=rounded.nbytes)

    def _rewrite(self, file: ReturnsFile, records: Sequence[Record]) -> ReturnsFile:
        """Write the file anew with some records alone; whoever searches still reads the old one."""
        fresh, found = file.rewrite(records)
        with self._lock:
            self._file = fresh
            self._records = {(x.alpha_id, x.snapshot): x for x in found}
            self._version += 1
        return fresh

    def _begin_anew(self, *, remove: bool) -> None:
        """Forget all that was read, and remove the file when it is that which is damaged."""
        with self._lock:
            file, self._file = self._file, None
            self._rounded, self._records, self._rows = None, {}, {}
            self._version += 1
            self.was_ready = False
        if remove and file is not None:
            file.remove()


def _key(pointer: Pointer) -> _Key:
    return pointer.alpha_id, pointer.snapshot

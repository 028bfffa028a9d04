"""Daily returns of one book for all served runs, kept current for the neighbour search.

A thread follows the catalogue and reads missing returns from the ledgers. Returns are stored in matrices of about a thousand
runs, in a folder that all processes of the machine map and one of them writes. Each process keeps up to 64 newer runs in a small
matrix in memory.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import numpy as np
import structlog
from polars.exceptions import PanicException

from datasets.analysis.comparison import NO_DATA, read_returns
from datasets.catalogue.alpha_columns import Allowed
from datasets.disk import locked, make_private
from datasets.figures.daily_returns import DailyReturns
from datasets.figures.unavailable import Unavailable
from datasets.pointer import Pointer
from schemas.errors import StorageUnavailable
from serve.cache import SnapshotKey
from serve.followed_catalogue import FollowedCatalogue
from serve.research.effective_number import EffectiveNumbers
from serve.research.returns_matrix import (
    NO_ROW,
    NOT_READ,
    UNFINISHED,
    UNREADABLE,
    MatrixDamaged,
    ReturnsMatrix,
    Searchable,
    load,
)

_log = structlog.get_logger("serve.research")
MATRIX_ROWS: Final = 1024
"""Runs per matrix: 18 MB for 1,500 sessions each."""
PENDING_ROWS: Final = 64
"""Runs that a process keeps in memory before it writes them to the folder."""
_POLL_SECONDS: Final = 0.2
"""Seconds between two checks of the folder while another process writes to it."""
_RETRY_SECONDS: Final = 10.0
"""Seconds before an unreadable run is tried again."""
_READERS: Final = 1
_REMOTE_READERS: Final = 8
"""Threads that read ledgers, on a local disk and from an object store."""
NoteDamage = Callable[[Pointer, BaseException], None]


class ReturnsStore:
    """The returns of one book.

    Parameters
    ----------
    book : str
        Name of the book.
    catalogue : FollowedCatalogue
        The served alphas.
    folder : pathlib.Path
        Folder of the matrices; if it cannot be used, they are in a temporary folder of this process.
    note : Callable[[Pointer, BaseException], None]
        Records the failure to read a run.
    """

    def __init__(self, book: str, catalogue: FollowedCatalogue, folder: Path, note: NoteDamage) -> None:
        self._book = book
        self._catalogue = catalogue
        self._note = note
        self._folder = folder / hashlib.sha256(book.encode()).hexdigest()[:32]
        self._opened = ExitStack()
        """Holds the lock of the folder, and a temporary folder."""
        self._is_writer = self._is_temporary = False
        self._saved: dict[Path, ReturnsMatrix] = {}
        self._pending: dict[SnapshotKey, DailyReturns] = {}
        self._without_data: set[SnapshotKey] = set()
        self._failed: dict[SnapshotKey, float] = {}
        self._searchable: Searchable | None = None
        self._refreshing = threading.Lock()
        self._wake = threading.Event()
        self._stopped = False
        self.was_ready = False
        """Whether the returns of all published runs have been read once."""
        self._effective = EffectiveNumbers(self._wake.set)
        self._thread = threading.Thread(target=self._run, name="daily returns", daemon=True)
        self._thread.start()

    # Called by requests

    def progress(self, allowed: Allowed) -> tuple[int, int]:
        """Count the alphas that a key may read.

        Parameters
        ----------
        allowed : Allowed
            Allow-list of the key.

        Returns
        -------
        read, served : int
            Number of alphas whose returns have been read, and number of all.
        """
        pointers = [x for x in self._catalogue.listing.pointers if allowed.allows(x.alpha_id)]
        known = self._known()
        return sum(x.key in known for x in pointers), len(pointers)

    @property
    def searchable(self) -> Searchable:
        """The runs that are searchable now."""
        searchable = self._searchable
        if searchable is None or searchable.listing is not self._catalogue.listing:
            searchable = self._refresh()
        return searchable

    def effective_number(self, allowed: Allowed) -> float | Unavailable | None:
        """Return the effective number of independent alphas among those that a key may read.

        Parameters
        ----------
        allowed : Allowed
            Allow-list of the key.

        Returns
        -------
        float, Unavailable or None
            None while it is computed.
        """
        number = self._effective.of(allowed)
        return number if self.was_ready else None

    def catalogue_changed(self) -> None:
        """Read the returns of new publications."""
        self._wake.set()

    def close(self) -> None:
        """Stop the thread after the ledgers that it is reading."""
        self._stopped = True
        self._wake.set()
        self._thread.join()
        self._opened.close()

    # The thread

    def _run(self) -> None:
        while not self._stopped:
            self._wake.clear()
            try:
                pause = self._pass()
            except OSError as error:
                _log.warning("daily_returns_not_shared", book=self._book, reason=error.strerror or str(error))
                pause = _POLL_SECONDS if self._use_temporary_folder() else _RETRY_SECONDS
            except Exception as error:  # noqa: BLE001 - the next pass may succeed
                _log.error(
                    "daily_returns_failed", book=self._book, reason=str(error), kind=type(error).__name__
                )
                pause = _RETRY_SECONDS
            self._wake.wait(pause)

    def _pass(self) -> float | None:
        """Read missing returns, and return the seconds until the next pass; None waits for a change of the catalogue."""
        writes = self._may_write()
        self._load_folder(remove_damaged=writes)
        # The threads of one pool read all ledgers: each new thread would keep ten megabytes of its own.
        readers = _READERS if self._catalogue.local else _REMOTE_READERS
        with ThreadPoolExecutor(readers, thread_name_prefix="daily returns") as pool:
            return self._read_missing(pool, writes=writes)

    def _read_missing(self, pool: ThreadPoolExecutor, *, writes: bool) -> float | None:
        while not self._stopped:
            missing = self._missing_pointers()
            if not missing:
                served = {x.key for x in self._catalogue.listing.pointers}
                self._without_data &= served
                self._failed = {key: at for key, at in self._failed.items() if key in served}
                if writes:
                    self._merge(served)
                searchable = self._refresh()
                self.was_ready = True
                self._effective.update(searchable, lambda: self._stopped)
                return _RETRY_SECONDS if self._failed else None
            if not writes and len(missing) > PENDING_ROWS:
                return _POLL_SECONDS  # read by the writing process
            if not self._read_some(pool, missing[:MATRIX_ROWS]):
                return _RETRY_SECONDS
            if writes and len(self._pending) >= PENDING_ROWS:
                self._save(self._pending)
                self._pending = {}
        return None

    def _may_write(self) -> bool:
        """Whether this process writes to the folder; tries to take over if no other process does."""
        if not self._is_writer:
            self._folder = make_private(self._folder)
            with suppress(BlockingIOError):
                self._opened.enter_context(locked(self._folder / "lock", wait=False))
                self._is_writer = True
        return self._is_writer

    def _use_temporary_folder(self) -> bool:
        """Switch to a folder of this process; return False if it is already in use."""
        if self._is_temporary:
            return False
        self._opened.close()
        self._is_writer = False
        with suppress(OSError):
            folder = tempfile.TemporaryDirectory(prefix="alpha-results-returns-")
            self._folder, self._is_temporary = Path(self._opened.enter_context(folder)), True
        return self._is_temporary

    def _load_folder(self, *, remove_damaged: bool) -> None:
        """Map matrices of other or earlier processes, and unmap removed ones."""
        present = {path for path in self._folder.iterdir() if path.is_dir()}
        if remove_damaged:
            for path in [path for path in present if path.suffix == UNFINISHED]:
                shutil.rmtree(path, ignore_errors=True)
        present = {path for path in present if path.suffix != UNFINISHED}
        saved = {path: matrix for path, matrix in self._saved.items() if path in present}
        for path in sorted(present - saved.keys()):
            try:
                saved[path] = load(path)
            except MatrixDamaged as error:
                if path.exists():  # otherwise another process merged it
                    _log.warning("daily_returns_damaged", book=self._book, reason=str(error))
                if remove_damaged:
                    shutil.rmtree(path, ignore_errors=True)
        self._saved = saved
        known = {key for matrix in saved.values() for key in matrix.keys}
        self._pending = {key: returns for key, returns in self._pending.items() if key not in known}

    def _known(self) -> set[SnapshotKey]:
        saved = {key for matrix in list(self._saved.values()) for key in matrix.keys}
        return saved | self._pending.keys() | self._without_data

    def _missing_pointers(self) -> list[Pointer]:
        """Return the pointers whose returns are missing, latest started first."""
        now, known = time.monotonic(), self._known()
        missing = (x for x in self._catalogue.listing.pointers if x.key not in known)
        return [x for x in missing if self._failed.get(x.key, 0.0) < now]

    def _read_some(self, pool: ThreadPoolExecutor, pointers: Sequence[Pointer]) -> bool:
        """Read some runs; return whether the store answered."""
        try:
            for pointer, returns in zip(pointers, pool.map(self._read_returns, pointers), strict=True):
                if returns is None:
                    continue
                self._failed.pop(pointer.key, None)
                if returns.days.size:
                    self._pending[pointer.key] = returns
                else:
                    self._without_data.add(pointer.key)
        except StorageUnavailable:
            pool.shutdown(cancel_futures=True)
            return False
        return True

    def _read_returns(self, pointer: Pointer) -> DailyReturns | None:
        """Read the returns of a run; None if it is no longer served or cannot be read."""
        snapshot = self._catalogue.resolve(pointer.alpha_id)
        if self._stopped or snapshot is None or snapshot.id != pointer.snapshot:
            return None
        # The manifests of thousands of snapshots would take too much memory: only requests keep them.
        run = snapshot if snapshot.opened else snapshot.with_pointer(pointer)
        try:
            return read_returns(run, self._book)
        except (Exception, PanicException) as error:  # an error must not affect the other alphas
            if isinstance(error, StorageUnavailable) and not self._catalogue.local:
                raise  # it does not answer for the others either
            _log.warning("daily_returns_not_read", alpha=pointer.alpha_id, reason=str(error))
            self._note(pointer, error)
            self._failed[pointer.key] = time.monotonic() + _RETRY_SECONDS
            return None

    def _save(self, series: dict[SnapshotKey, DailyReturns]) -> Path:
        path = ReturnsMatrix.of(series).save(self._folder)
        self._saved[path] = load(path)
        return path

    def _merge(self, served: set[SnapshotKey]) -> None:
        """Rewrite the matrices if a quarter of their rows are of replaced snapshots, or many are small."""
        rows = sum(len(matrix.keys) for matrix in self._saved.values())
        live = sum(key in served for matrix in self._saved.values() for key in matrix.keys)
        many = len(self._saved) > 8 + 2 * live // MATRIX_ROWS
        if not many and rows - live <= PENDING_ROWS + rows // 4:
            return
        earlier, written, part = set(self._saved), set[Path](), dict[SnapshotKey, DailyReturns]()
        for key, returns in self._served_rows(served):
            part[key] = returns
            if len(part) == MATRIX_ROWS:
                written.add(self._save(part))
                part = {}
        if part:
            written.add(self._save(part))
        # A matrix whose rows did not change is written under its own name.
        removed = earlier - written
        self._saved = {path: matrix for path, matrix in self._saved.items() if path not in removed}
        self._refresh()
        for path in removed:
            with suppress(FileNotFoundError):
                shutil.rmtree(path)

    def _served_rows(self, served: set[SnapshotKey]) -> Iterator[tuple[SnapshotKey, DailyReturns]]:
        for matrix in list(self._saved.values()):
            yield from ((key, matrix.returns(row)) for row, key in enumerate(matrix.keys) if key in served)

    def _refresh(self) -> Searchable:
        # One at a time: a slower thread would otherwise replace newer returns by those it began with.
        with self._refreshing:
            self._searchable = self._current()
            return self._searchable

    def _current(self) -> Searchable:
        listing = self._catalogue.listing
        pending = dict(self._pending)
        matrices = list(self._saved.values())
        if pending:
            matrices.append(ReturnsMatrix.of(pending))
        rows = {key: row for row, key in enumerate(key for matrix in matrices for key in matrix.keys)}
        place = np.full(len(listing.pointers), NO_ROW[NOT_READ])
        for number, pointer in enumerate(listing.pointers):
            key = pointer.key
            if key in rows:
                place[number] = rows[key]
            elif key in self._without_data:
                place[number] = NO_ROW[NO_DATA]
            elif key in self._failed:
                place[number] = NO_ROW[UNREADABLE]
        return Searchable(listing, matrices, place)

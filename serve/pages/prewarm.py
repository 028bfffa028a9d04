"""Reads what is likely to be asked for into memory before it is: the first answer of an alpha is then like the others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import structlog
from polars.exceptions import PanicException

from datasets.snapshot import Snapshot
from schemas.tables.books import CONDITIONED_BOOKS
from serve.pages.rendered_table import usual_views

if TYPE_CHECKING:
    from serve.state import ServerState

_log = structlog.get_logger("serve.pages.prewarm")
_BOOK: Final = CONDITIONED_BOOKS[0]
"""The book questions are about that name none."""
_CACHE_SHARE: Final = 0.5
"""Share of the bound of rendered tables that is filled beforehand; the rest is for what is asked."""


class Prewarm:
    """A thread that fills idle memory, at the start and whenever the catalogue changed.

    Files are only ever read where they lie on this machine: nothing is fetched that nobody may want.

    Parameters
    ----------
    service
        Whose memory.
    alphas
        How many, the latest started first; 0 does nothing.
    """

    def __init__(self, service: ServerState, alphas: int) -> None:
        self._service = service
        self._alphas = alphas
        self._again = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="prewarm", daemon=True)

    def start(self) -> None:
        """Begin."""
        if self._alphas and self._service.snapshots.local:
            self._again.set()
            self._thread.start()

    def catalogue_changed(self) -> None:
        """Look again for what is not in memory."""
        self._again.set()

    def stop(self) -> None:
        """End after the dataset at work."""
        self._stopped = True
        self._again.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped:
            self._again.wait()
            self._again.clear()
            if self._pass():
                _log.info("preloaded", cached_bytes=self._service.rendered.bytes)

    def _pass(self) -> bool:
        """Go through the alphas once; False when that was broken off."""
        for snapshot in self._latest():
            if self._stopped or self._again.is_set():
                return False
            try:
                self._read(snapshot)
            except (Exception, PanicException) as error:  # noqa: BLE001 - whatever it was, the other alphas are none the worse
                self._service.damage.note(snapshot.pointer, error)
                _log.warning("not_preloaded", alpha=snapshot.alpha_id, reason=str(error))
        return True

    def _latest(self) -> Iterator[Snapshot]:
        snapshots = self._service.snapshots
        for pointer in snapshots.pointers()[: self._alphas]:
            snapshot = snapshots.resolve(pointer.alpha_id)
            if snapshot is not None:
                yield snapshot

    def _read(self, snapshot: Snapshot) -> None:
        service = self._service
        if snapshot.has("rebalances"):
            service.indexes.load(snapshot)
        if snapshot.has("portfolio", _BOOK):
            service.ledgers.load(snapshot, _BOOK)
        for view in usual_views(snapshot):
            if self._stopped or not service.tables.prewarm(snapshot, view, _CACHE_SHARE):
                return

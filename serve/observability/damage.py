"""Which of the alphas served cannot be answered from in whole, as far as that was noticed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import structlog
from polars.exceptions import PanicException

from datasets.pointer import Pointer
from datasets.snapshot import Snapshot
from schemas.errors import SnapshotCorrupt, SnapshotUnreadable, StorageUnavailable

_log = structlog.get_logger("serve.observability.damage")
_UNDECODABLE_SECONDS: Final = 300.0
"""How long a snapshot counts as damaged after its files could not be decoded: their digests cannot tell that they can be."""


class Damaged(NamedTuple):
    """What is wrong with a snapshot.

    Attributes
    ----------
    snapshot
        Its id.
    reason
        For those who run the service; it may name files.
    until
        Before this moment of the monotonic clock intact files do not end it.
    """

    snapshot: str
    reason: str
    until: float


class Damage:
    """Remembers the snapshots that failed to be read, until they are found intact or others are served.

    Safe to share between threads; asking how many there are costs nothing.

    Parameters
    ----------
    served
        Returns the snapshot that is served of an alpha: damage of earlier ones is only reported to whoever asks for them.
    local
        Whether the files lie on this machine: a disk that fails is then a fault of the files as well, where a store
        that is away is none.
    """

    def __init__(self, served: Callable[[str], Snapshot | None], *, local: bool) -> None:
        self._served = served
        self._damaged: dict[str, Damaged] = {}
        self._local = local
        self._lock = threading.Lock()

    @property
    def alphas(self) -> Mapping[str, Damaged]:
        """Alpha -> what is wrong with what is served of it."""
        return self._damaged

    def note(self, pointer: Pointer, error: BaseException) -> None:
        """Take note of a failure to read a snapshot; failures of other kinds are passed over."""
        undecodable = isinstance(error, SnapshotUnreadable | PanicException)
        unreadable = self._local and isinstance(error, StorageUnavailable)
        if undecodable or unreadable or isinstance(error, SnapshotCorrupt):
            self.found(pointer, str(error), time.monotonic() + _UNDECODABLE_SECONDS if undecodable else 0.0)

    def found(self, pointer: Pointer, reason: str, until: float = 0.0) -> None:
        """Take note that something is wrong with a snapshot."""
        now = self._served(pointer.alpha_id)
        if now is None or now.id != pointer.snapshot:
            return
        with self._lock:
            before = self._damaged.get(pointer.alpha_id)
            if before is not None and before.snapshot == pointer.snapshot:
                until = max(until, before.until)
                if before.reason == reason and before.until == until:
                    return
            # Replaced whole, so that whoever looks at it sees one state of it.
            self._damaged = {**self._damaged, pointer.alpha_id: Damaged(pointer.snapshot, reason, until)}
        if before is None or before.snapshot != pointer.snapshot:
            _log.error("snapshot_damaged", alpha=pointer.alpha_id, snapshot=pointer.snapshot, reason=reason)

    def intact(self, pointer: Pointer, known: Damaged) -> None:
        """Take note that every file of a snapshot was found to be what its manifest says.

        Parameters
        ----------
        pointer
            Of the snapshot.
        known
            What was wrong with it when the look at its files began: what was found out since is not refuted by that.
        """
        if self._damaged.get(pointer.alpha_id) is known and time.monotonic() >= known.until:
            self._forget([pointer.alpha_id])

    def keep_served(self) -> None:
        """Forget what is served no more."""
        gone = []
        for alpha_id, damaged in self._damaged.items():
            now = self._served(alpha_id)
            if now is None or now.id != damaged.snapshot:
                gone.append(alpha_id)
        self._forget(gone)

    def _forget(self, alphas: list[str]) -> None:
        with self._lock:
            found = [alpha_id for alpha_id in alphas if alpha_id in self._damaged]
            if found:
                self._damaged = {name: x for name, x in self._damaged.items() if name not in found}
        for alpha_id in found:
            _log.info("snapshot_no_longer_damaged", alpha=alpha_id)

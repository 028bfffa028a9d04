"""The claim of a serving process on snapshots that were replaced while it answers from them."""

from __future__ import annotations

import os
import socket
import time
from datetime import UTC, datetime

import structlog

from datasets.publication.leases import REFRESH_SECONDS, remove_lease, write_lease
from datasets.storage import Storage
from schemas.errors import StorageUnavailable

_log = structlog.get_logger("serve.reader_lease")


class ReaderLease:
    """Keeps this process's lease in the root fresh, as far as the root lets it write.

    A service that may only read the root works all the same: the grace period of gc then stands alone between it and
    the removal of a snapshot it still answers from.

    Parameters
    ----------
    storage
        The datasets root.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._reader = f"{socket.gethostname()}-{os.getpid()}"
        self._tried = float("-inf")
        self._written = False
        self._told = False

    def refresh(self, followed_at: datetime) -> None:
        """Say that the catalogue was looked at; most calls find the lease fresh enough and do nothing.

        Parameters
        ----------
        followed_at
            When the look began.
        """
        if time.monotonic() - self._tried < REFRESH_SECONDS:
            return
        self._tried = time.monotonic()
        try:
            write_lease(self._storage, self._reader, followed_at, datetime.now(UTC))
        except (StorageUnavailable, OSError) as error:
            if not self._told:
                _log.warning("lease_not_written", reason=str(error))
            self._told = True
        else:
            self._written, self._told = True, False

    def release(self) -> None:
        """Give the lease up; one that cannot be removed runs out by itself."""
        if not self._written:
            return
        try:
            remove_lease(self._storage, self._reader)
        except (StorageUnavailable, OSError) as error:
            _log.info("lease_not_removed", reason=str(error))

"""The lease of a serving process on replaced snapshots from which it still answers."""

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
    """Renews this process's lease in the root, if the root is writable.

    Without write access only the grace period of gc protects the snapshots.

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
        self._warned = False

    def refresh(self, followed_at: datetime) -> None:
        """Renew the lease after a refresh of the catalogue, at most once a minute.

        Parameters
        ----------
        followed_at
            When the refresh began.
        """
        if time.monotonic() - self._tried < REFRESH_SECONDS:
            return
        self._tried = time.monotonic()
        try:
            write_lease(self._storage, self._reader, followed_at, datetime.now(UTC))
        except (StorageUnavailable, OSError) as error:
            if not self._warned:
                _log.warning("lease_not_written", reason=str(error))
            self._warned = True
        else:
            self._written, self._warned = True, False

    def release(self) -> None:
        """Remove the lease; one that cannot be removed expires."""
        if not self._written:
            return
        try:
            remove_lease(self._storage, self._reader)
        except (StorageUnavailable, OSError) as error:
            _log.info("lease_not_removed", reason=str(error))

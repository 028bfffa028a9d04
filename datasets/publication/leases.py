"""Leases, with which readers protect replaced snapshots from gc.

::

    <root>/leases/<reader>.json

A lease states one instant: its reader does not need snapshots that were replaced before then. It is one small file for any
number of alphas, which the reader renews; otherwise it expires after its stated lifetime. A reader without write access to
the root has no lease, and only the grace period protects its snapshots.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from datasets.manifest import encode
from datasets.storage import Storage
from schemas.errors import SnapshotCorrupt
from schemas.instants import utc_text

LEASES: Final = "leases"
VALID_SECONDS: Final = 900
"""Seconds that a lease is valid after its last refresh."""
REFRESH_SECONDS: Final = 60
"""Seconds between two refreshes of a lease."""
CLOCK_ALLOWANCE: Final = timedelta(minutes=10)
"""Allowance for requests that resolved a snapshot before the last refresh of the catalogue, and for clock differences."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease of one reader.

    Attributes
    ----------
    reader
        Host and process of the reader.
    refreshed_at
        Time of the last write, ISO-8601 UTC.
    since
        Instant before which replaced snapshots are no longer needed, ISO-8601 UTC.
    seconds
        Seconds for which the lease is valid after `refreshed_at`.
    """

    reader: str
    refreshed_at: str
    since: str
    seconds: int = VALID_SECONDS


def write_lease(
    storage: Storage, reader: str, followed_at: datetime, now: datetime, seconds: int = VALID_SECONDS
) -> Lease:
    """Write or refresh a reader's lease.

    Parameters
    ----------
    reader
        Name of the reader; characters that are not allowed in a file name are replaced.
    followed_at
        Start of the reader's last successful refresh of the catalogue.
    now
        Current time by the reader's clock.
    seconds
        Seconds for which the lease is valid.

    Raises
    ------
    StorageUnavailable
        When the root cannot be written.
    """
    since = utc_text(followed_at - CLOCK_ALLOWANCE, "seconds")
    lease = Lease(_file_name(reader), utc_text(now, "seconds"), since, seconds)
    storage.put(f"{LEASES}/{lease.reader}.json", encode(asdict(lease)))
    return lease


def remove_lease(storage: Storage, reader: str) -> None:
    """Remove a reader's lease, if there is one.

    Raises
    ------
    StorageUnavailable
        When the root cannot be written.
    """
    storage.remove_files([f"{LEASES}/{_file_name(reader)}.json"])


def read_leases(storage: Storage) -> list[Lease]:
    """Return all leases of the root, including expired ones.

    Raises
    ------
    SnapshotCorrupt
        When a lease cannot be read, because the needs of its reader are then unknown.
    StorageUnavailable
        When the store does not answer.
    """
    paths = [entry.path for name, entry in storage.files_below(LEASES).items() if name.endswith(".json")]
    return [_decoded(data, path) for path, data in storage.read_many(paths).items() if data is not None]


def is_stale(lease: Lease, now: datetime) -> bool:
    """Whether a lease has expired; a lease dated in the future, after a clock was set back, has not."""
    return now - datetime.fromisoformat(lease.refreshed_at) > timedelta(seconds=lease.seconds)


def horizon(leases: Sequence[Lease], now: datetime) -> datetime | None:
    """Return the instant since which live readers may need replaced snapshots; None if there are no live readers."""
    live = [datetime.fromisoformat(lease.since) for lease in leases if not is_stale(lease, now)]
    return min(live, default=None)


def _decoded(data: bytes, path: str) -> Lease:
    try:
        lease = msgspec.json.decode(data, type=Lease)
        datetime.fromisoformat(lease.since), datetime.fromisoformat(lease.refreshed_at)
    except ValueError as error:
        raise SnapshotCorrupt(
            f"{path} is not a lease: {error}; remove the file if no reader wrote it"
        ) from error
    return lease


def _file_name(reader: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", reader)[:128]
    return name if _NAME.match(name) else f"r{name}"[:128]

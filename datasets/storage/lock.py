"""A lock on an object store, for work that only one process may do at a time, such as removing files.

The lock is a small object that is written conditionally and expires. The holder renews it in time, and stops if it
cannot. After a crash, another process takes over once the lock has expired.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from datasets.layout import STAGING
from datasets.storage.protocol import Renew, Storage, Version
from schemas.errors import StorageUnavailable

LOCK_LIFETIME: Final = timedelta(minutes=15)
_RENEW_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class _Lock:
    holder: str
    until: datetime


@contextlib.contextmanager
def object_lock(storage: Storage, name: str, holder: str) -> Iterator[Renew]:
    """Acquire a lock object, and release it at the end.

    Parameters
    ----------
    storage
        The root.
    name
        Name of the work, for messages.
    holder
        Host and process of the holder.

    Raises
    ------
    StorageUnavailable
        When another process holds it.
    """
    path = f"{STAGING}/{name}.turn"
    acquired = float("-inf")

    def write(until: datetime, version: Version) -> None:
        lock = msgspec.json.encode(_Lock(holder, until))
        # The client retries a write whose answer was lost, and the retry is refused; the bytes show whose write it was.
        if not storage.put_if(path, lock, version.tag) and storage.read_version(path).data != lock:
            raise StorageUnavailable(f"another {name} began on {storage.address} at the same moment")

    def renew() -> None:
        nonlocal acquired
        if time.monotonic() - acquired < _RENEW_SECONDS:
            return
        version = storage.read_version(path)
        lock = _decoded(version)
        if lock is not None and lock.holder != holder and lock.until > datetime.now(UTC):
            raise StorageUnavailable(
                f"another {name} ({lock.holder}) is at work on {storage.address}; if it was killed, "
                f"its lock expires at {lock.until.strftime('%Y-%m-%dT%H:%M:%SZ')}"
            )
        acquired = time.monotonic()
        write(datetime.now(UTC) + LOCK_LIFETIME, version)

    renew()
    try:
        yield renew
    finally:
        with contextlib.suppress(StorageUnavailable):  # the lock expires by itself
            version = storage.read_version(path)
            lock = _decoded(version)
            if lock is not None and lock.holder == holder:
                write(datetime.now(UTC), version)


def _decoded(version: Version) -> _Lock | None:
    """Decode holder and expiry of a lock; None if the object is missing or incomplete."""
    try:
        return msgspec.json.decode(version.data or b"", type=_Lock)
    except ValueError:
        return None

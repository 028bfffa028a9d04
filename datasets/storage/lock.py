"""A lock on an object store, for work that needs one process at a time, such as removing files.

It is a small object that is written conditionally and expires: the holder renews it in time and stops if it
cannot, and after a crash another process takes over once it has expired.
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
_STOP_SECONDS: Final = LOCK_LIFETIME.total_seconds() / 2


@contextlib.contextmanager
def object_lock(storage: Storage, name: str, holder: str) -> Iterator[Renew]:
    """Acquire a lock that is an object, and release it at the end.

    Parameters
    ----------
    storage
        The root.
    name
        Of the work, which messages say.
    holder
        Who has it: host and process.

    Raises
    ------
    StorageUnavailable
        When somebody else has it.
    """
    lock = _ObjectLock(storage, name, holder)
    lock.acquire()
    try:
        yield lock.renew
    finally:
        with contextlib.suppress(StorageUnavailable):  # it expires
            lock.release()


@dataclass(frozen=True, slots=True)
class _Held:
    holder: str
    until: datetime


class _ObjectLock:
    def __init__(self, storage: Storage, name: str, holder: str) -> None:
        self._storage = storage
        self._path = f"{STAGING}/{name}.turn"
        self._holder = holder
        self._name = name
        self._acquired = 0.0

    def renew(self) -> None:
        passed = time.monotonic() - self._acquired
        if passed > _STOP_SECONDS:
            raise StorageUnavailable(f"{self._name} stood still too long and lost its lock; run it again")
        if passed >= _RENEW_SECONDS:
            self.acquire()

    def acquire(self) -> None:
        version = self._storage.read_version(self._path)
        held = _decoded(version)
        if held is not None and held.holder != self._holder and held.until > datetime.now(UTC):
            raise StorageUnavailable(
                f"another {self._name} ({held.holder}) is at work on {self._storage.address}; one that was killed "
                f"is passed over after {held.until.strftime('%Y-%m-%dT%H:%M:%SZ')}"
            )
        self._write(datetime.now(UTC) + LOCK_LIFETIME, version)
        self._acquired = time.monotonic()

    def release(self) -> None:
        version = self._storage.read_version(self._path)
        held = _decoded(version)
        if held is not None and held.holder == self._holder:
            self._write(datetime.now(UTC), version)

    def _write(self, until: datetime, version: Version) -> None:
        content = msgspec.json.encode(_Held(self._holder, until))
        if not self._storage.put_if(self._path, content, version.tag):
            raise StorageUnavailable(f"another {self._name} began on {self._storage.address} at this moment")


def _decoded(version: Version) -> _Held | None:
    """Return holder and expiry of a lock; None if there is no such object, or it is incomplete."""
    try:
        return msgspec.json.decode(version.data or b"", type=_Held)
    except ValueError:
        return None

"""A lock of an object store, for work that two processes would spoil, such as removing files.

It is a small object that is written conditionally and runs out: the holder renews it in time and stops by itself when it
could not, and after a crash somebody else takes over once it has run out.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
import orjson

from datasets.layout import STAGING
from datasets.storage.protocol import Lock, Storage, Version
from schemas.errors import StorageUnavailable

LOCK_LIFETIME: Final = timedelta(minutes=15)
_RENEW_SECONDS: Final = 60.0
_STOP_SECONDS: Final = LOCK_LIFETIME.total_seconds() / 2


class ObjectLock:
    """A lock that is an object.

    Parameters
    ----------
    storage
        The root.
    name
        Of the work, which messages say.
    holder
        Who has it: host and process.
    """

    def __init__(self, storage: Storage, name: str, holder: str) -> None:
        self._storage = storage
        self._path = f"{STAGING}/{name}.turn"
        self._holder = holder
        self._name = name
        self._renewed = float("-inf")

    def renew(self) -> None:
        """Acquire the lock, or renew it when it is time to; StorageUnavailable when somebody else has it."""
        passed = time.monotonic() - self._renewed
        if passed < _RENEW_SECONDS:
            return
        if _STOP_SECONDS < passed < float("inf"):
            raise StorageUnavailable(f"{self._name} stood still too long and lost its lock; run it again")
        version = self._storage.read_version(self._path)
        self._require_free(version)
        self._write(datetime.now(UTC) + LOCK_LIFETIME, version)
        self._renewed = time.monotonic()

    def release(self) -> None:
        """Release the lock; where the store does not answer it runs out by itself."""
        with contextlib.suppress(StorageUnavailable):
            version = self._storage.read_version(self._path)
            held = _decoded(version)
            if held is not None and held.holder == self._holder:
                self._write(datetime.now(UTC), version)

    def _require_free(self, version: Version) -> None:
        held = _decoded(version)
        if held is not None and held.holder != self._holder and held.until > datetime.now(UTC):
            raise StorageUnavailable(
                f"another {self._name} ({held.holder}) is at work on {self._storage.address}; one that was killed "
                f"is passed over after {_instant(held.until)}"
            )

    def _write(self, until: datetime, version: Version) -> None:
        content = {"holder": self._holder, "until": _instant(until)}
        if not self._storage.put_if(self._path, orjson.dumps(content), version.tag):
            raise StorageUnavailable(f"another {self._name} began on {self._storage.address} at this moment")


@contextlib.contextmanager
def acquire_object_lock(storage: Storage, name: str, holder: str) -> Iterator[Lock]:
    """Acquire a lock that is an object, and release it at the end; StorageUnavailable when somebody else has it."""
    lock = ObjectLock(storage, name, holder)
    lock.renew()
    try:
        yield lock
    finally:
        lock.release()


@dataclass(frozen=True, slots=True)
class _Held:
    holder: str
    until: datetime


def _decoded(version: Version) -> _Held | None:
    """Return holder and end of a lock; None when there is no such object, or it was never finished."""
    try:
        return msgspec.json.decode(version.data or b"", type=_Held)
    except ValueError:
        return None


def _instant(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

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


@dataclass(frozen=True, slots=True)
class _Held:
    holder: str
    until: datetime


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
    path = f"{STAGING}/{name}.turn"
    acquired = float("-inf")

    def write(until: datetime, version: Version) -> None:
        if not storage.put_if(path, msgspec.json.encode(_Held(holder, until)), version.tag):
            raise StorageUnavailable(f"another {name} began on {storage.address} at this moment")

    def renew() -> None:
        nonlocal acquired
        if time.monotonic() - acquired < _RENEW_SECONDS:
            return
        version = storage.read_version(path)
        held = _decoded(version)
        if held is not None and held.holder != holder and held.until > datetime.now(UTC):
            raise StorageUnavailable(
                f"another {name} ({held.holder}) is at work on {storage.address}; one that was killed "
                f"is passed over after {held.until.strftime('%Y-%m-%dT%H:%M:%SZ')}"
            )
        acquired = time.monotonic()
        write(datetime.now(UTC) + LOCK_LIFETIME, version)

    renew()
    try:
        yield renew
    finally:
        with contextlib.suppress(StorageUnavailable):  # it expires
            version = storage.read_version(path)
            held = _decoded(version)
            if held is not None and held.holder == holder:
                write(datetime.now(UTC), version)


def _decoded(version: Version) -> _Held | None:
    """Return holder and expiry of a lock; None if there is no such object, or it is incomplete."""
    try:
        return msgspec.json.decode(version.data or b"", type=_Held)
    except ValueError:
        return None

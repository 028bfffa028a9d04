"""One process at a time for work that two would spoil, such as removing files.

On a root of this machine it is a lock that dies with its holder. On an object store it is a small object that is
written conditionally and runs out: the holder renews it in time and stops by itself when it could not, and after a
crash somebody else takes over once it has run out.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import orjson

from datasets.conditional import Version, read_version, write_if_unchanged
from datasets.disk import writing
from datasets.layout import STAGING
from datasets.manifest import encode
from datasets.storage import Storage
from schemas.errors import StorageUnavailable

VALID: Final = timedelta(minutes=15)
_RENEW_SECONDS: Final = 60.0
_STOP_SECONDS: Final = VALID.total_seconds() / 2


class Turn:
    """A turn that was taken; :meth:`keep` is to be called before every step that needs it."""

    def __init__(self, storage: Storage, name: str, holder: str) -> None:
        self._storage = storage
        self._path = f"{STAGING}/{name}.turn"
        self._holder = holder
        self._name = name
        self._renewed = float("-inf")

    def keep(self) -> None:
        """Renew the turn when it is time to.

        Raises
        ------
        StorageUnavailable
            When somebody else has it, or the store does not answer: stop then.
        """
        if self._storage.is_local:
            return
        passed = time.monotonic() - self._renewed
        if passed < _RENEW_SECONDS:
            return
        if _STOP_SECONDS < passed < float("inf"):
            raise StorageUnavailable(f"{self._name} stood still too long and gave its turn up; run it again")
        seen = read_version(self._storage, self._path)
        self._require_free(seen)
        self._write(datetime.now(UTC) + VALID, seen)
        self._renewed = time.monotonic()

    def give_up(self) -> None:
        """Let the next one begin at once; where that cannot be said the turn runs out by itself."""
        if self._storage.is_local or self._renewed == float("-inf"):
            return
        with contextlib.suppress(StorageUnavailable):
            seen = read_version(self._storage, self._path)
            if _decoded(seen).get("holder") == self._holder:
                self._write(datetime.now(UTC), seen)

    def _require_free(self, seen: Version) -> None:
        found = _decoded(seen)
        if found.get("holder") in {None, self._holder}:
            return
        if datetime.fromisoformat(found["until"]) > datetime.now(UTC):
            raise StorageUnavailable(
                f"another {self._name} ({found['holder']}) is at work on {self._storage.address}; one that was killed "
                f"is passed over after {found['until']}"
            )

    def _write(self, until: datetime, seen: Version) -> None:
        told = {"holder": self._holder, "until": until.strftime("%Y-%m-%dT%H:%M:%SZ")}
        if not write_if_unchanged(self._storage, self._path, encode(told), seen):
            raise StorageUnavailable(f"another {self._name} began on {self._storage.address} at this moment")


@contextlib.contextmanager
def taken(storage: Storage, name: str, holder: str) -> Iterator[Turn]:
    """Take the turn for some work, and give it up at the end.

    Raises
    ------
    StorageUnavailable
        When somebody else has it, or the root cannot be written.
    """
    turn = Turn(storage, name, holder)
    if not storage.is_local:
        turn.keep()
        try:
            yield turn
        finally:
            turn.give_up()
        return
    path = Path(storage.full(STAGING)) / f"{name}.lock"
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise StorageUnavailable(f"another {name} is at work on {storage.address}; wait for it") from None
    try:
        yield turn
    finally:
        os.close(descriptor)


def _decoded(seen: Version) -> dict[str, Any]:
    """Return who has the turn until when; nothing when there is no such object, or it was never finished."""
    try:
        found = orjson.loads(seen.data or b"{}")
        datetime.fromisoformat(found["until"])
        return dict(found)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return {}

"""Room set aside beside an SQLite store, given up when its disk is full: a key has to end then above all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

RESERVE_BYTES: Final = 1 << 20
"""Bytes set aside. Ending a key takes some 100 KB: two files that SQLite makes beside the store, and a few pages."""
_BLOCK_BYTES: Final = 1 << 16


def _place(store: Path) -> Path:
    return store.with_name(store.name + ".reserve")


def fill(store: Path) -> None:
    """Reserve disk space, as much as there is up to `RESERVE_BYTES`; getting less is not an error."""
    with contextlib.suppress(OSError):
        descriptor = os.open(_place(store), os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            while os.fstat(descriptor).st_size < RESERVE_BYTES:
                # Random, as some file systems keep no room for zeros.
                os.write(descriptor, os.urandom(_BLOCK_BYTES))
        finally:
            os.close(descriptor)


def give_up(store: Path) -> bool:
    """Make the room free; return whether there was any."""
    try:
        _place(store).unlink()
    except OSError:
        return False
    return True

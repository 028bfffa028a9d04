"""The pointers last seen, cached on this machine, so that a restart needs neither all of them nor the store."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from datasets.layout import SAVED_CATALOGUE
from datasets.manifest import digest
from datasets.pointer import Pointer
from schemas.errors import SnapshotCorrupt

_PAUSE_SECONDS: Final = 30.0
"""Between two writings: a large catalogue that changes all the time must not be written all the time."""

Signatures = dict[str, tuple[Any, ...]]


class SavedCatalogue:
    """The file of the pointers last seen. Losing it costs nothing but reading them again.

    Parameters
    ----------
    folder
        Where it lies; several processes may share it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / SAVED_CATALOGUE
        self._due = False
        self._written = float("-inf")

    def load(self) -> tuple[Signatures, dict[str, Pointer]]:
        """Return signature and pointer of every alpha; nothing when there is no file, it is damaged or of another format."""
        try:
            expected, _, body = self._path.read_bytes().partition(b"\n")
            if digest(body).encode() != expected:
                return {}, {}
            found = orjson.loads(body)
            pointers = {
                alpha: Pointer.decode(orjson.dumps(entry["pointer"]), SAVED_CATALOGUE)
                for alpha, entry in found.items()
            }
            return {alpha: tuple(entry["signature"]) for alpha, entry in found.items()}, pointers
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError, SnapshotCorrupt):
            return {}, {}

    def keep(self, signatures: Signatures, pointers: Mapping[str, Pointer], changed: bool) -> None:
        """Write what is known, soon after it changed; a disk that takes no more leaves the old file."""
        self._due = self._due or changed
        if not self._due or time.monotonic() - self._written < _PAUSE_SECONDS:
            return
        body = orjson.dumps(
            {
                alpha: {"signature": signatures[alpha], "pointer": pointer.document()}
                for alpha, pointer in pointers.items()
                if alpha in signatures
            }
        )
        draft = self._path.with_name(f"{uuid.uuid4().hex}.tmp")
        with contextlib.suppress(OSError):
            draft.parent.mkdir(parents=True, exist_ok=True)
            try:
                draft.write_bytes(digest(body).encode() + b"\n" + body)
                draft.replace(self._path)
            finally:
                draft.unlink(missing_ok=True)
        self._due, self._written = False, time.monotonic()

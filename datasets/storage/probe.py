"""Whether a store honours conditional writes, found out by trying.

A store that ignores ``If-Match`` and ``If-None-Match`` answers 200 to both of two writers that race, and one of them
is lost. What a store says of itself does not tell, so a throw-away object is written three times, and two of the
writes must be refused. The verdict is remembered for as long as the process lives: a store behind the same address may
be another one tomorrow. That a store compares and writes in one step cannot be found out this way; it is promised by
those that document conditional writes.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING, Final

from datasets.layout import STAGING
from datasets.storage.protocol import DRAFT_SUFFIX
from schemas.errors import SettingsError, StorageUnavailable
from schemas.settings import SETTINGS

if TYPE_CHECKING:
    from datasets.storage.object_store import ObjectStorage

_NO_TAG: Final = f'"{"0" * 32}"'
"""The tag of no version: the MD5 digest of bytes that nobody knows."""
_VERDICTS: Final[dict[str, str | None]] = {}


class ConditionsUnknown(Exception):
    """The store answers that it knows no conditional writes."""


def has_conditional_writes(storage: ObjectStorage, *, single_writer: bool) -> bool:
    """Whether writers can exclude each other on a store; the verdict is remembered for the address.

    Parameters
    ----------
    single_writer
        Whether the operator answers for it that there is only one, so that a store without will do.

    Raises
    ------
    SettingsError
        When they cannot, and there may be several.
    StorageUnavailable
        When the store does not answer or refuses to be written to; that is not remembered.
    """
    if storage.identity not in _VERDICTS:
        path = f"{STAGING}/probe-{uuid.uuid4().hex}{DRAFT_SUFFIX}"
        try:
            _VERDICTS[storage.identity] = _try(storage, path)
        except ConditionsUnknown:
            _VERDICTS[storage.identity] = "knows no conditional writes"
        # Builders may lack the permission to remove; gc then sweeps it.
        with contextlib.suppress(StorageUnavailable):
            storage.remove_files([path])
    fault = _VERDICTS[storage.identity]
    if fault is not None and not single_writer:
        raise SettingsError(
            f"the store of {storage.address} {fault}, so of two builds at once one would be lost: use a store with "
            f"conditional writes, or let one command at a time write and say so with "
            f"{SETTINGS['single_writer'].flag}"
        )
    return fault is None


def _try(storage: ObjectStorage, path: str) -> str | None:
    """Say what the store does wrong, in half a sentence that goes on from "the store"; None when nothing."""
    mine = path.encode()
    # A write whose answer was lost is repeated by the client and then refused; the bytes say whose they are.
    if not storage.put_if(path, mine, None) and storage.read_version(path).data != mine:
        return "refuses a write on the condition that nothing is there, although nothing is"
    if storage.put_if(path, b"second", None):
        return "writes although the condition was that nothing is there (If-None-Match)"
    if storage.put_if(path, b"third", _NO_TAG):
        return "writes although the condition was another version (If-Match)"
    return None

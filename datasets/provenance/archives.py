"""State of the source archives.

::

    <root>/archives/alpha_id=<id>/seal=<digest>.json        state of the source archive of one seal

States are not part of snapshots, which never change, because a failed upload may be retried after publication. A state
belongs to a seal, so that a rollback also offers the source of the earlier seal.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Final

import msgspec

from datasets.layout import valid_address
from datasets.manifest import encode
from datasets.storage import Storage
from schemas.errors import SnapshotCorrupt
from schemas.objects.operations import SOURCE_STATUSES

ARCHIVES: Final = "archives"
PACKAGING, DELIVERED, FAILED = SOURCE_STATUSES

_DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class ArchiveState:
    """State of the source archive of one seal.

    Attributes
    ----------
    alpha_id, seal_digest
        Alpha, and digest of the seal.
    status
        ``packaging`` while the archive is being built or uploaded, ``delivered``, or ``failed``.
    updated_at
        Time of the last change of the status, ISO-8601 UTC.
    filename
        File name of the download.
    key
        Key of the object below the archives' address; None until it is known.
    size_bytes, sha256
        Size and digest of the object; None until they are known.
    files
        Number of source files in the archive.
    left_out
        Number of source files excluded by `exclude`; for a ``failed`` archive, 0 unless all are excluded.
    exclude
        Exclusion patterns.
    reason
        Reason of a failure; None unless `status` is ``failed``.
    """

    alpha_id: str
    seal_digest: str
    status: str
    updated_at: str
    filename: str
    key: str | None = None
    size_bytes: int | None = None
    sha256: str | None = None
    files: int = 0
    left_out: int = 0
    exclude: tuple[str, ...] = ()
    reason: str | None = None

    @classmethod
    def decode(cls, data: bytes, origin: str) -> ArchiveState:
        """Decode a state; raises SnapshotCorrupt for invalid bytes."""
        try:
            state = msgspec.json.decode(data, type=cls)
        except ValueError as error:
            raise SnapshotCorrupt(f"{origin} is not the state of a source archive: {error}") from error
        if state.status not in SOURCE_STATUSES or (state.status == DELIVERED and not state.key):
            raise SnapshotCorrupt(
                f"{origin} is not the state of a source archive: its status is {state.status!r}"
            )
        return state


def archive_state_path(alpha_id: str, seal_digest: str) -> str:
    """Return the path of a seal's archive state below the datasets root.

    Raises
    ------
    AlphaNotPublished
        When the text is not a valid alpha address.
    SnapshotCorrupt
        When the digest is not a SHA-256.
    """
    if not _DIGEST.match(seal_digest):
        raise SnapshotCorrupt(f"{seal_digest!r} is not the digest of a seal")
    return f"{ARCHIVES}/alpha_id={valid_address(alpha_id)}/seal={seal_digest}.json"


def read_archive_state(storage: Storage, alpha_id: str, seal_digest: str) -> ArchiveState | None:
    """Return the state of a seal's source archive; None if the seal has no archive.

    Raises
    ------
    SnapshotCorrupt
        When the record is damaged.
    StorageUnavailable
        When the store does not answer.
    """
    path = archive_state_path(alpha_id, seal_digest)
    try:
        return ArchiveState.decode(storage.read(path), path)
    except FileNotFoundError:
        return None


def write_archive_state(storage: Storage, state: ArchiveState) -> None:
    """Write the state of an archive atomically.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    storage.put(archive_state_path(state.alpha_id, state.seal_digest), encode(asdict(state)))

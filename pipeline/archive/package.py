"""From a checked seal to a delivered archive, every step of it recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from datasets.archives import (
    DELIVERED,
    FAILED,
    PACKAGING,
    ArchiveState,
    read_archive_state,
    write_archive_state,
)
from datasets.manifest import digest
from datasets.storage import Storage, open_storage
from pipeline.archive.exclusions import DEFAULT_EXCLUDE, is_excluded
from pipeline.archive.zipping import zip_files
from pipeline.seal import Seal
from schemas.errors import AlphaResultsError, SettingsError


def package(
    seal: Seal, storage: Storage, archives_url: str | None, *, exclude: Sequence[str] = DEFAULT_EXCLUDE
) -> ArchiveState | None:
    """Package the source of a checked seal, upload the archive and record its state.

    Whatever fails, nothing is raised for it: the data of the run is published without its archive, and the state
    that is returned, and recorded, says why. Calling it again tries again; once the archive is delivered, it only
    looks whether the object is still there.

    Parameters
    ----------
    seal
        A seal that keeps the rules.
    storage
        The datasets root, beside whose snapshots the state is recorded.
    archives_url
        Folder or URL of a supported store to put archives under; None when the deployment keeps none.
    exclude
        Patterns of names to leave out, as :func:`pipeline.archive.exclusions.exclusions` returns them.

    Returns
    -------
    ArchiveState or None
        None, and nothing recorded, when the run sealed no source or there is no place for archives.
    """
    if archives_url is None or not seal.has("source"):
        return None
    before = _recorded(seal, storage)
    try:
        archives = open_storage(archives_url)
        if before is not None and _is_delivered(before, archives, exclude):
            return before
        if before is None or before.status != DELIVERED:
            # An archive that can be fetched today stays on record until a newer one is there.
            write_archive_state(storage, _state(seal, PACKAGING, exclude))
        state = _deliver(seal, archives, exclude)
        write_archive_state(storage, state)
    except (AlphaResultsError, OSError) as error:
        return _failed(seal, storage, exclude, before, error)
    return state


@dataclass(frozen=True, slots=True)
class _Archive:
    content: bytes
    files: int
    left_out: int


def _deliver(seal: Seal, archives: Storage, exclude: Sequence[str]) -> ArchiveState:
    archive = _pack(seal, exclude)
    sha256 = digest(archive.content)
    # Named by its content: an upload replaces nothing, and a signed address never comes to mean other bytes.
    key = f"{seal.alpha_id}/{sha256}.zip"
    if archives.size(key) != len(archive.content):
        archives.put(key, archive.content)
    return replace(
        _state(seal, DELIVERED, exclude),
        key=key,
        size_bytes=len(archive.content),
        sha256=sha256,
        files=archive.files,
        left_out=archive.left_out,
    )


def _pack(seal: Seal, exclude: Sequence[str]) -> _Archive:
    sealed = seal.source_files()
    included = [path for path in sealed if not is_excluded(path, exclude)]
    if not included:
        raise SettingsError(
            f"none of the {len(sealed)} source files is left to package: the exclusion patterns leave all of them out"
            if sealed
            else "the run sealed a source folder without files"
        )
    content = zip_files({path: seal.read_source(path) for path in included})
    seal.drop("source")
    return _Archive(content, len(included), len(sealed) - len(included))


def _recorded(seal: Seal, storage: Storage) -> ArchiveState | None:
    try:
        return read_archive_state(storage, seal.alpha_id, seal.digest)
    except (AlphaResultsError, OSError):
        # A damaged record is replaced; a store that is away will say so when the next one is written.
        return None


def _is_delivered(state: ArchiveState, archives: Storage, exclude: Sequence[str]) -> bool:
    """Return whether what is recorded was packaged by the same patterns and can still be fetched."""
    if state.status != DELIVERED or state.key is None or state.exclude != tuple(exclude):
        return False
    return archives.size(state.key) == state.size_bytes


def _failed(
    seal: Seal, storage: Storage, exclude: Sequence[str], before: ArchiveState | None, error: Exception
) -> ArchiveState:
    state = replace(_state(seal, FAILED, exclude), reason=_one_line(error))
    if before is None or before.status != DELIVERED:
        try:
            write_archive_state(storage, state)
        except (AlphaResultsError, OSError) as unrecorded:
            return replace(state, reason=f"{state.reason}; nor was that recorded: {_one_line(unrecorded)}")
    return state


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _state(seal: Seal, status: str, exclude: Sequence[str]) -> ArchiveState:
    return ArchiveState(
        alpha_id=seal.alpha_id,
        seal_digest=seal.digest,
        status=status,
        updated_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        filename=f"{seal.alpha_id}.zip",
        exclude=tuple(exclude),
    )

"""Package the source of a checked seal and deliver the archive; its state is recorded at each step."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from datasets.manifest import digest
from datasets.provenance.archives import (
    DELIVERED,
    FAILED,
    PACKAGING,
    ArchiveState,
    read_archive_state,
    write_archive_state,
)
from datasets.publication.publish import DRAFT_AGE, sweep_staging
from datasets.storage import Storage, open_storage
from pipeline.archive.exclusions import DEFAULT_EXCLUDE, is_excluded
from pipeline.seal import Seal
from schemas.errors import AlphaResultsError, SettingsError, StorageUnavailable
from schemas.instants import utc_text

_ZIP_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest time of the ZIP format."""
_UNIX: Final = 3
_REGULAR_FILE: Final = 0o100644 << 16


class _AllLeftOut(SettingsError):
    """The exclusion patterns leave no source file to package."""


def package(
    seal: Seal, storage: Storage, archives_url: str | None, *, exclude: Sequence[str] = DEFAULT_EXCLUDE
) -> ArchiveState | None:
    """Package the source of a checked seal, upload the archive and record its state.

    A failure raises no error: the run is published without its archive, and the returned and recorded state gives the
    reason. The next call tries again; once the archive is delivered, a call only checks that the object exists.

    Parameters
    ----------
    seal
        A seal that passes the rules.
    storage
        The datasets root, which records the state.
    archives_url
        Folder or URL of a supported store for archives; None if the deployment keeps none.
    exclude
        Patterns of names to leave out, as :func:`pipeline.archive.exclusions.exclusions` returns them.

    Returns
    -------
    ArchiveState or None
        None, without a record, when the run sealed no source file or `archives_url` is None.
    """
    if archives_url is None or not seal.source_files():
        return None
    before = _recorded(seal, storage)
    try:
        archives = open_storage(archives_url)
        if before is not None and _is_delivered(before, archives, exclude):
            return before
        if before is None or before.status != DELIVERED:
            # The record of an available archive stays until a newer one is delivered.
            write_archive_state(storage, _state(seal, PACKAGING, exclude))
        state = _deliver(seal, archives, exclude)
        write_archive_state(storage, state)
    except (AlphaResultsError, OSError) as error:
        return _failed(seal, storage, exclude, before, error)
    return state


def zip_files(files: Mapping[str, bytes]) -> bytes:
    """Pack files into a ZIP archive.

    Names are sorted, and every file has the same time and mode, so the bytes depend on names and contents alone.
    Files are not compressed: the output of zlib differs between its builds, and an archive is identified by its digest.

    Parameters
    ----------
    files
        Relative path with forward slashes -> content.

    Returns
    -------
    bytes
        The archive; empty without files.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _ZIP_EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = _REGULAR_FILE
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def _deliver(seal: Seal, archives: Storage, exclude: Sequence[str]) -> ArchiveState:
    sealed = seal.source_files()
    included = [path for path in sealed if not is_excluded(path, exclude)]
    if not included:
        raise _AllLeftOut(
            "ALPHA_RESULTS_ARCHIVE_EXCLUDE: the exclusion patterns leave out every source file; narrow them, "
            "and the next build delivers the archive"
        )
    content = zip_files({path: seal.read("source", path) for path in included})
    seal.drop("source")
    sha256 = digest(content)
    # Named by its content: an upload replaces no other object, and a signed link always returns the same bytes.
    key = f"{seal.alpha_id}/{sha256}.zip"
    if _size(archives, key) != len(content):
        archives.put(key, content)
        if archives.folder is not None:
            # gc sweeps only the datasets root, so drafts of killed deliveries are removed here, or by the next delivery.
            with suppress(StorageUnavailable):
                sweep_staging(archives, datetime.now(UTC) - DRAFT_AGE)
    return replace(
        _state(seal, DELIVERED, exclude),
        key=key,
        size_bytes=len(content),
        sha256=sha256,
        files=len(included),
        left_out=len(sealed) - len(included),
    )


def _recorded(seal: Seal, storage: Storage) -> ArchiveState | None:
    try:
        return read_archive_state(storage, seal.alpha_id, seal.digest)
    except (AlphaResultsError, OSError):
        # A damaged record is replaced; an unavailable store fails when the next one is written.
        return None


def _is_delivered(state: ArchiveState, archives: Storage, exclude: Sequence[str]) -> bool:
    """Return whether the recorded archive was packaged by the same patterns and can still be fetched."""
    if state.status != DELIVERED or state.key is None or state.exclude != tuple(exclude):
        return False
    return _size(archives, state.key) == state.size_bytes


def _size(archives: Storage, key: str) -> int | None:
    signature = archives.signature(key)
    return None if signature is None else int(signature[1])


def _failed(
    seal: Seal, storage: Storage, exclude: Sequence[str], before: ArchiveState | None, error: Exception
) -> ArchiveState:
    left_out = len(seal.source_files()) if isinstance(error, _AllLeftOut) else 0
    state = replace(_state(seal, FAILED, exclude), reason=" ".join(str(error).split()), left_out=left_out)
    if before is None or before.status != DELIVERED:
        with suppress(AlphaResultsError, OSError):  # the result gives the reason of the failed delivery
            write_archive_state(storage, state)
    return state


def _state(seal: Seal, status: str, exclude: Sequence[str]) -> ArchiveState:
    return ArchiveState(
        alpha_id=seal.alpha_id,
        seal_digest=seal.digest,
        status=status,
        updated_at=utc_text(datetime.now(UTC), "seconds"),
        filename=f"{seal.alpha_id}.zip",
        exclude=tuple(exclude),
    )

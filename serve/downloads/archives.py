"""Signed links to source archives, created for each call and never stored or logged."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Final

import structlog

from datasets.provenance.archives import DELIVERED, ArchiveState, read_archive_state
from datasets.snapshot import Snapshot
from datasets.storage import Storage, open_storage, without_secrets
from schemas.errors import ApiError, SettingsError, StorageUnavailable
from schemas.objects.operations import SOURCE_LIFETIME
from serve.downloads.links import (
    WAIT_SECONDS,
    CredentialsMissing,
    SigningFailed,
    checked_url,
    open_signer,
)

_log = structlog.get_logger("serve.downloads")

RETRY_SECONDS: Final = 5


class SourceArchives:
    """Offers the archives that the pipeline delivered.

    Parameters
    ----------
    storage
        The datasets root, where the state of every archive is recorded.
    archives
        Address of the archives: ``s3://bucket/prefix``, for links signed for that store, or a local folder, for links that
        this service answers itself. None means that downloads are not configured.
    public_endpoint
        Base URL at which callers reach the object store; by default the one this service uses. For a folder, the https
        URL of a host that forwards links to this service; without it downloads are not configured.

    Raises
    ------
    SettingsError
        If the store is not supported, the S3 address names no bucket, or the public endpoint is not an http or https URL
        (for a folder, not an https URL).
    """

    def __init__(self, storage: Storage, archives: str | None, public_endpoint: str | None = None) -> None:
        self._storage = storage
        endpoint = checked_url(public_endpoint, "ALPHA_RESULTS_ARCHIVES_PUBLIC_ENDPOINT")
        self._signer = open_signer(archives, "archives", endpoint)
        self._archives = open_storage(archives) if archives else None
        self._folder = None if self._signer else self._archives
        self.file_host: Final = endpoint if self._folder else None
        """Base URL of links to archives in a folder; None for a bucket."""
        if self.file_host is not None and not self.file_host.startswith("https://"):
            raise SettingsError(
                f"ALPHA_RESULTS_ARCHIVES_PUBLIC_ENDPOINT is {without_secrets(self.file_host)!r}: archives in a folder are "
                "fetched from an https host; write https://host"
            )
        if self._folder is not None and self.file_host is None:
            _log.warning(
                "archives_not_offered",
                fix="set ALPHA_RESULTS_ARCHIVES_PUBLIC_ENDPOINT to an https host, or deliver into a bucket",
            )

    async def offer(self, snapshot: Snapshot) -> dict[str, Any]:
        """Sign a link to the source archive of a snapshot.

        Returns
        -------
        dict
            The ``data`` of the answer; without ``url`` if the archive is in a folder, whose links :meth:`open`
            answers.

        Raises
        ------
        ApiError
            ``source_download_not_configured``, ``source_not_ready``, ``source_object_missing`` or
            ``source_download_unavailable``.
        StorageUnavailable
            If the datasets root, which holds the state, does not answer.
        """
        if self._signer is None and self.file_host is None:
            raise _not_configured()
        try:
            return await asyncio.wait_for(asyncio.to_thread(self._offer, snapshot), WAIT_SECONDS)
        except TimeoutError:
            raise _unavailable("archive_store_slow", snapshot) from None

    def state(self, snapshot: Snapshot) -> ArchiveState | None:
        """Return the recorded state of the source archive of a snapshot; None without a record.

        Raises
        ------
        StorageUnavailable
            When the datasets root does not answer.
        """
        if "source" not in snapshot.manifest.kinds:
            return None
        return read_archive_state(self._storage, snapshot.alpha_id, snapshot.manifest.seal_digest)

    def open(self, snapshot: Snapshot) -> tuple[ArchiveState, int]:
        """Return the recorded state of an archive in a folder, and a descriptor, which the caller closes.

        Raises
        ------
        ApiError
            As for :meth:`offer`: ``source_object_missing`` if the file is gone or has another size, and
            ``source_download_unavailable`` if the folder itself is missing or empty, as if not mounted.
        """
        if self._folder is None:
            raise _not_configured()
        state = self._delivered_state(snapshot)
        try:
            descriptor = os.open(self._folder.url(state.key or ""), os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError)
            if missing and not _is_unmounted(self._folder):
                raise _object_missing(state) from None
            raise _unavailable("archive_folder_failed", snapshot, kind=type(error).__name__) from None
        if os.fstat(descriptor).st_size != state.size_bytes:
            os.close(descriptor)
            raise _object_missing(state)
        return state, descriptor

    def _delivered_state(self, snapshot: Snapshot) -> ArchiveState:
        state = self.state(snapshot)
        if state is None or state.status != DELIVERED:
            raise ApiError(
                "source_not_ready",
                "The source archive of this run is not ready.",
                None if state is None else {"status": state.status},
            )
        return state

    def _offer(self, snapshot: Snapshot) -> dict[str, Any]:
        if self._folder is not None:
            state, descriptor = self.open(snapshot)
            os.close(descriptor)
            return _archive_data(state)
        state = self._delivered_state(snapshot)
        assert self._signer is not None
        assert self._archives is not None
        key = state.key or ""
        try:
            url = self._signer.sign(key, state.filename, "application/zip", SOURCE_LIFETIME)
            signature = self._archives.signature(key)
        except CredentialsMissing as error:
            _log.error("archive_store_without_credentials", kind=str(error))
            raise _not_configured() from None
        except (SigningFailed, StorageUnavailable) as error:
            raise _unavailable("archive_store_failed", snapshot, reason=str(error)) from None
        if signature is None or state.size_bytes not in {None, signature[1]}:
            raise _object_missing(state)
        return {"url": url, **_archive_data(state)}


def _archive_data(state: ArchiveState) -> dict[str, Any]:
    return {
        "expires_in": SOURCE_LIFETIME,
        "filename": state.filename,
        "size_bytes": state.size_bytes,
        "sha256": state.sha256,
    }


def _is_unmounted(folder: Storage) -> bool:
    """Whether a folder is missing or empty."""
    try:
        return not any(Path(folder.url("")).iterdir())
    except OSError:
        return True


def _unavailable(event: str, snapshot: Snapshot, **fields: str) -> ApiError:
    _log.error(event, alpha_id=snapshot.alpha_id, **fields)
    return ApiError(
        "source_download_unavailable",
        "The store of source archives does not answer at present; try again later.",
        headers={"Retry-After": str(RETRY_SECONDS)},
    )


def _object_missing(state: ArchiveState) -> ApiError:
    _log.error("archive_object_missing", alpha_id=state.alpha_id, key=state.key)
    return ApiError("source_object_missing", "The delivered source archive was removed or replaced since.")


def _not_configured() -> ApiError:
    return ApiError("source_download_not_configured", "This deployment offers no source archives.")

"""Finished seals below a folder or prefix, read from their manifests alone."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from stat import S_ISDIR
from typing import Any

from datasets.disk import NotRegular, TooLarge, read_regular, reading
from datasets.storage import Signature, open_storage
from pipeline.folder import require_folder
from pipeline.seal.manifest import MANIFEST_FILE, parse_manifest
from schemas.errors import DiskUnavailable, SettingsError, StorageUnavailable
from schemas.kinds import MAX_BYTES
from schemas.objects.seal import FOLDER_KIND


@dataclass(frozen=True, slots=True)
class DiscoveredSeal:
    """A finished seal at the time of a scan; alpha and time are None if its manifest is invalid, which the build reports."""

    address: str
    digest: str
    """Digest of the manifest, which identifies the seal; of address and listing entry if the manifest is unreadable."""
    alpha_id: str | None = None
    sealed_at: datetime | None = None
    has_source: bool = False
    nested: Mapping[str, str] = field(default_factory=dict)
    """Address -> digest of source files named like a manifest; they are not seals."""


class Seals:
    """The finished seals below a folder or prefix; a manifest is read again only if its listing changed.

    Seals may lie at any depth, also inside another seal; a manifest that a seal declares as its own source file is not a seal.

    Raises
    ------
    SettingsError
        When the address is a file, or a folder that does not exist.
    """

    def __init__(self, address: str) -> None:
        self._storage = require_folder(
            open_storage(address), "--from", "give the folder that seals are written to"
        )
        self._address = address.rstrip("/")
        self._known: dict[str, tuple[tuple[Any, ...], DiscoveredSeal]] = {}
        self._scanned = False
        self._disk = self._disk_now()
        """Disk that held the folder when seals were last found in it."""

    def scan(self) -> list[DiscoveredSeal]:
        """Return every finished seal, by address.

        Raises
        ------
        SettingsError
            At the first scan, when the bucket does not exist or the prefix holds no object.
        StorageUnavailable
            When the store does not answer, or the folder was removed or unmounted.
        """
        disk = self._disk_now()
        try:
            listed = self._storage.find_named(MANIFEST_FILE)
            if not listed and not self._scanned:
                self._require_prefix()
        except StorageUnavailable as error:
            # A missing bucket is a wrong setting; a watcher would otherwise wait for it forever.
            if self._scanned or not isinstance(error.__cause__, FileNotFoundError):
                raise
            raise SettingsError(f"--from: {error}") from error
        self._scanned = True
        if listed:
            self._disk = disk
        elif disk != self._disk:
            raise DiskUnavailable(
                f"--from: {self._storage.address} is on another disk than before, without any seal; mount its disk again"
            )
        self._known = {path: known for path, known in self._known.items() if listed.get(path) == known[0]}
        unread = {}
        for path, raw in self._read([path for path in listed if path not in self._known], listed).items():
            folder = path.removesuffix(MANIFEST_FILE).rstrip("/")
            address = f"{self._address}/{folder}".rstrip("/")
            if raw:
                self._known[path] = listed[path], read_manifest(address, raw)
            elif raw is not None:  # None: removed since the listing
                # Not cached: granting read permission does not change the signature.
                text = f"{address} {listed[path]}".encode("utf-8", "replace")
                unread[path] = DiscoveredSeal(address, hashlib.sha256(text).hexdigest())
        by_path = {path: seal for path, (_, seal) in self._known.items()} | unread
        seen = [by_path[path] for path in sorted(by_path)]
        nested = {address: digest for seal in seen for address, digest in seal.nested.items()}
        return [seal for seal in seen if nested.get(seal.address) != seal.digest]

    def _disk_now(self) -> int:
        """Return the id of the disk of a local folder; raises DiskUnavailable if there is no folder."""
        folder = self._storage.folder
        if folder is None:
            return 0
        with reading(folder), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            status = folder.stat()
            if S_ISDIR(status.st_mode):
                return status.st_dev
        raise DiskUnavailable(
            f"--from: there is no folder {self._storage.address} any more; mount its disk, or create it again"
        )

    def _require_prefix(self) -> None:
        """Refuse a prefix without objects, as a missing folder is refused."""
        if self._storage.folder is None and "/" in self._storage.base and not self._storage.children(""):
            raise SettingsError(
                f"--from: {self._storage.address} holds no object; correct the address, or create the prefix with an empty object "
                f"{self._storage.address.rstrip('/')}/"
            )

    def _read(self, paths: list[str], listed: Mapping[str, Signature]) -> dict[str, bytes | None]:
        """Read manifests; None if removed, empty if unreadable (the build reports the reason)."""
        limit = MAX_BYTES["seal"]
        if self._storage.folder is None:
            small = [path for path in paths if listed[path][1] <= limit]
            return dict.fromkeys(paths, b"") | self._storage.read_many(small)
        manifests: dict[str, bytes | None] = {}
        for path in paths:
            try:
                manifests[path] = read_regular(self._storage.url(path), limit)
            except FileNotFoundError:
                manifests[path] = None
            except (OSError, ValueError, NotRegular, TooLarge, StorageUnavailable):
                manifests[path] = b""
        return manifests


def read_manifest(address: str, raw: bytes) -> DiscoveredSeal:
    """Describe a seal from the bytes of its manifest."""
    digest = hashlib.sha256(raw).hexdigest()
    manifest, _ = parse_manifest(raw)
    if manifest is None:
        return DiscoveredSeal(address, digest)
    source = manifest.kinds.get(FOLDER_KIND)
    if source is None:
        return DiscoveredSeal(address, digest, manifest.alpha_id, manifest.sealed_at)
    nested = {
        f"{address}/{path}".removesuffix(f"/{MANIFEST_FILE}"): source.files[name]
        for name, path in source.paths.items()
        if name.rsplit("/", 1)[-1] == MANIFEST_FILE
    }
    has_source = bool(source.files)
    return DiscoveredSeal(address, digest, manifest.alpha_id, manifest.sealed_at, has_source, nested)

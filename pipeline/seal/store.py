"""Files of a seal in a folder or an object store, by paths that stay inside the seal."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import IO

from datasets.disk import TooLarge, read_parts, temporary_folder, writing
from datasets.storage import open_storage, without_secrets
from schemas.console.terminal import visible
from schemas.errors import SealUnreadable, SettingsError, SnapshotCorrupt, StorageUnavailable
from schemas.kinds import MAX_NAME_BYTES, MAX_PATH_BYTES


def shown_address(address: str) -> str:
    """Return an address for messages and reports, without credentials and on one line."""
    return visible(without_secrets(address)).replace("\n", "\\n")


_NOT_FOUND = (FileNotFoundError, NotADirectoryError)


class SealStore:
    """Read-only access to the files below one address.

    Parameters
    ----------
    address
        A local path or the URL of a supported store, such as ``s3://bucket/prefix``.

    Raises
    ------
    SealUnreadable
        When no file system supports the address.
    """

    def __init__(self, address: str) -> None:
        self.name = shown_address(address)
        try:
            self._storage = open_storage(address)
        except SettingsError as error:
            raise SealUnreadable(visible(str(error))) from error

    @property
    def missing(self) -> bool:
        """Whether it is a local folder that does not exist."""
        return self._storage.missing

    def is_file(self) -> bool:
        """Return whether the address is a local file rather than a folder."""
        try:
            return self._storage.folder is not None and self._storage.folder.is_file()
        except OSError:
            return False

    def first_folder_with(self, name: str) -> str | None:
        """Return the first direct subfolder with a file of this name; None if there is none or they cannot be listed."""
        with contextlib.suppress(StorageUnavailable):
            folders = self._storage.folders("")
            return next((x for x in folders if self._storage.signature(f"{x}/{name}")), None)
        return None

    def link_fault(self, path: str) -> str | None:
        """Return why a lexically valid path must not be followed: it passes through a link, or leads to no regular file.

        Object stores have no links. A missing path has no fault here: another rule reports missing files.
        """
        folder = self._storage.folder
        if folder is None:
            return None
        step = folder  # without links itself: the operator may have named it by one
        try:
            for segment in path.rstrip("/").split("/"):
                step /= segment
                if step.is_symlink():
                    return f"{step.relative_to(folder)} is a link"
            if step.is_dir():
                return "it is a folder"
            return "it is not a regular file" if step.exists() and not step.is_file() else None
        except OSError as error:
            return f"it cannot be accessed: {error.strerror}"

    def read(self, path: str, limit: int) -> bytes | None:
        """Return the bytes of one file; None if there is no such file.

        Parameters
        ----------
        path
            Relative to the seal; must have passed :func:`pipeline.seal.store.lexical_fault`.
        limit
            Maximum bytes to read.

        Raises
        ------
        NotRegular
            When the path is a folder, a link, a pipe, a socket or a device.
        TooLarge
            When the file exceeds the limit.
        SealUnreadable
            When reading is not permitted.
        StorageUnavailable
            When the store did not answer.
        """
        try:
            return b"".join(self._read(path, limit))
        except _NOT_FOUND:
            return None

    def copy(self, path: str, limit: int, target: IO[bytes]) -> tuple[str, int] | None:
        """Copy one file, in parts if it is local; raises as :meth:`read`.

        Returns
        -------
        tuple or None
            SHA-256 (hex) and size of the copied bytes; None when there is no such file.
        """
        digest, size = hashlib.sha256(), 0
        try:
            for part in self._read(path, limit):
                digest.update(part)
                size += len(part)
                with writing(temporary_folder()):
                    target.write(part)
                    target.flush()
        except _NOT_FOUND:
            return None
        return digest.hexdigest(), size

    def _read(self, path: str, limit: int) -> Iterator[bytes]:
        if self._storage.folder is not None:
            yield from self._read_local(path, limit)
            return
        try:
            yield self._storage.read(path, limit)
        except SnapshotCorrupt as error:
            if isinstance(error.__cause__, TooLarge):
                raise error.__cause__ from None
            raise

    def _read_local(self, path: str, limit: int) -> Iterator[bytes]:
        """Yield the parts of a local file; errors name the seal and the file."""
        try:
            yield from read_parts(self._storage.url(path), limit)
        except StorageUnavailable as error:
            if isinstance(error.__cause__, PermissionError):
                raise SealUnreadable(
                    f"{self.name}: reading {path} is not permitted; let this user read it"
                ) from error
            raise
        except _NOT_FOUND:
            raise
        except (OSError, ValueError) as error:
            # A path that is too long or invalid.
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise SealUnreadable(
                f"{self.name}: {path} cannot be read: {reason}; correct the address"
            ) from error


def lexical_fault(path: str, *, folder: bool = False) -> str | None:
    """Return the lexical fault of a path; None for a valid path.

    Parameters
    ----------
    path
        As declared, relative to the seal (or to its folder), with forward slashes.
    folder
        Whether it names a folder, which may end in a slash.
    """
    if path.startswith("/"):
        return "it is absolute"
    if "\\" in path:
        return "it holds a backslash"
    if any(ord(character) < 32 or ord(character) == 127 for character in path):
        return "it holds a control character"
    if len(path.encode("utf-8", "replace")) > MAX_PATH_BYTES:
        return f"it is longer than {MAX_PATH_BYTES} bytes"
    segments = path.removesuffix("/").split("/") if folder else path.split("/")
    if any(len(segment.encode("utf-8", "replace")) > MAX_NAME_BYTES for segment in segments):
        return f"a name in it is longer than {MAX_NAME_BYTES} bytes"
    if ".." in segments:
        return "it climbs out of its folder with '..'"
    if "" in segments or "." in segments:
        return "it is not a plain relative path: it holds an empty or '.' segment"
    if ":" in segments[0]:
        return "it holds a colon, as a drive or a URL does"
    return None

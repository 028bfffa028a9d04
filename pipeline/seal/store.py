"""Where the bytes of a seal are: a local folder or any other store that is supported."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator
from typing import IO

from datasets.regular_file import TooLarge, parts_of_regular, read_regular
from datasets.storage import open_storage
from datasets.storage import without_secrets as _without_secrets
from pipeline.seal.paths import link_fault
from schemas.errors import SealUnreadable, SettingsError, StorageUnavailable

__all__ = ["SealStore", "printable", "without_secrets"]


def printable(text: str) -> str:
    """Write what a terminal would obey, and what no encoding has, as escapes; line breaks stay."""
    return "".join(
        character
        if character.isprintable() or character == "\n"
        else character.encode("unicode_escape", "backslashreplace").decode()
        for character in text
    )


def without_secrets(address: str) -> str:
    """Return an address as messages and reports show it: without user names and passwords, and in one line."""
    return printable(_without_secrets(address)).replace("\n", "\\n")


_GONE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class SealStore:
    """Read-only access to the files below one address.

    Parameters
    ----------
    address
        A local path or the URL of a supported store, such as ``s3://bucket/prefix``.

    Raises
    ------
    SealUnreadable
        When no file system answers to the address.
    """

    def __init__(self, address: str) -> None:
        self.name = without_secrets(address)
        try:
            storage = open_storage(address)
        except SettingsError as error:
            raise SealUnreadable(printable(str(error))) from error
        self._storage = storage

    @property
    def local(self) -> bool:
        """Whether it is a folder of this machine."""
        return self._storage.folder is not None

    def is_file(self) -> bool:
        """Return whether the address is that of a local file, where a seal would be a folder."""
        try:
            return self._storage.folder is not None and self._storage.folder.is_file()
        except OSError:
            return False

    def link_fault(self, path: str) -> str | None:
        """Say whether a lexically sound path is a link out of the seal; object stores know no links."""
        folder = self._storage.folder
        try:
            return None if folder is None else link_fault(str(folder), path)
        except OSError as error:
            return f"it cannot be looked at: {error.strerror}"

    def read(self, path: str, limit: int) -> bytes | None:
        """Return the bytes of one file, or None when there is no such file.

        Parameters
        ----------
        path
            Relative to the seal; only ever one that :func:`pipeline.seal.paths.lexical_fault` passed.
        limit
            Most bytes to read.

        Raises
        ------
        NotRegular
            When it is a link, a pipe, a socket or a device.
        TooLarge
            When it holds more than the limit.
        SealUnreadable
            When reading is not permitted.
        StorageUnavailable
            When the store did not answer.
        """
        return (
            self._read_file(path, limit)
            if self._storage.folder is not None
            else self._read_object(path, limit)
        )

    def copy(self, path: str, limit: int, target: IO[bytes]) -> tuple[str, int] | None:
        """Copy one file without ever having all of it in memory, where it is on this machine.

        Returns
        -------
        tuple or None
            SHA-256 (hex) and size of what was copied; None when there is no such file. Raised is what :meth:`read` raises.
        """
        if self._storage.folder is None:
            raw = self._read_object(path, limit)
            parts: Iterable[bytes] = () if raw is None else (raw,)
            if raw is None:
                return None
        else:
            parts = parts_of_regular(self._storage.full(path), limit)
        digest, size = hashlib.sha256(), 0
        with self._naming(path):
            try:
                for part in parts:
                    digest.update(part)
                    size += len(part)
                    target.write(part)
            except _GONE:
                return None
        target.flush()
        return digest.hexdigest(), size

    def _read_file(self, path: str, limit: int) -> bytes | None:
        with self._naming(path):
            try:
                return read_regular(self._storage.full(path), limit)
            except _GONE:
                return None

    @contextlib.contextmanager
    def _naming(self, path: str) -> Iterator[None]:
        """Add the seal and the file to errors raised while reading."""
        try:
            yield
        except StorageUnavailable as error:
            if isinstance(error.__cause__, PermissionError):
                raise SealUnreadable(f"{self.name}: reading {path} is not permitted") from error
            raise
        except (OSError, ValueError) as error:
            # The path is too long for the disk, or nothing that a disk could have.
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise SealUnreadable(
                f"{self.name}: {path} cannot be read: {reason}; correct the address"
            ) from error

    def _read_object(self, path: str, limit: int) -> bytes | None:
        try:
            return self._bounded(path, limit)
        except _GONE:
            return None
        except (TooLarge, StorageUnavailable, MemoryError):
            raise
        except Exception as error:
            # Every file system raises its own client's exceptions here; none of them says the seal is wrong.
            raise StorageUnavailable(
                f"{self.name}: {path} could not be read ({type(error).__name__}); try again later"
            ) from error

    def _bounded(self, path: str, limit: int) -> bytes | None:
        signature = self._storage.signature(path)
        if signature is None:
            return None
        if signature[1] > limit:
            raise TooLarge(signature[1])
        return self._storage.read(path, limit)

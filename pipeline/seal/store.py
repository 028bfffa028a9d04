"""Where the bytes of a seal are: a local folder or any other file system that fsspec can open."""

from __future__ import annotations

from pathlib import Path

from datasets.storage import Storage, without_secrets
from pipeline.seal.paths import link_fault
from schemas.errors import SealUnreadable, SettingsError, StorageUnavailable

__all__ = ["SealStore", "without_secrets"]

_GONE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class SealStore:
    """Read-only access to the files below one address.

    Parameters
    ----------
    address
        A local path or an fsspec URL such as ``s3://bucket/prefix``.

    Raises
    ------
    SealUnreadable
        When no file system answers to the address.
    """

    def __init__(self, address: str) -> None:
        self.name = without_secrets(address)
        try:
            storage = Storage(address)
        except SettingsError as error:
            raise SealUnreadable(f"{self.name}: {error}; give a folder or an fsspec URL") from error
        self._storage = storage
        self._root = storage.base or "/"

    def is_file(self) -> bool:
        """Tell whether the address is that of a local file, where a seal would be a folder."""
        return self._storage.is_local and Path(self._root).is_file()

    def link_fault(self, path: str) -> str | None:
        """Say whether a lexically sound path is a link out of the seal; object stores know no links."""
        return link_fault(self._root, path) if self._storage.is_local else None

    def read(self, path: str) -> bytes | None:
        """Return the bytes of one file, or None when there is no such file.

        Parameters
        ----------
        path
            Relative to the seal; only ever one that :func:`pipeline.seal.paths.lexical_fault` passed.

        Raises
        ------
        SealUnreadable
            When reading is not permitted.
        StorageUnavailable
            When the store did not answer.
        """
        try:
            return self._storage.read(path)
        except _GONE:
            return None
        except StorageUnavailable as error:
            if self._storage.is_local and isinstance(error.__cause__, PermissionError):
                raise SealUnreadable(f"{self.name}: reading {path} is not permitted") from error
            raise
        except Exception as error:
            # Every file system raises its own client's exceptions here; none of them says the seal is wrong.
            raise StorageUnavailable(
                f"{self.name}: {path} could not be read ({type(error).__name__}); try again later"
            ) from error

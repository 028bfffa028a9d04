"""Where the bytes of a seal are: a local folder or any other store that is supported."""

from __future__ import annotations

from datasets.storage import open_storage, without_secrets
from pipeline.seal.paths import link_fault
from schemas.errors import SealUnreadable, SettingsError, StorageUnavailable

__all__ = ["SealStore", "without_secrets"]

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
            raise SealUnreadable(f"{self.name}: {error}") from error
        self._storage = storage

    def is_file(self) -> bool:
        """Tell whether the address is that of a local file, where a seal would be a folder."""
        return self._storage.folder is not None and self._storage.folder.is_file()

    def link_fault(self, path: str) -> str | None:
        """Say whether a lexically sound path is a link out of the seal; object stores know no links."""
        folder = self._storage.folder
        return None if folder is None else link_fault(str(folder), path)

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
            if self._storage.folder is not None and isinstance(error.__cause__, PermissionError):
                raise SealUnreadable(f"{self.name}: reading {path} is not permitted") from error
            raise
        except Exception as error:
            # Every file system raises its own client's exceptions here; none of them says the seal is wrong.
            raise StorageUnavailable(
                f"{self.name}: {path} could not be read ({type(error).__name__}); try again later"
            ) from error

"""Early check that an operator's address is a folder, or can become one."""

from __future__ import annotations

import errno
from pathlib import Path
from stat import S_ISDIR

from datasets.storage import Storage
from schemas.errors import SettingsError


def require_folder(storage: Storage, flag: str, fix: str, *, allow_missing: bool = False) -> Storage:
    """Refuse a local address that is not a folder; an object store has none.

    Parameters
    ----------
    storage
        Storage opened at the address.
    flag
        Option that gave the address; the message begins with it.
    fix
        Fix; the message ends with it.
    allow_missing
        Whether a missing folder is allowed, because it will be created.

    Returns
    -------
    Storage
        The `storage` argument.

    Raises
    ------
    SettingsError
        When the address is a file or lies below one, or is missing without `allow_missing`.
    StorageUnavailable
        When the disk fails, or access is not permitted.
    """
    folder = storage.folder
    if folder is None:
        return storage
    if (file := _blocking_file(folder)) is not None:
        what = "is" if file == folder else f"cannot be a folder: {str(file)!r} is"
        raise SettingsError(f"{flag}: {storage.address!r} {what} a file, not a folder; {fix}")
    if not allow_missing and storage.missing:
        raise SettingsError(f"{flag}: there is no folder {storage.address!r}; {fix}")
    return storage


def _blocking_file(folder: Path) -> Path | None:
    """Return the path or the nearest parent that is a file; None if there is none."""
    for path in (folder, *folder.parents):
        try:
            mode = path.stat().st_mode
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR}:
                continue
            return None  # later reads and writes report the disk error
        return None if S_ISDIR(mode) else path
    return None

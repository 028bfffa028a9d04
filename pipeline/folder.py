"""Early check that an operator's address is a folder, or can become one."""

from __future__ import annotations

import errno
from pathlib import Path
from stat import S_ISDIR

from datasets.storage import Storage
from schemas.errors import SettingsError


def require_folder(storage: Storage, flag: str, fix: str, *, made: bool = False) -> Storage:
    """Refuse a local address that is not a folder; an object store has none.

    Parameters
    ----------
    storage
        What was opened at the address.
    flag
        The option the address came from, which the message begins with.
    fix
        What to give instead, which the message ends with.
    made
        Whether a folder that is not there yet is going to be made.

    Returns
    -------
    Storage
        The one given.

    Raises
    ------
    SettingsError
        When it is a file or lies below one, and, unless it is going to be made, when it is not there.
    StorageUnavailable
        When the disk fails, or does not permit to look.
    """
    folder = storage.folder
    if folder is None:
        return storage
    if (file := _blocking_file(folder)) is not None:
        what = "is" if file == folder else f"cannot be a folder: {str(file)!r} is"
        raise SettingsError(f"{flag}: {storage.address!r} {what} a file, not a folder; {fix}")
    if not made and storage.missing:
        raise SettingsError(f"{flag}: there is no folder {storage.address!r}; {fix}")
    return storage


def _blocking_file(folder: Path) -> Path | None:
    """Return the path or its parent that is a file; None if there is none."""
    for path in (folder, *folder.parents):
        try:
            mode = path.stat().st_mode
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR}:
                continue
            return None  # later reads and writes report the error of the disk
        return None if S_ISDIR(mode) else path
    return None

"""One archive for one set of files: the same bytes wherever and whenever it is made."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Final

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""The earliest moment a ZIP file can state."""
_UNIX: Final = 3
_REGULAR_FILE: Final = 0o100644 << 16


def zip_files(files: Mapping[str, bytes]) -> bytes:
    """Pack files into a ZIP archive.

    Names are sorted, and time and mode are the same for every file, so the bytes depend on nothing but the names and
    contents. Files are stored as they are: what a compressor writes differs between builds of zlib, and an archive
    is known by its digest.

    Parameters
    ----------
    files
        Relative path with forward slashes -> content.

    Returns
    -------
    bytes
        The archive; without any file, an empty one.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = _UNIX
            entry.external_attr = _REGULAR_FILE
            archive.writestr(entry, files[name])
    return buffer.getvalue()

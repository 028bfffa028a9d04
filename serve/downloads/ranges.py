"""Ranges and conditions of a request for a file, as RFC 9110 reads them."""

from __future__ import annotations

import re
from typing import Final

_RANGE: Final = re.compile(r"bytes=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*\Z", re.IGNORECASE)


class UnsatisfiableRange(ValueError):
    """A range that begins after the end of the file."""


def wanted_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first byte of a range and the one after its last.

    Parameters
    ----------
    header
        The value of ``Range``; None when there is none.
    size
        Bytes of the file.

    Returns
    -------
    tuple or None
        None asks for the whole file: there is no range, it is not one of bytes, it breaks the grammar, or there are
        several, of which a server may ignore all.

    Raises
    ------
    UnsatisfiableRange
        When nothing of the file is in it.
    """
    match = None if header is None else _RANGE.match(header)
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":
        length = min(int(match[2]), size)
        if length == 0:
            raise UnsatisfiableRange
        return size - length, size
    first = int(match[1])
    last = int(match[2]) if match[2] else size - 1
    if match[2] and last < first:
        return None
    if first >= size:
        raise UnsatisfiableRange
    return first, min(last + 1, size)


def same_entity(if_range: str | None, etag: str) -> bool:
    """Return whether a range may be answered: there is no ``If-Range``, or it names this very file.

    A weak tag and a date never do: the file has a strong tag, and no date that a caller was told.
    """
    return if_range is None or if_range.strip() == etag

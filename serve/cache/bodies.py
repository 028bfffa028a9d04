"""Finished bodies: a page asked for again is sent as it is."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from serve.http.encoding import IDENTITY, MIN_ENCODED_BYTES, encode
from serve.pages.json import BodyChunks

JOINED_BYTES: Final = 1 << 17
"""Bytes up to which pieces are put together: handing each over costs more than copying them."""
_OVERHEAD: Final = 400
"""What an entry takes besides its body."""


@dataclass(frozen=True, slots=True)
class Body:
    """The body of an answer in one content coding.

    Attributes
    ----------
    pieces
        As it is sent.
    coding
        The content coding it has in the end; a small body stays as it is, whatever was negotiated.
    etag
        Its entity tag as it is sent; empty for what has none.
    """

    pieces: BodyChunks
    coding: str
    etag: str = ""

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return sum(map(len, self.pieces)) + _OVERHEAD

    def copied(self) -> Body:
        """Return the same body in memory of its own, and no more of it than the body has bytes.

        A slice holds on to all of what it was cut from, and what an encoder returns the whole of its buffer.
        """
        return Body((b"".join(map(memoryview, self.pieces)),), self.coding, self.etag)


class AdmissionFilter:
    """Remembers what was asked lately, so that what is asked once does not push out what is asked again and again.

    Parameters
    ----------
    names
        How many names are remembered at least.
    """

    def __init__(self, names: int) -> None:
        self._names = names
        self._newer: set[Hashable] = set()
        self._older: set[Hashable] = set()

    def note(self, name: Hashable) -> bool:
        """Note that something is asked; return whether it was before, as far back as is remembered."""
        if name in self._newer:
            return True
        known = name in self._older
        if len(self._newer) >= self._names:
            self._older, self._newer = self._newer, set()
        self._newer.add(name)
        return known


def coded(pieces: BodyChunks, coding: str, etag: str = "") -> Body:
    """Apply a negotiated coding to a body; one that stays as it is, is not copied."""
    if coding == IDENTITY or sum(map(len, pieces)) < MIN_ENCODED_BYTES:
        return Body(pieces, IDENTITY, etag)
    return Body((encode(b"".join(pieces), coding),), coding, etag)

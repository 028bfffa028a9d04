"""Finished bodies: a page asked for again is sent as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from serve.compression import IDENTITY, SMALLEST, encode
from serve.json_rows import type_pieces

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
    """

    pieces: type_pieces
    coding: str

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return sum(map(len, self.pieces)) + _OVERHEAD


def coded(pieces: type_pieces, coding: str) -> Body:
    """Apply a negotiated coding to a body; what stays as it is, is not copied."""
    if coding == IDENTITY or sum(map(len, pieces)) < SMALLEST:
        return Body(pieces, IDENTITY)
    content, used = encode(b"".join(pieces), coding)
    return Body((content,), used)

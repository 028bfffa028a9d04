"""Finished bodies: a page asked for again is sent as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_OVERHEAD: Final = 400
"""What an entry takes besides its body."""


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a page in one content coding.

    Attributes
    ----------
    content
        As it is sent.
    coding
        The content coding it has in the end; a small body stays as it is, whatever was negotiated.
    """

    content: bytes
    coding: str

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return len(self.content) + _OVERHEAD

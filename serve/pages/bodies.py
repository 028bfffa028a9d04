"""Finished bodies in their content coding: a page asked for again is sent as it is."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from typing import Final

from isal import isal_zlib

from serve.cache import SizedLRUCache, SnapshotKey
from serve.pages.json import BodyChunks

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

IDENTITY: Final = "identity"
CODINGS: Final = ("zstd", "gzip")
"""The cheapest first: the order that decides between equally welcome ones."""
MIN_ENCODED_BYTES: Final = 1024
"""Bodies below this many bytes travel as they are: the saving would be less than a packet."""
IMMEDIATE_BYTES: Final = 1 << 18
"""Bodies up to this many bytes are compressed where they are made: a turn of a compute thread and back costs about as much."""
JOINED_BYTES: Final = 1 << 17
"""Bytes up to which pieces are put together: handing each over costs more than copying them."""
_OVERHEAD: Final = 400
"""What an entry takes besides its body."""
_LEVEL: Final = 1
"""Of both codings."""
_GZIP: Final = 31
"""Deflate with the header of gzip, by the numbers of zlib."""
_compressors: Final = threading.local()
"""One of zstd for each thread: making one takes longer than compressing a few rows."""


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


class Bodies:
    """Finished bodies, cached where that pays. Safe to share between threads.

    Parameters
    ----------
    cache
        Where they stay.
    asked
        Pages of which it is remembered at least that they were asked for: what is asked once takes room that is free, and
        only what is asked again pushes others out.
    """

    def __init__(self, cache: SizedLRUCache[Body], asked: int = 10_000) -> None:
        self._cache = cache
        self._most_asked = asked
        self._newer: set[str] = set()
        self._older: set[str] = set()
        self.get: Final = cache.get
        """Return the body of a snapshot by tag and content coding; None on a miss."""

    def finish(
        self, owner: SnapshotKey, tag: str, coding: str, pieces: BodyChunks, etag: str, *, costly: bool
    ) -> Body:
        """Encode a body, and cache it where it was asked for again or was costly to make."""
        body = coded(pieces, coding, etag)
        again = self._was_asked(tag)
        if again or costly:
            self._cache.put(owner, (tag, coding), body.copied(), body.bytes, evict=again)
        return body

    def _was_asked(self, tag: str) -> bool:
        """Note that a page is asked for, and return whether it was before, as far back as is remembered."""
        if tag in self._newer:
            return True
        known = tag in self._older
        if len(self._newer) >= self._most_asked:
            self._older, self._newer = self._newer, set()
        self._newer.add(tag)
        return known


def coded(pieces: BodyChunks, coding: str, etag: str = "") -> Body:
    """Apply a negotiated coding to a body; one that stays as it is, is not copied."""
    if coding == IDENTITY or sum(map(len, pieces)) < MIN_ENCODED_BYTES:
        return Body(pieces, IDENTITY, etag)
    return Body((encode(b"".join(pieces), coding),), coding, etag)


def encode(body: bytes, coding: str) -> bytes:
    """Apply a coding other than identity: of gzip the outcome is one member, of zstd one frame."""
    if coding == "gzip":
        return isal_zlib.compress(body, _LEVEL, _GZIP)
    if not hasattr(_compressors, "zstd"):
        _compressors.zstd = zstd.ZstdCompressor(level=_LEVEL)
    compressed: bytes = _compressors.zstd.compress(body, zstd.ZstdCompressor.FLUSH_FRAME)
    return compressed

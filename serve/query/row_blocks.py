"""Rows compressed in blocks that can be joined: a page is compressed at the price of its first and last rows.

A block of gzip is a run of deflate data that ends on a byte boundary and refers to nothing before it (RFC 1951, a full
flush); a block of zstd is a frame of its own, and frames follow one another (RFC 8878). So any neighbouring blocks are a
slice of the buffer that holds all of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import zstandard
from isal import isal_zlib

ROWS: Final = 64
"""Rows of a block: fewer are compressed less well, more are more to compress anew at both ends of a page."""
LEVEL: Final = 1
"""Of both codings."""
RAW_DEFLATE: Final = -15
"""Deflate without a header, by the numbers of zlib."""


class JoinedBlocks(NamedTuple):
    """Neighbouring blocks.

    Attributes
    ----------
    gzip, zstd
        The compressed rows.
    crc
        CRC-32 of the rows before they were compressed.
    length
        Their bytes.
    """

    gzip: memoryview
    zstd: memoryview
    crc: int
    length: int


class RowBlocks:
    """All whole blocks of a table's rows.

    Parameters
    ----------
    text, ends
        As of :class:`serve.query.rendered_rows.RenderedRows`: row n is ``text[ends[n]:ends[n + 1]]``.
    """

    __slots__ = ("_crcs", "_gzip", "_gzip_ends", "_starts", "_zstd", "_zstd_ends")

    def __init__(self, text: memoryview, ends: npt.NDArray[np.int64]) -> None:
        starts = ends[::ROWS]
        count = max(0, len(starts) - 1)
        gzip, zstd = bytearray(), bytearray()
        gzip_ends, zstd_ends = np.zeros((2, count + 1), np.int64)
        crcs = np.zeros(count + 1, np.uint32)
        frames = zstandard.ZstdCompressor(level=LEVEL)
        crc = 0
        for block in range(count):
            rows = text[starts[block] : starts[block + 1]]
            deflate = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, RAW_DEFLATE)
            gzip += deflate.compress(rows)
            gzip += deflate.flush(isal_zlib.Z_FULL_FLUSH)
            zstd += frames.compress(rows)
            crc = isal_zlib.crc32(rows, crc)
            gzip_ends[block + 1], zstd_ends[block + 1], crcs[block + 1] = len(gzip), len(zstd), crc
        # A copy of its own size: the buffer that grew has room to spare.
        self._gzip, self._zstd = memoryview(bytes(gzip)), memoryview(bytes(zstd))
        self._gzip_ends, self._zstd_ends, self._crcs = gzip_ends, zstd_ends, crcs
        self._starts = starts

    @property
    def bytes(self) -> int:
        """Memory taken."""
        arrays = (self._gzip_ends, self._zstd_ends, self._crcs)
        return self._gzip.nbytes + self._zstd.nbytes + sum(x.nbytes for x in arrays)

    def joined(self, first: int, end: int) -> JoinedBlocks:
        """Return neighbouring blocks.

        Parameters
        ----------
        first, end
            Number of the first block, and of the one after the last.
        """
        length = int(self._starts[end] - self._starts[first])
        before = isal_zlib.crc32_combine(int(self._crcs[first]), 0, length)
        return JoinedBlocks(
            self._gzip[self._gzip_ends[first] : self._gzip_ends[end]],
            self._zstd[self._zstd_ends[first] : self._zstd_ends[end]],
            int(self._crcs[end]) ^ before,
            length,
        )

"""Rows compressed in blocks that can be joined: a page is compressed at the price of its first and last rows.

A block of gzip is a run of deflate data that ends on a byte boundary and refers to nothing before it (RFC 1951, a full
flush); a block of zstd is a frame of its own, and frames follow one another (RFC 8878). So any neighbouring blocks are a
slice of the buffer that holds all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import zstandard
from isal import isal_zlib

if TYPE_CHECKING:
    from serve.pages.rows_file import FileText

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
    data
        The compressed rows.
    crc
        CRC-32 of the rows before they were compressed.
    length
        Their bytes.
    """

    data: memoryview
    crc: int
    length: int


@dataclass(frozen=True, slots=True)
class BlockLimits:
    """Where the whole blocks of a table's rows are; each array is one longer than there are blocks.

    Attributes
    ----------
    starts
        int64 first byte of each block's rows, and the byte after the last one's.
    gzip, zstd
        int64, the same of the compressed blocks.
    crcs
        uint32 CRC-32 of all rows before each block, and of those of all blocks.
    """

    starts: npt.NDArray[np.int64]
    gzip: npt.NDArray[np.int64]
    zstd: npt.NDArray[np.int64]
    crcs: npt.NDArray[np.uint32]

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return self.starts.nbytes + self.gzip.nbytes + self.zstd.nbytes + self.crcs.nbytes


@dataclass(frozen=True, slots=True)
class RowBlocks:
    """All whole blocks of a table's rows.

    Attributes
    ----------
    gzip, zstd
        The blocks in either coding, in memory or in a file.
    limits
        Where each is.
    """

    gzip: memoryview | FileText
    zstd: memoryview | FileText
    limits: BlockLimits

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return self.gzip.nbytes + self.zstd.nbytes + self.limits.bytes

    def joined(self, first: int, end: int, coding: str) -> JoinedBlocks:
        """Return neighbouring blocks in one coding.

        Parameters
        ----------
        first, end
            Number of the first block, and of the one after the last.
        coding
            ``gzip`` or ``zstd``.
        """
        limits = self.limits
        length = int(limits.starts[end] - limits.starts[first])
        before = isal_zlib.crc32_combine(int(limits.crcs[first]), 0, length)
        data, ends = (self.gzip, limits.gzip) if coding == "gzip" else (self.zstd, limits.zstd)
        return JoinedBlocks(data[int(ends[first]) : int(ends[end])], int(limits.crcs[end]) ^ before, length)


class BlockCompressor:
    """Compresses rows in blocks as they come."""

    def __init__(self) -> None:
        self._frames = zstandard.ZstdCompressor(level=LEVEL)
        self._limits: list[tuple[int, int, int, int]] = [(0, 0, 0, 0)]
        self._rest = b""
        self._rest_ends = np.empty(0, np.int64)

    def add(self, text: memoryview, ends: npt.NDArray[np.int64]) -> tuple[bytes, bytes]:
        """Compress what is whole by now.

        Parameters
        ----------
        text
            Whole rows, which follow those before.
        ends
            int64 end of each row in it.

        Returns
        -------
        tuple
            The new blocks as gzip and as zstd; the rows after them are remembered.
        """
        if self._rest:
            text = memoryview(b"".join((self._rest, text)))
            ends = np.concatenate([self._rest_ends, ends + len(self._rest)])
        gzip: list[bytes] = []
        zstd: list[bytes] = []
        start, gzip_end, zstd_end, crc = self._limits[-1]
        done = 0
        for end in ends[ROWS - 1 :: ROWS].tolist():
            rows = text[done:end]
            deflate = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, RAW_DEFLATE)
            gzip += deflate.compress(rows), deflate.flush(isal_zlib.Z_FULL_FLUSH)
            zstd.append(self._frames.compress(rows))
            crc = isal_zlib.crc32(rows, crc)
            gzip_end += len(gzip[-2]) + len(gzip[-1])
            zstd_end += len(zstd[-1])
            self._limits.append((start + end, gzip_end, zstd_end, crc))
            done = end
        self._rest = bytes(text[done:])
        self._rest_ends = ends[len(ends) // ROWS * ROWS :] - done
        return b"".join(gzip), b"".join(zstd)

    def limits(self) -> BlockLimits:
        """Return where the blocks are."""
        starts, gzip, zstd, crcs = np.array(self._limits, np.int64).T.copy()
        return BlockLimits(starts, gzip, zstd, crcs.astype(np.uint32))


def compress_blocks(text: memoryview, ends: npt.NDArray[np.int64]) -> RowBlocks:
    """Compress all whole blocks of rows in memory; row n is ``text[ends[n]:ends[n + 1]]``."""
    compressor = BlockCompressor()
    gzip, zstd = compressor.add(text, ends[1:])
    return RowBlocks(memoryview(gzip), memoryview(zstd), compressor.limits())

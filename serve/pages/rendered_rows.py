"""Rows as JSON texts, rendered once and cut into pages."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from serve.pages.json import BodyChunks, writable
from serve.pages.row_blocks import ROWS, JoinedBlocks, RowBlocks, compress_blocks
from serve.pages.rows_file import FileColumn, FileText

_CHUNK_ROWS: Final = 5_000
"""Rows written at once: the buffers in between stay small, and in the processor's cache."""
_ROOM: Final = 1.1
"""How much longer the rows to come may be than those written so far before the buffer has to grow."""
_MAX_JOINED: Final = 128
"""Rows up to which joining them one by one is quicker than calling for it to be done at once."""
_MAX_ENDS: Final = 4096
"""Rows up to which one read of all their ends costs less than a read of the first and one of the last."""
_LINE_FEED: Final = ord("\n")
_COMMA: Final = ord(",")


class SplitRows(NamedTuple):
    """Neighbouring rows: those before the first whole block, whole blocks, and those after the last one."""

    head: memoryview
    blocks: JoinedBlocks
    tail: memoryview


class RenderedRows:
    """The JSON objects of a table's rows, in the order they are asked for most.

    Parameters
    ----------
    text
        The objects, each followed by a comma; in memory or in a file.
    ends
        int64, one more than there are rows: row n is ``text[ends[n]:ends[n + 1]]``, its comma included.
    blocks
        The same rows compressed.
    """

    __slots__ = ("_array", "_blocks", "_ends", "_text")

    def __init__(
        self,
        text: memoryview | FileText,
        ends: npt.NDArray[np.int64] | FileColumn[np.int64],
        blocks: RowBlocks,
    ) -> None:
        self._text = text
        self._ends = ends
        self._blocks = blocks
        self._array: pa.Array | None = None
        if isinstance(text, memoryview):
            buffers = [None, pa.py_buffer(ends), pa.py_buffer(text)]
            self._array = pa.Array.from_buffers(pa.large_binary(), len(ends) - 1, buffers, null_count=0)

    def __len__(self) -> int:
        """Rows."""
        return len(self._ends) - 1

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return self._text.nbytes + self._ends.nbytes + self._blocks.bytes

    def size(self, first: int, end: int) -> int:
        """Return the bytes of neighbouring rows; parameters and errors as of :meth:`between`."""
        start, stop = self._span(first, end)
        return stop - start

    def _span(self, first: int, end: int) -> tuple[int, int]:
        """Return where the text of neighbouring rows begins and ends: of a file by one read, unless they are many."""
        if end - first > _MAX_ENDS:
            return int(self._ends[first]), int(self._ends[end])
        ends = self._ends[first : end + 1]
        return int(ends[0]), int(ends[-1])

    def between(self, first: int, end: int) -> BodyChunks:
        """Return the JSON array of neighbouring rows; those in memory are not copied.

        Parameters
        ----------
        first, end
            Number of the first row, and of the one after the last; nothing when `end` is not the larger.

        Raises
        ------
        NotResident, RowsDamaged
            As :meth:`serve.pages.rows_file.RowsFile.read`.
        """
        if end <= first:
            return (b"[]",)
        start, stop = self._span(first, end)
        return (b"[", self._text[start : stop - 1], b"]")

    def split(self, first: int, end: int, coding: str) -> SplitRows | None:
        """Return the same rows with those in the middle as compressed blocks; None when there is no whole block.

        The last row is never part of a block: a comma follows all others.

        Parameters
        ----------
        coding
            ``gzip`` or ``zstd``.
        """
        block, last = -(-first // ROWS), (end - 1) // ROWS
        if last <= block:
            return None
        text, ends, starts = self._text, self._ends, self._blocks.limits.starts
        return SplitRows(
            text[int(ends[first]) : int(starts[block])],
            self._blocks.joined(block, last, coding),
            text[int(starts[last]) : int(ends[end]) - 1],
        )

    def take(self, numbers: npt.NDArray[np.int32]) -> BodyChunks:
        """Return the JSON array of some rows, in the order given; nothing of no rows; errors as of :meth:`between`."""
        if not len(numbers):
            return (b"[]",)
        if self._array is None:
            assert isinstance(self._text, FileText)
            assert isinstance(self._ends, FileColumn)
            return (b"[", self._text.gather(self._ends, numbers)[:-1], b"]")
        if len(numbers) <= _MAX_JOINED:
            assert isinstance(self._ends, np.ndarray)
            rows = zip(self._ends[numbers].tolist(), self._ends[numbers + 1].tolist(), strict=True)
            *texts, last = [self._text[first:end] for first, end in rows]
            return (b"[", b"".join((*texts, last[:-1])), b"]")
        _, ends, text = self._array.take(pa.array(numbers)).buffers()
        length = int(np.frombuffer(ends, np.int64, 1, 8 * len(numbers))[0])
        return (b"[", memoryview(text)[: length - 1], b"]")


def rendered(parts: Iterable[pl.DataFrame]) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]]:
    """Write every row of some frames as a JSON object, in the forms of :func:`serve.pages.json.to_json`.

    Parameters
    ----------
    parts
        Frames that go one behind the other; none of them is needed any more when the next one comes.

    Yields
    ------
    tuple
        Some rows, each followed by a comma, and the end of each in this text.
    """
    for frame in parts:
        part = writable(frame)
        for start in range(0, part.height, _CHUNK_ROWS):
            buffer = io.BytesIO()
            part.slice(start, _CHUNK_ROWS).write_ndjson(buffer)
            text = np.frombuffer(buffer.getbuffer(), np.uint8)
            # Inside an object a line feed is always escaped, so these are the ends of the rows and nothing else.
            (lines,) = np.nonzero(text == _LINE_FEED)
            text[lines] = _COMMA
            yield text, lines + 1


def render(parts: Iterable[pl.DataFrame], rows: int) -> RenderedRows:
    """Render frames into memory.

    Parameters
    ----------
    parts
        As of :func:`rendered`.
    rows
        Of all of them.
    """
    text = np.empty(0, np.uint8)
    ends = np.zeros(rows + 1, np.int64)
    done = written = 0
    for new, new_ends in rendered(parts):
        needed = written + len(new)
        ends[done + 1 : done + 1 + len(new_ends)] = new_ends + written
        done += len(new_ends)
        if needed > len(text):
            text = _with_room(text, max(needed, int(needed / done * rows * _ROOM)))
        text[written:needed] = new
        written = needed
    # As above, for what was asked for and not needed goes back at once.
    text.resize(written, refcheck=False)
    return RenderedRows(text.data, ends, compress_blocks(text.data, ends))


def _with_room(text: npt.NDArray[np.uint8], room: int) -> npt.NDArray[np.uint8]:
    """Return the buffer with more room: a new one takes no memory before it is written to, an old one is moved, not copied."""
    if not len(text):
        return np.empty(room, np.uint8)
    text.resize(room, refcheck=False)
    return text

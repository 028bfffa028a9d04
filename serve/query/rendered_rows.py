"""Rows as JSON texts, rendered once and cut into pages."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from serve.query.json import BodyChunks, writable
from serve.query.row_blocks import ROWS, JoinedBlocks, RowBlocks

_AT_ONCE: Final = 5_000
"""Rows written at once: the buffers in between stay small, and in the processor's cache."""
_ROOM: Final = 1.1
"""How much longer the rows to come may be than those written so far before the buffer has to grow."""
_FEW: Final = 128
"""Rows up to which picking them one by one is quicker than calling for it to be done at once."""
_LINE_FEED: Final = ord("\n")
_COMMA: Final = ord(",")


class SplitRows(NamedTuple):
    """Neighbouring rows: those before the first whole block, whole blocks, and those after the last one."""

    head: memoryview
    blocks: JoinedBlocks
    tail: memoryview


class RenderedRows:
    """The JSON objects of a dataset's rows, in the order they are asked for most.

    Parameters
    ----------
    text
        The objects, each followed by a comma.
    ends
        int64, one more than there are rows: row n is ``text[ends[n]:ends[n + 1]]``, its comma included.
    """

    __slots__ = ("_array", "_blocks", "_ends", "_text")

    def __init__(self, text: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        self._text = text.data
        self._ends = ends
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(text)]
        self._blocks = RowBlocks(text.data, ends)
        self._array = pa.Array.from_buffers(pa.large_binary(), len(ends) - 1, buffers, null_count=0)

    def __len__(self) -> int:
        """Rows."""
        return len(self._ends) - 1

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return self._text.nbytes + self._ends.nbytes + self._blocks.bytes

    def between(self, first: int, end: int) -> BodyChunks:
        """Return the JSON array of neighbouring rows, without copying them.

        Parameters
        ----------
        first, end
            Number of the first row, and of the one after the last; nothing when `end` is not the larger.
        """
        if end <= first:
            return (b"[]",)
        return (b"[", self._text[self._ends[first] : self._ends[end] - 1], b"]")

    def split(self, first: int, end: int) -> SplitRows | None:
        """Return the same rows with those in the middle as compressed blocks; None when there is no whole block.

        The last row is never part of a block: a comma follows all others.
        """
        block, last = -(-first // ROWS), (end - 1) // ROWS
        if last <= block:
            return None
        text, ends = self._text, self._ends
        return SplitRows(
            text[ends[first] : ends[block * ROWS]],
            self._blocks.joined(block, last),
            text[ends[last * ROWS] : ends[end] - 1],
        )

    def take(self, numbers: npt.NDArray[np.int64] | npt.NDArray[np.int32]) -> BodyChunks:
        """Return the JSON array of some rows, in the order given; nothing of no rows."""
        if not len(numbers):
            return (b"[]",)
        if len(numbers) <= _FEW:
            rows = zip(self._ends[numbers].tolist(), self._ends[numbers + 1].tolist(), strict=True)
            *texts, last = [self._text[first:end] for first, end in rows]
            return (b"[", b"".join((*texts, last[:-1])), b"]")
        _, ends, text = self._array.take(pa.array(numbers)).buffers()
        length = int(np.frombuffer(ends, np.int64, 1, 8 * len(numbers))[0])
        return (b"[", memoryview(text)[: length - 1], b"]")


def render(parts: Iterable[pl.DataFrame], rows: int) -> RenderedRows:
    """Write every row of some frames as a JSON object, in the forms of :func:`serve.query.json.to_json`.

    Parameters
    ----------
    parts
        Frames that go one behind the other; none of them is needed any more when the next one comes.
    rows
        Of all of them.
    """
    text = np.empty(0, np.uint8)
    ends = np.zeros(rows + 1, np.int64)
    done = written = 0
    for frame in parts:
        part = writable(frame)
        for start in range(0, part.height, _AT_ONCE):
            buffer = io.BytesIO()
            part.slice(start, _AT_ONCE).write_ndjson(buffer)
            new = np.frombuffer(buffer.getbuffer(), np.uint8)
            # Inside an object a line feed is always escaped, so these are the ends of the rows and nothing else.
            (lines,) = np.nonzero(new == _LINE_FEED)
            needed = written + len(new)
            ends[done + 1 : done + 1 + len(lines)] = lines + (1 + written)
            done += len(lines)
            if needed > len(text):
                text = _with_room(text, max(needed, int(needed / done * rows * _ROOM)))
            text[written:needed] = new
            text[lines + written] = _COMMA
            written = needed
    # As above, for what was asked for and not needed goes back at once.
    text.resize(written, refcheck=False)
    return RenderedRows(text, ends)


def _with_room(text: npt.NDArray[np.uint8], room: int) -> npt.NDArray[np.uint8]:
    """Return the buffer with more room: a new one takes no memory before it is written to, an old one is moved, not copied."""
    if not len(text):
        return np.empty(room, np.uint8)
    text.resize(room, refcheck=False)
    return text

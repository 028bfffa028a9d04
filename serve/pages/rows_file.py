"""Reads of a file of rendered rows: at once where the system has the bytes in memory, else where waiting is allowed.

Neighbouring bytes are read, not mapped: a mapped file that loses its end, or its disk, ends the process that touches it, and
a page that has to come from the disk would stop the event loop. Rows from all over a file are gathered through a mapping,
since a system call for each costs many times the copy, but only after the file was seen to be whole and in memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import time
from typing import Any, Final, Generic, NamedTuple, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

N = TypeVar("N", bound=np.generic)
_Numbers = npt.NDArray[np.int32]
_PAGE: Final = mmap.PAGESIZE
_MAX_READS: Final = 512
"""Rows that are read one by one where nothing may wait: some hundred microseconds."""
_SPAN_BYTES: Final = 1 << 20
"""Bytes up to which one read of all from the first row to the last costs less than a read for each."""
_PAGES_A_ROW: Final = 40
"""Pages whose presence is found out in the time that one row is read in."""
_ENDS_A_ROW: Final = 4096
"""Ends of rows that are read in the time of one read of two."""
_STRETCH: Final = 1 << 20
"""Bytes whose presence is asked for and remembered together; whole pages."""
_READ_IN_A_ROW: Final = 8
"""Missing pages that are read in, many together, in the time that one row is. Under pressure a system takes away a page here and
there of a file in use: reading all rows one by one for that takes ten times as long."""
_NEAR_PAGES: Final = 16
"""Pages apart up to which those between are read too."""
_BELIEVED_SECONDS: Final = 0.5
"""How long a stretch that was in memory is taken to be there still: asking costs about as much as the page that is cut. What
the system takes away within this time is waited for where nothing should wait, once."""

# Without letting another thread in: the call takes microseconds.
_mincore = ctypes.PyDLL(None, use_errno=True).mincore
_mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_mincore.restype = ctypes.c_int


class NotResident(Exception):
    """Bytes are not in memory, and nothing may wait here."""


class RowsDamaged(Exception):
    """A file of rendered rows is not what was written, or its disk fails."""


class _Mapping(NamedTuple):
    """A file mapped into memory; one value, as threads map a file at the same time.

    Attributes
    ----------
    data
        Keeps the mapping open as long as anything made of it is in use.
    address
        Of its first byte.
    seen
        When each stretch of it was found in memory.
    """

    data: npt.NDArray[np.uint8]
    address: int
    seen: npt.NDArray[np.float64]


class RowsFile:
    """An open file of rendered rows; closed with the last reference to it.

    Parameters
    ----------
    descriptor
        Owned by this from now on.
    size
        Bytes it is to have.
    """

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self._mapping: _Mapping | None = None
        self.size: Final = size
        self.damaged = False
        """Whether a read found it so; nothing more is read of it then."""
        self.used = True
        """Whether it was read since that was last written down."""

    def __del__(self) -> None:
        """Close it."""
        os.close(self._descriptor)

    def note_use(self) -> None:
        """Write down that it is used, in its time of access, by which the oldest is told."""
        self.used = False
        with contextlib.suppress(OSError):
            os.utime(self._descriptor, ns=(time.time_ns(), os.fstat(self._descriptor).st_mtime_ns))

    @property
    def verified_at(self) -> float:
        """When it was written, or compared with its checksums last; seconds since 1970."""
        return os.fstat(self._descriptor).st_mtime

    def note_verified(self) -> None:
        """Write down that it was compared with its checksums, in its time of modification."""
        with contextlib.suppress(OSError):
            os.utime(self._descriptor)

    def read(self, offset: int, size: int, *, wait: bool) -> npt.NDArray[np.uint8]:
        """Return some bytes.

        Parameters
        ----------
        wait
            Whether the disk may be waited for.

        Raises
        ------
        NotResident
            When the bytes are not in memory and nothing may wait, or the file system cannot tell; or the file is
            damaged: who may wait finds out.
        RowsDamaged
            When the file is shorter than it was, or its disk fails, or that was found out before.
        """
        found = np.empty(size, np.uint8)
        self.used = True
        if self.damaged:
            raise RowsDamaged("it was found to be damaged") if wait else NotResident
        if not wait:
            try:
                if os.preadv(self._descriptor, [found.data], offset, os.RWF_NOWAIT) == size:
                    return found
            except (
                OSError
            ) as error:  # most often that it would have to wait; whatever it is, who may wait finds out
                raise NotResident from error
            raise NotResident
        done = 0
        while done < size:
            try:
                count = os.preadv(self._descriptor, [found.data[done:]], offset + done)
            except OSError as error:
                self.damaged = True
                raise RowsDamaged(str(error)) from error
            if not count:
                self.damaged = True
                raise RowsDamaged(f"the file ends before byte {offset + size}")
            done += count
        return found

    def mapped(self, *spans: tuple[int, int], read_in: int = 0) -> npt.NDArray[np.uint8] | None:
        """Return the file mapped into memory; None unless it is whole and all of some spans of it are in memory.

        That they are is asked of the system, and then believed for a moment.

        Parameters
        ----------
        spans
            First byte, and the one after the last.
        read_in
            Pages of a span that may be missing: they are waited for.

        Raises
        ------
        RowsDamaged
            When they cannot be read.
        """
        if self.damaged or os.fstat(self._descriptor).st_size != self.size:
            return None
        mapping = self._mapping
        if mapping is None:
            data = np.frombuffer(mmap.mmap(self._descriptor, self.size, prot=mmap.PROT_READ), np.uint8)
            seen = np.full(-(-self.size // _STRETCH), -np.inf)
            mapping = self._mapping = _Mapping(data, data.ctypes.data, seen)
        now = time.monotonic()
        for start, end in spans:
            first, last = start // _STRETCH, -(-end // _STRETCH)
            if mapping.seen[first:last].min() > now - _BELIEVED_SECONDS:
                continue
            begin, size = first * _STRETCH, min(last * _STRETCH, self.size) - first * _STRETCH
            present = np.empty(-(-size // _PAGE), np.uint8)
            if _mincore(mapping.address + begin, size, present.ctypes.data):
                return None
            missing = np.flatnonzero(~present & 1)
            if len(missing) > read_in:
                return None
            if len(missing):
                self._read_in(begin // _PAGE + missing)
            mapping.seen[first:last] = now
        return mapping.data

    def _read_in(self, pages: npt.NDArray[np.int64]) -> None:
        """Have the system read some pages into memory, close ones together."""
        cuts = np.flatnonzero(np.diff(pages) > _NEAR_PAGES) + 1
        for run in np.split(pages, cuts):
            start, end = int(run[0]) * _PAGE, min((int(run[-1]) + 1) * _PAGE, self.size)
            for offset in range(start, end, _STRETCH):
                self.read(offset, min(_STRETCH, end - offset), wait=True)


class FileColumn(Generic[N]):
    """An array in a file of which slices are read.

    Parameters
    ----------
    file
        Where it is.
    offset, count, dtype
        First byte, length and type.
    wait
        Whether reads may wait for the disk.
    """

    __slots__ = ("_dtype", "_size", "count", "file", "offset", "wait")
    nbytes: Final = 0
    """Memory taken."""

    def __init__(self, file: RowsFile, offset: int, count: int, dtype: np.dtype[N], *, wait: bool) -> None:
        self.file, self.offset, self.count, self.wait = file, offset, count, wait
        self._dtype = dtype
        self._size = dtype.itemsize

    def __len__(self) -> int:
        """Entries."""
        return self.count

    @overload
    def __getitem__(self, key: slice) -> npt.NDArray[N]: ...
    @overload
    def __getitem__(self, key: int) -> Any: ...
    def __getitem__(self, key: slice | int) -> Any:
        """Return a slice without a step as an array, or one entry; errors as of :meth:`RowsFile.read`."""
        if isinstance(key, slice):
            start, stop, _ = key.indices(self.count)
            return self._read(start, max(start, stop))
        return self._read(key, key + 1)[0]

    def span(self, first: int, end: int) -> tuple[int, int]:
        """Return the bytes of some neighbouring entries: the first, and the one after the last."""
        return self.offset + int(first) * self._size, self.offset + int(end) * self._size

    def _read(self, first: int, end: int) -> npt.NDArray[N]:
        start, stop = self.span(first, end)
        return self.file.read(start, stop - start, wait=self.wait).view(self._dtype)


class FileText:
    """A text in a file of which slices are read; parameters as of :class:`FileColumn`."""

    __slots__ = ("_bytes",)
    nbytes: Final = 0
    """Memory taken."""

    def __init__(self, file: RowsFile, offset: int, count: int, *, wait: bool) -> None:
        self._bytes: FileColumn[np.uint8] = FileColumn(file, offset, count, np.dtype(np.uint8), wait=wait)

    def __getitem__(self, key: slice) -> memoryview:
        """Return a slice without a step; errors as of :meth:`RowsFile.read`."""
        return self._bytes[key].data

    def gather(self, ends: FileColumn[np.int64], numbers: _Numbers) -> memoryview:
        """Return some rows one behind the other.

        Parameters
        ----------
        ends
            Row n is the text from ``ends[n]`` up to ``ends[n + 1]``.
        numbers
            Of the rows, one at least.

        Raises
        ------
        NotResident, RowsDamaged
            As :meth:`RowsFile.read`; the first also when there are too many reads to make where nothing may wait.
        """
        text, first, end = self._bytes, int(numbers.min()), int(numbers.max()) + 1
        start, stop = int(ends[first]), int(ends[end])
        if stop - start <= _SPAN_BYTES:
            return _taken(ends[first : end + 1] - start, text[start:stop], numbers - first)
        if (stop - start) // _PAGE <= _PAGES_A_ROW * len(numbers):
            spans = ends.span(first, end + 1), text.span(start, stop)
            mapping = text.file.mapped(*spans, read_in=_READ_IN_A_ROW * len(numbers) if text.wait else 0)
            if mapping is not None:
                mapped = mapping[slice(*ends.span(0, len(ends)))].view(np.int64)
                return _taken(mapped, mapping[slice(*text.span(0, len(text)))], numbers)
        if not text.wait and len(numbers) > _MAX_READS:
            raise NotResident
        if end - first <= _ENDS_A_ROW * len(numbers):
            limits = ends[first : end + 1]
            places = zip(limits[numbers - first].tolist(), limits[numbers - first + 1].tolist(), strict=True)
        else:
            places = (ends[number : number + 2].tolist() for number in numbers.tolist())  # type: ignore[assignment] # pairs
        return memoryview(b"".join([text[start:stop].data for start, stop in places]))


def _taken(ends: npt.NDArray[np.int64], text: npt.NDArray[np.uint8], numbers: _Numbers) -> memoryview:
    rows = pa.Array.from_buffers(
        pa.large_binary(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(text)], null_count=0
    )
    _, limits, taken = rows.take(pa.array(numbers)).buffers()
    return memoryview(taken)[: int(np.frombuffer(limits, np.int64, 1, 8 * len(numbers))[0])]

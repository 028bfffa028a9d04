"""The file of a rendered table: what it holds, and how a reader knows that it is whole.

::

    header     64 bytes: magic, format, place and CRC-32 of the description, size of the file, CRC-32 of the header
    sections   the text, the compressed blocks, the limits of rows and of blocks, the index; each at a multiple of 64
    description   JSON: what was rendered, place, length, type and CRC-32 of each section, days and names

The header is written last, and the file gets its name after that. Numbers have the byte order of the machine, which is part
of the format's number: the file never leaves it.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, BinaryIO, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import orjson

from serve.pages.rendered_rows import RenderedRows, rendered
from serve.pages.rendered_table import RenderedTable
from serve.pages.row_blocks import BlockCompressor, BlockLimits, RowBlocks
from serve.pages.row_index import RowIndex
from serve.pages.rows_file import FileColumn, FileText, RowsDamaged, RowsFile

FORMAT: Final = 1
"""Version of the file and of the bytes of a row: changes with either, so that nothing of another renderer is read."""
_MAGIC: Final = b"rows\r\n" + (b"<\n" if sys.byteorder == "little" else b">\n")
_HEADER: Final = struct.Struct("=8sIIQQ28xI")
_ALIGNMENT: Final = 64
_COPY_BYTES: Final = 1 << 20
_TEXT, _GZIP, _ZSTD, _ENDS = "text", "gzip", "zstd", "ends"
_SPOOLED: Final = (_GZIP, _ZSTD, _ENDS)
"""Sections whose length is not known before the text is complete."""
_FIGURE: Final = "figure "
"""What stands before the name of a figure in that of its section."""


class _Section(NamedTuple):
    """Place, length in entries, type and CRC-32 of a section."""

    offset: int
    length: int
    dtype: str
    crc: int


class RowsWriter:
    """Writes a rendered table to a file in bounded memory.

    Parameters
    ----------
    file
        Where to, open for writing; whatever it holds is overwritten.
    spool
        Makes a temporary file.
    """

    def __init__(self, file: BinaryIO, spool: Callable[[], BinaryIO]) -> None:
        self._file = file
        self._make_spool = spool
        with ExitStack() as stack:  # the folder may go away between two of them
            self._stack = stack
            self._spools = {name: self.spool() for name in _SPOOLED}
            self._stack = stack.pop_all()
        self._sections: dict[str, _Section] = {}
        self._limits: BlockLimits | None = None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the temporary files go."""
        self._stack.close()

    def spool(self) -> BinaryIO:
        """Make a temporary file that goes with the writer."""
        return self._stack.enter_context(self._make_spool())

    def rows(self, parts: Any, rows: int) -> None:
        """Write the rows of some frames; called again it begins anew.

        Parameters
        ----------
        parts
            As of :func:`serve.pages.rendered_rows.rendered`.
        rows
            Of all of them.

        Raises
        ------
        OSError
            When the disk takes no more.
        """
        streams = {_TEXT: self._file, **self._spools}
        for stream in streams.values():
            stream.seek(0)
            stream.truncate()
        self._file.write(bytes(_HEADER.size))
        crcs = dict.fromkeys(streams, 0)
        sizes = dict.fromkeys(streams, 0)

        def write(name: str, data: Any) -> None:
            streams[name].write(data)
            crcs[name] = zlib.crc32(data, crcs[name])
            sizes[name] += len(data)

        blocks = BlockCompressor()
        write(_ENDS, np.zeros(1, np.int64).tobytes())
        for text, ends in rendered(parts):
            start = sizes[_TEXT]
            write(_TEXT, text.data)
            write(_ENDS, (ends + start).astype(np.int64).tobytes())
            gzip, zstd = blocks.add(text.data, ends)
            write(_GZIP, gzip)
            write(_ZSTD, zstd)
        assert sizes[_ENDS] == 8 * (rows + 1)
        self._limits = blocks.limits()
        self._sections = {_TEXT: _Section(_HEADER.size, sizes[_TEXT], "u1", crcs[_TEXT])}
        for name, stream in self._spools.items():
            dtype = "i8" if name == _ENDS else "u1"
            offset = self._align()
            stream.seek(0)
            while piece := stream.read(_COPY_BYTES):
                self._file.write(piece)
            count = sizes[name] // np.dtype(dtype).itemsize
            self._sections[name] = _Section(offset, count, dtype, crcs[name])

    def finish(self, index: RowIndex, made_of: str) -> None:
        """Write what the rows are found by, and the header.

        Parameters
        ----------
        made_of
            Names what was rendered; a reader asks for it.
        """
        assert self._limits is not None, "rows come first"
        limits = self._limits
        arrays: dict[str, Any] = {
            "block starts": limits.starts,
            "block gzip": limits.gzip,
            "block zstd": limits.zstd,
            "block crcs": limits.crcs,
            "by name": index.by_name,
            "name ends": index.name_ends,
            **{f"{_FIGURE}{name}": values for name, values in index.figures.items()},
        }
        if index.codes is not None:
            arrays["codes"] = index.codes
        for name, values in arrays.items():
            self._array(name, values)
        body = orjson.dumps(
            {
                "made_of": made_of,
                "sections": {name: tuple(section) for name, section in self._sections.items()},
                "days": index.days,
                "day_ends": index.day_ends,
                "names": list(index.names),
                "sorted_by": index.sorted_by,
            }
        )
        offset = self._align()
        self._file.write(body)
        self._file.seek(0)
        self._file.write(_header(zlib.crc32(body), offset, offset + len(body)))
        self._file.flush()

    def _array(self, name: str, values: npt.NDArray[Any]) -> None:
        offset, crc = self._align(), 0
        for first in range(0, len(values), _COPY_BYTES):
            data = np.ascontiguousarray(values[first : first + _COPY_BYTES]).tobytes()
            self._file.write(data)
            crc = zlib.crc32(data, crc)
        self._sections[name] = _Section(offset, len(values), values.dtype.str[1:], crc)

    def _align(self) -> int:
        self._file.write(bytes(-self._file.tell() % _ALIGNMENT))
        return self._file.tell()


def _header(crc: int, offset: int, size: int) -> bytes:
    header = _HEADER.pack(_MAGIC, FORMAT, crc, offset, size, 0)
    return header[:-4] + struct.pack("=I", zlib.crc32(header[:-4]))


class RowsReader:
    """A file of rendered rows, checked as far as its header, its description and the limits of its blocks go.

    Parameters
    ----------
    descriptor
        Of the file; owned by this from now on.
    size
        Bytes the file has.
    made_of
        What was rendered.

    Raises
    ------
    RowsDamaged
        When the file is not whole, or is of another renderer, or of something else.
    """

    def __init__(self, descriptor: int, size: int, made_of: str) -> None:
        self.file: Final = RowsFile(descriptor, size)
        if size < _HEADER.size:
            raise RowsDamaged("it has no header")
        header = self._bytes(0, _HEADER.size)
        *_, crc, offset, whole, _ = _HEADER.unpack(header)
        if header != _header(crc, offset, whole):
            raise RowsDamaged("its header is not what was written, or of another version")
        if whole != size:
            raise RowsDamaged(f"it has {size} bytes of {whole}")
        body = self._bytes(offset, size - offset)
        if zlib.crc32(body) != crc:
            raise RowsDamaged("its description is not what was written")
        self._known: dict[str, Any] = orjson.loads(body)
        if self._known["made_of"] != made_of:
            raise RowsDamaged("it was made of something else")
        self._sections: Mapping[str, _Section] = {
            name: _Section(*entry) for name, entry in self._known["sections"].items()
        }

    def table(self) -> RenderedTable:
        """Return the table: what is read of it at once is what is in memory, and by its twin whatever there is."""
        limits = BlockLimits(*(self._loaded(f"block {name}") for name in ("starts", "gzip", "zstd", "crcs")))
        days, day_ends, name_ends = self._known["days"], self._known["day_ends"], self._loaded("name ends")
        names = {name: code for code, name in enumerate(self._known["names"])}
        figures = [name.removeprefix(_FIGURE) for name in self._sections if name.startswith(_FIGURE)]

        def make(*, wait: bool) -> tuple[RenderedRows, RowIndex]:
            text, gzip, zstd = (self._text(name, wait=wait) for name in (_TEXT, _GZIP, _ZSTD))
            rows = RenderedRows(text, self._column(_ENDS, wait=wait), RowBlocks(gzip, zstd, limits))
            index = RowIndex(
                days,
                day_ends,
                names,
                self._column("codes", wait=wait) if "codes" in self._sections else None,
                self._column("by name", wait=wait),
                name_ends,
                {name: self._column(f"{_FIGURE}{name}", wait=wait) for name in figures},
                self._known["sorted_by"],
            )
            return rows, index

        waiting = RenderedTable(*make(wait=True), file=self.file)
        return RenderedTable(*make(wait=False), file=self.file, twin=waiting, verify=self.verify)

    def verify(self) -> None:
        """Compare every section with its checksum, a part at a time.

        Raises
        ------
        RowsDamaged
            When one differs.
        """
        for name, section in self._sections.items():
            end = section.offset + section.length * np.dtype(section.dtype).itemsize
            crc = 0
            for offset in range(section.offset, end, _COPY_BYTES):
                crc = zlib.crc32(self._bytes(offset, min(_COPY_BYTES, end - offset)), crc)
            if crc != section.crc:
                self.file.damaged = True
                raise RowsDamaged(f"its section {name!r} is not what was written")

    def _bytes(self, offset: int, size: int) -> bytes:
        return self.file.read(offset, size, wait=True).tobytes()

    def _column(self, name: str, *, wait: bool) -> FileColumn[Any]:
        section = self._sections[name]
        return FileColumn(self.file, section.offset, section.length, np.dtype(section.dtype), wait=wait)

    def _text(self, name: str, *, wait: bool) -> FileText:
        section = self._sections[name]
        return FileText(self.file, section.offset, section.length, wait=wait)

    def _loaded(self, name: str) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = self._column(name, wait=True)[:]
        if zlib.crc32(values.tobytes()) != self._sections[name].crc:
            raise RowsDamaged(f"its section {name!r} is not what was written")
        return values

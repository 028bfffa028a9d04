"""Thrift's compact protocol, which the footer and the page headers of Parquet are written in."""

from __future__ import annotations

from typing import Any, Final

MAX_PARTS: Final = 2**20
"""Most structs and lists of one footer: a column of a row group takes some fifteen."""
_MAX_DEPTH: Final = 12
_TRUE: Final = 1
_FALSE: Final = 2


class NotThrift(ValueError):
    """The bytes are no struct of the protocol; the message says why."""


class ThriftReader:
    """Reads structs, never beyond the end of the bytes and never more than a bounded number.

    Parameters
    ----------
    raw
        The bytes.
    at
        Where to begin.

    Attributes
    ----------
    at
        Where what was read ends.
    """

    def __init__(self, raw: memoryview, at: int = 0) -> None:
        self._raw = raw
        self._left = MAX_PARTS
        self.at = at

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by id: whole numbers, truth values, bytes, structs and lists of these.

        Raises
        ------
        NotThrift
            When it is cut off, nested too deeply, has too many structs, or a type that does not exist.
        """
        self._deeper(depth)
        found: dict[int, Any] = {}
        last = 0
        while head := self._byte():
            last = last + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            found[last] = kind == _TRUE if kind in {_TRUE, _FALSE} else self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        match kind:
            case 4 | 5 | 6:
                return self._integer()
            case 8:
                return self._bytes(self._number())
            case 12:
                return self.struct(depth + 1)
            case 9 | 10:  # a list, a set
                return self._list(depth + 1)
            case 11:
                return self._map(depth + 1)
            case 1 | 2 | 3:  # a truth value within a list, a byte
                return self._byte()
            case 7:  # a double
                return self._bytes(8)
            case 13:
                return self._bytes(16)
        raise NotThrift(f"it has a field of the unknown type {kind}")

    def _deeper(self, depth: int) -> None:
        self._left -= 1
        if depth > _MAX_DEPTH or self._left < 0:
            raise NotThrift("it is nested too deeply or has too many parts")

    def _list(self, depth: int) -> list[Any]:
        self._deeper(depth)
        head = self._byte()
        size = head >> 4 if head >> 4 != 15 else self._number()
        self._require(size)
        return [self._value(head & 15, depth) for _ in range(size)]

    def _map(self, depth: int) -> dict[Any, Any]:
        self._deeper(depth)
        size = self._number()
        self._require(size)
        kinds = self._byte() if size else 0
        return {self._value(kinds >> 4, depth): self._value(kinds & 15, depth) for _ in range(size)}

    def _integer(self) -> int:
        raw = self._number()
        return raw >> 1 if not raw & 1 else -(raw >> 1) - 1

    def _number(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise NotThrift("it has a number of more than 64 bits")

    def _byte(self) -> int:
        try:
            byte: int = self._raw[self.at]
        except IndexError:
            raise NotThrift("it is cut off") from None
        self.at += 1
        return byte

    def _bytes(self, size: int) -> bytes:
        self._require(size)
        self.at += size
        return bytes(self._raw[self.at - size : self.at])

    def _require(self, size: int) -> None:
        """Refuse a size beyond the bytes that are left: every element takes one at least."""
        if self.at + size > len(self._raw):
            raise NotThrift("it is cut off")

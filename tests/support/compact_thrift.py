"""Thrift's compact protocol as used by Parquet, to change footers and page headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

TRUE: Final = 1
FALSE: Final = 2
BYTE: Final = 3
DOUBLE: Final = 7
BINARY: Final = 8
LIST: Final = 9
STRUCT: Final = 12
_INTEGERS: Final = (4, 5, 6)

Struct = dict[int, "Field"]
"""Field id -> field, in the order written."""


@dataclass
class Field:
    """A typed value: a bool, an int, bytes, a Struct, or a list of such with the type of its elements."""

    type: int
    value: Any
    elements: int = 0


def read_struct(raw: bytes, start: int = 0) -> tuple[Struct, int]:
    """Return the struct at this offset, and the offset after it."""
    reader = _Reader(raw, start)
    return reader.struct(), reader.at


def write_struct(struct: Struct) -> bytes:
    """Return the bytes of a struct."""
    written, last = bytearray(), 0
    for number, field in struct.items():
        kind = (TRUE if field.value else FALSE) if field.type in {TRUE, FALSE} else field.type
        written += bytes([(number - last) << 4 | kind]) if 0 < number - last < 16 else bytes([kind])
        if not 0 < number - last < 16:
            written += varint(_zigzag(number))
        last = number
        if field.type not in {TRUE, FALSE}:
            written += _value(field.type, field.value, field.elements)
    return bytes(written) + b"\0"


def varint(value: int) -> bytes:
    actual = b""
    while value > 0x7F:
        actual, value = actual + bytes([value & 0x7F | 0x80]), value >> 7
    return actual + bytes([value])


def _zigzag(value: int) -> int:
    return value * 2 if value >= 0 else -value * 2 - 1


def _value(kind: int, value: Any, elements: int) -> bytes:
    if kind in _INTEGERS:
        return varint(_zigzag(value))
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind == STRUCT:
        return write_struct(value)
    if kind == LIST:
        size = len(value)
        head = bytes([size << 4 | elements]) if size < 15 else bytes([0xF0 | elements]) + varint(size)
        return head + b"".join(_value(elements, element, 0) for element in value)
    return bytes(value)  # a byte or a double, kept as raw bytes


class _Reader:
    def __init__(self, raw: bytes, start: int) -> None:
        self._raw = raw
        self.at = start

    def struct(self) -> Struct:
        results: Struct = {}
        last = 0
        while head := self._take(1)[0]:
            kind = head & 15
            last = last + (head >> 4) if head >> 4 else self._integer()
            results[last] = self._field(kind)
        return results

    def _field(self, kind: int) -> Field:
        if kind in {TRUE, FALSE}:
            return Field(TRUE, kind == TRUE)
        if kind != LIST:
            return Field(kind, self._plain(kind))
        head = self._take(1)[0]
        elements, size = head & 15, head >> 4
        size = self._varint() if size == 15 else size
        return Field(LIST, [self._plain(elements) for _ in range(size)], elements)

    def _plain(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return self._integer()
        if kind == BINARY:
            return self._take(self._varint())
        if kind == STRUCT:
            return self.struct()
        if kind in {TRUE, FALSE, BYTE, DOUBLE}:
            return self._take(8 if kind == DOUBLE else 1)
        raise ValueError(f"Parquet writes no Thrift type {kind}")

    def _take(self, size: int) -> bytes:
        self.at += size
        return self._raw[self.at - size : self.at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self._take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def _integer(self) -> int:
        raw = self._varint()
        return raw >> 1 if not raw & 1 else -(raw >> 1) - 1

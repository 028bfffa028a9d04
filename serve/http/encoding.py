"""Chooses a content coding by Accept-Encoding, and applies it."""

from __future__ import annotations

import re
import struct
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

import brotli
import zstandard
from isal import isal_zlib

from serve.pages.json import BodyChunks
from serve.pages.rendered_rows import SplitRows
from serve.pages.row_blocks import LEVEL, RAW_DEFLATE

MIN_ENCODED_BYTES: Final = 1024
"""Bodies below this many bytes travel as they are: the saving would be less than a packet."""
IMMEDIATE_BYTES: Final = 1 << 18
"""Bodies up to this many bytes are compressed where they are made: a turn of a compute thread and back costs about as much."""
IDENTITY: Final = "identity"

Buffer: TypeAlias = bytes | memoryview
_GZIP_HEADER: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""RFC 1952; without a time, so that equal bodies have equal bytes."""
_QVALUE: Final = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z")


class _Compressors(threading.local):
    """One for each thread, which is as much as can be shared: making one takes longer than compressing a few rows."""

    def __init__(self) -> None:
        self.zstd = zstandard.ZstdCompressor(level=LEVEL)


_compressors: Final = _Compressors()


def _zstd(body: Buffer) -> bytes:
    return _compressors.zstd.compress(body)


def _brotli(body: Buffer) -> bytes:
    # Two to three times as fast as the next quality, and rows come out as small but for a fiftieth.
    return bytes(brotli.compress(body, quality=1))


def _gzip(body: Buffer) -> bytes:
    deflate = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, RAW_DEFLATE)
    ended = deflate.compress(body) + deflate.flush()
    return b"".join((_GZIP_HEADER, ended, _gzip_trailer(isal_zlib.crc32(body), len(body))))


def _gzip_trailer(crc: int, length: int) -> bytes:
    return struct.pack("<LL", crc, length & 0xFFFFFFFF)


_CODERS: Final[dict[str, Callable[[Buffer], bytes]]] = {"zstd": _zstd, "gzip": _gzip, "br": _brotli}
"""Coding -> its function, the cheapest first: the order that decides between equally welcome ones."""
JOINABLE: Final = frozenset({"zstd", "gzip"})
"""Codings that rows are compressed in beforehand."""


@lru_cache(maxsize=256)
def negotiate(accept_encoding: bytes | None) -> str:
    """Choose the coding of an answer.

    Parameters
    ----------
    accept_encoding
        The request's header as received; None when there is none.

    Returns
    -------
    str
        A coding of the caller's highest weight, or ``identity``. Items that break the header's grammar are
        left out, and a caller who accepts nothing we have gets the body as it is rather than an error.
    """
    weights = _weights((accept_encoding or b"").decode("latin-1"))
    rest = weights.get("*", 0.0)
    offers = [(weights.get(coding, rest), coding) for coding in _CODERS]
    best = max(weight for weight, _ in offers)
    if best <= 0 or best < weights.get(IDENTITY, 0.0):
        return IDENTITY
    return next(coding for weight, coding in offers if weight == best)


def encode(body: Buffer, coding: str) -> tuple[bytes, str]:
    """Apply a negotiated coding, and return the body with the coding it has in the end."""
    if coding == IDENTITY or len(body) < MIN_ENCODED_BYTES:
        return bytes(body), IDENTITY
    return _CODERS[coding](body), coding


def join(prefix: bytes, rows: SplitRows, suffix: bytes, coding: str) -> BodyChunks:
    """Return a body around rows that are compressed already for the most part.

    Parameters
    ----------
    prefix, suffix
        What stands before and after the rows.
    coding
        One of :data:`JOINABLE`.
    """
    head, tail = b"".join((prefix, rows.head)), b"".join((rows.tail, suffix))
    if coding == "zstd":
        return (_zstd(head), rows.blocks.data, _zstd(tail))
    begun = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, RAW_DEFLATE)
    ended = isal_zlib.compressobj(LEVEL, isal_zlib.DEFLATED, RAW_DEFLATE)
    combine, blocks = isal_zlib.crc32_combine, rows.blocks
    crc = combine(isal_zlib.crc32(head), blocks.crc, blocks.length)
    crc = combine(crc, isal_zlib.crc32(tail), len(tail))
    return (
        b"".join((_GZIP_HEADER, begun.compress(head), begun.flush(isal_zlib.Z_FULL_FLUSH))),
        blocks.data,
        b"".join(
            (ended.compress(tail), ended.flush(), _gzip_trailer(crc, len(head) + blocks.length + len(tail)))
        ),
    )


def _weights(header: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for item in header.split(","):
        coding, *attributes = (part.strip() for part in item.split(";"))
        weight = 1.0
        for attribute in attributes:
            name, _, value = attribute.partition("=")
            if name.strip().lower() == "q":
                weight = float(value) if _QVALUE.match(value.strip()) else 0.0
        if coding:
            weights[coding.lower()] = weight
    return weights

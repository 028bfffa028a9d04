"""Chooses a content coding by Accept-Encoding, and applies it."""

from __future__ import annotations

import re
import struct
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from isal import isal_zlib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIN_ENCODED_BYTES: Final = 1024
"""Bodies below this many bytes travel as they are: the saving would be less than a packet."""
IMMEDIATE_BYTES: Final = 1 << 18
"""Bodies up to this many bytes are compressed where they are made: a turn of a compute thread and back costs about as much."""
IDENTITY: Final = "identity"

Buffer: TypeAlias = bytes | memoryview
_LEVEL: Final = 1
"""Of both codings."""
_RAW_DEFLATE: Final = -15
"""Deflate without a header, by the numbers of zlib."""
_GZIP_HEADER: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""RFC 1952; without a time, so that equal bodies have equal bytes."""
_QVALUE: Final = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z")


class _Compressors(threading.local):
    """One for each thread, which is as much as can be shared: making one takes longer than compressing a few rows."""

    def __init__(self) -> None:
        self.zstd = zstd.ZstdCompressor(level=_LEVEL)


_compressors: Final = _Compressors()


def _zstd(body: Buffer) -> bytes:
    return _compressors.zstd.compress(body, zstd.ZstdCompressor.FLUSH_FRAME)


def _gzip(body: Buffer) -> bytes:
    deflate = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _RAW_DEFLATE)
    ended = deflate.compress(body) + deflate.flush()
    trailer = struct.pack("<LL", isal_zlib.crc32(body), len(body) & 0xFFFFFFFF)
    return b"".join((_GZIP_HEADER, ended, trailer))


_CODERS: Final[dict[str, Callable[[Buffer], bytes]]] = {"zstd": _zstd, "gzip": _gzip}
"""Coding -> its function, the cheapest first: the order that decides between equally welcome ones."""


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


def encode(body: Buffer, coding: str) -> bytes:
    """Apply a coding other than identity to a body; of zstd the outcome is one frame."""
    return _CODERS[coding](body)


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

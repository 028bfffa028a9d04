"""Chooses a content coding by Accept-Encoding, and applies it."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import brotli
import zstandard

SMALLEST: Final = 1024
"""Bodies below this many bytes travel as they are: the saving would be less than a packet."""
IDENTITY: Final = "identity"

_QVALUE: Final = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z")


def _zstd(body: bytes) -> bytes:
    # A compressor is not safe to share between threads, and making one is cheap.
    return zstandard.ZstdCompressor(level=1).compress(body)


def _brotli(body: bytes) -> bytes:
    return bytes(brotli.compress(body, quality=2))


def _gzip(body: bytes) -> bytes:
    # The clock stays out of the header, so that equal bodies have equal bytes.
    return gzip.compress(body, compresslevel=1, mtime=0)


_CODERS: Final[dict[str, Callable[[bytes], bytes]]] = {"zstd": _zstd, "br": _brotli, "gzip": _gzip}
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


def encode(body: bytes, coding: str) -> tuple[bytes, str]:
    """Apply a negotiated coding, and return the body with the coding it has in the end."""
    if coding == IDENTITY or len(body) < SMALLEST:
        return body, IDENTITY
    return _CODERS[coding](body), coding


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

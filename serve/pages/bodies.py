"""Content codings: how one is negotiated and applied, and the cache of finished bodies."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from isal import isal_zlib

from serve.cache import SizedLRUCache, SnapshotKey

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

IDENTITY: Final = "identity"
CODINGS: Final = ("zstd", "gzip")
"""The cheapest first: the order that decides between equally welcome ones."""
MIN_ENCODED_BYTES: Final = 1024
"""Bodies below this many bytes travel as they are: the saving would be less than a packet."""
IMMEDIATE_BYTES: Final = 1 << 18
"""Bodies up to this many bytes are compressed where they are made: a turn of a compute thread and back costs about as much."""
_OVERHEAD: Final = 400
"""What an entry takes besides its body."""
_LEVEL: Final = 1
"""Of both codings."""
_GZIP: Final = 31
"""Deflate with the header of gzip, by the numbers of zlib."""
_QVALUE: Final = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)\Z")
_compressors: Final = threading.local()
"""One of zstd for each thread: making one takes longer than compressing a few rows."""


@dataclass(frozen=True, slots=True)
class Body:
    """The body of an answer in one content coding.

    Attributes
    ----------
    content
        As it is sent.
    coding
        The content coding it has in the end; a small body stays as it is, whatever was negotiated.
    etag
        Its entity tag as it is sent; empty for what has none.
    """

    content: bytes
    coding: str
    etag: str = ""

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return len(self.content) + _OVERHEAD


class Bodies:
    """Finished bodies, the least used of which make room for others. Safe to share between threads."""

    def __init__(self, cache: SizedLRUCache[Body]) -> None:
        self._cache = cache
        self.get: Final = cache.get
        """Return the body of a snapshot by tag and content coding; None on a miss."""

    def finish(self, owner: SnapshotKey, tag: str, coding: str, content: bytes, *, tag_by_body: bool) -> Body:
        """Encode a body and cache it; `tag`, of the query, is its entity tag unless `tag_by_body`."""
        opaque = tag_of_body(content) if tag_by_body else tag
        body = coded(content, coding, entity_tag(opaque, coding))
        self._cache.put(owner, (tag, coding), body, body.bytes)
        return body


def tag_of_body(body: bytes) -> str:
    """Return the opaque part of an entity tag made from the bytes of a body."""
    return hashlib.sha256(body).hexdigest()[:32]


def entity_tag(tag: str, coding: str) -> str:
    """Return the ``ETag`` header: each content coding is a representation of its own, with a tag of its own.

    Only that of the plain body is strong: another release of a compressor makes other bytes of it.
    """
    return f'"{tag}-{coding}"' if coding == IDENTITY else f'W/"{tag}-{coding}"'


def coded(content: bytes, coding: str, etag: str = "") -> Body:
    """Apply a negotiated coding to a body."""
    if coding == IDENTITY or len(content) < MIN_ENCODED_BYTES:
        return Body(content, IDENTITY, etag)
    # A copy: what an encoder returns keeps all the memory that it reserved.
    return Body(bytes(memoryview(encode(content, coding))), coding, etag)


def encode(body: bytes, coding: str) -> bytes:
    """Apply a coding other than identity: of gzip the outcome is one member, of zstd one frame."""
    if coding == "gzip":
        return isal_zlib.compress(body, _LEVEL, _GZIP)
    if not hasattr(_compressors, "zstd"):
        _compressors.zstd = zstd.ZstdCompressor(level=_LEVEL)
    compressed: bytes = _compressors.zstd.compress(body, zstd.ZstdCompressor.FLUSH_FRAME)
    return compressed


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
        omitted, and a caller who accepts none of our codings gets the body uncompressed, not an error.
    """
    weights = _weights((accept_encoding or b"").decode("latin-1"))
    rest = weights.get("*", 0.0)
    offers = [(weights.get(coding, rest), coding) for coding in CODINGS]
    best = max(weight for weight, _ in offers)
    if best <= 0 or best < weights.get(IDENTITY, 0.0):
        return IDENTITY
    return next(coding for weight, coding in offers if weight == best)


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

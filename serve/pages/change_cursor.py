"""The cursor of the changes as text: a place in their order, and digests of what was known before it."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import Final, NamedTuple

DIGEST_BYTES: Final = 6
_DIGESTS: Final = 3
_VERSION: Final = 1
_PLACE: Final = struct.Struct(">BqQ")
_CHECK_BYTES: Final = 1


class Cursor(NamedTuple):
    """A place behind a change.

    Attributes
    ----------
    time
        Of the change, in microseconds since 1970.
    tie
        Orders changes of one time.
    digests
        Of the changes in the stretches before the place, the nearest first.
    """

    time: int
    tie: int
    digests: tuple[int, ...]

    def encode(self) -> str:
        """Return the text that callers hand back."""
        body = _PLACE.pack(_VERSION, self.time, self.tie)
        body += b"".join(digest.to_bytes(DIGEST_BYTES) for digest in self.digests)
        return base64.urlsafe_b64encode(body + _check(body)).decode()

    @classmethod
    def decode(cls, text: str) -> Cursor | None:
        """Read a text back; None when no release of this format wrote it."""
        try:
            data = base64.b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
        except ValueError:
            return None
        body = data[:-_CHECK_BYTES]
        if len(body) != _PLACE.size + _DIGESTS * DIGEST_BYTES or _check(body) != data[-_CHECK_BYTES:]:
            return None
        version, time, tie = _PLACE.unpack_from(body)
        if version != _VERSION:
            return None
        rest = body[_PLACE.size :]
        digests = (rest[at : at + DIGEST_BYTES] for at in range(0, len(rest), DIGEST_BYTES))
        return cls(time, tie, tuple(map(int.from_bytes, digests)))


START: Final = Cursor(0, 0, (0,) * _DIGESTS)
"""Before everything."""


def _check(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_CHECK_BYTES).digest()

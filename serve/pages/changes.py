"""The changes of a catalogue in order, and cursors with which callers resume reading.

Changes are ordered by the clocks of the publishing machines, which differ slightly, so that a change may arrive after a later
one. A cursor therefore holds its position and digests of the changes in the seconds, minutes and hour before it. If a node
knows other changes in one of these windows, it returns the changes of the window again. So no change is lost if its clock was
less than an hour slow, changes are repeated only if one arrived late, and nodes keep no state for callers.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from datasets.catalogue.listing import Listing
from datasets.publication.history import Change, recorded_changes
from schemas.instants import microseconds

DIGEST_BYTES: Final = 6
_DIGESTS: Final = 3
_VERSION: Final = 1
_PLACE: Final = struct.Struct(">BqQ")
_CHECK_BYTES: Final = 1


class Cursor(NamedTuple):
    """A position after a change.

    Attributes
    ----------
    time
        Time of the change, in microseconds since 1970.
    tie
        Orders changes with the same time.
    digests
        Digests of the changes in the windows before the position, the nearest window first.
    """

    time: int
    tie: int
    digests: tuple[int, ...]

    def encode(self) -> str:
        """Return the cursor as text."""
        body = _PLACE.pack(_VERSION, self.time, self.tie)
        body += b"".join(digest.to_bytes(DIGEST_BYTES) for digest in self.digests)
        return base64.urlsafe_b64encode(body + _check(body)).decode()

    @classmethod
    def decode(cls, text: str) -> Cursor | None:
        """Parse a cursor; None if the text is not a cursor of this format."""
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
"""The position before all changes."""


def _check(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_CHECK_BYTES).digest()


_SPANS: Final = (10_000_000, 120_000_000, 3_600_000_000)
"""Microseconds that each window of a cursor's digests reaches back; each window ends where the nearer one begins."""
_MASK: Final = np.uint64(2 ** (8 * DIGEST_BYTES) - 1)

Times = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


class Entry(NamedTuple):
    """A change with its sort key, `time` and `tie`, and its hash in digests."""

    time: int
    tie: int
    hash: int
    change: Change


class ChangePage(NamedTuple):
    """The changes that follow a cursor.

    Attributes
    ----------
    changes
        Changes of the page, oldest first.
    cursors
        The cursor after each change.
    total
        Number of all changes after the cursor.
    next
        The cursor after the page.
    """

    changes: tuple[Change, ...]
    cursors: tuple[Cursor, ...]
    total: int
    next: Cursor


class ChangeLog:
    """Changes in order.

    Parameters
    ----------
    entries
        Sorted by time and tie.
    """

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = entries
        self._times: Times = np.array([entry.time for entry in entries], dtype=np.int64)
        hashes = np.array([0, *(entry.hash for entry in entries)], dtype=np.uint64)
        self._digests: Hashes = np.bitwise_xor.accumulate(hashes)
        """The digest of all changes before each index."""

    def readable(self, now: datetime, may_read: Callable[[str], bool], since: Cursor = START) -> ChangeLog:
        """Return the log without changes in the future, and of the alphas that a caller may read.

        A change dated in the future, by a fast clock, is left out until then: a cursor after it would skip the changes before.

        Parameters
        ----------
        may_read
            Whether the caller may read an alpha.
        since
            Cursor to resume from: changes before the reach of its digests are left out.
        """
        until = int(np.searchsorted(self._times, microseconds(now), "right"))
        begin = int(np.searchsorted(self._times, since.time - _SPANS[-1], "left"))
        return ChangeLog([x for x in self._entries[begin:until] if may_read(x.change.alpha_id)])

    def after(self, cursor: Cursor, limit: int, offset: int) -> ChangePage:
        """Return the changes after a cursor."""
        start = self._start(cursor)
        total = len(self._entries) - start
        page = range(start + offset, len(self._entries))[:limit]
        entries = [self._entries[place] for place in page]
        cursors = tuple(self._cursor(x.time, x.tie, n + 1) for n, x in zip(page, entries, strict=True))
        following = cursors[-1] if cursors else self._cursor(*cursor[:2], self._index_after(cursor))
        return ChangePage(tuple(x.change for x in entries), cursors, total, following)

    def _start(self, cursor: Cursor) -> int:
        index = self._index_after(cursor)
        bounds = self._bounds(cursor.time)
        digests = self._window_digests(index, bounds)
        changed = [
            bound for bound, own, named in zip(bounds, digests, cursor.digests, strict=True) if own != named
        ]
        return min([index, *changed])

    def _index_after(self, cursor: Cursor) -> int:
        """Return the index of the first change after a cursor."""
        return bisect_right(self._entries, (cursor.time, cursor.tie), key=lambda entry: entry[:2])

    def _bounds(self, time: int) -> tuple[int, ...]:
        return tuple(int(np.searchsorted(self._times, time - span, "left")) for span in _SPANS)

    def _window_digests(self, place: int, bounds: Iterable[int]) -> tuple[int, ...]:
        digests, windows, end = self._digests, [], place
        for begin in bounds:
            windows.append(int((digests[end] ^ digests[min(begin, end)]) & _MASK))
            end = min(begin, end)
        return tuple(windows)

    def _cursor(self, time: int, tie: int, index: int) -> Cursor:
        """Return the cursor before the change with an index, with the digests that this node knows now."""
        return Cursor(time, tie, self._window_digests(index, self._bounds(time)))


@lru_cache(maxsize=1)
def change_log(listing: Listing) -> ChangeLog:
    """Return the changes of a catalogue, cached until it changes."""
    pointers = (*listing.pointers, *listing.unserved)
    entries = [make_entry(change) for pointer in pointers for change in recorded_changes(pointer)]
    return ChangeLog(sorted(entries, key=lambda entry: entry[:2]))


def make_entry(change: Change) -> Entry:
    """Return the entry of a change."""
    time = microseconds(change.at)
    return Entry(time, _hash(change.alpha_id), _hash(f"{change.alpha_id}\0{time}"), change)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())

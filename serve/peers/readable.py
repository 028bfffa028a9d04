"""What of all alphas a key can search."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, Protocol

from serve.peers.nearest import Pool


class Allowed(Hashable, Protocol):
    """The names a key may read."""

    def allows(self, name: str) -> bool:
        """Whether a name is among them."""
        ...


class Readable(NamedTuple):
    """What a key can search.

    Attributes
    ----------
    pool
        The alphas with returns.
    not_read, unreadable, no_data
        The others that the key may read: not read yet, not readable for now, without any returns of the book.
    """

    pool: Pool
    not_read: frozenset[str]
    unreadable: frozenset[str]
    no_data: frozenset[str]

"""Which books of a run a key can read, and what asking for one of them comes to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from datasets.snapshot import Snapshot
from schemas.errors import ApiError
from schemas.tables.books import BOOK_KINDS, RAW_PREFIX, book_order


@dataclass(frozen=True, slots=True)
class Readable:
    """A book that has rows of the kind asked for."""

    name: str


@dataclass(frozen=True, slots=True)
class NothingOfKind:
    """A request in order, of which the run holds no rows: the page is empty and says why."""

    kind: str


def visible_books(snapshot: Snapshot, *, raw: bool) -> tuple[str, ...]:
    """Return the books a key can read, over all kinds, in the order they are listed everywhere."""
    return _listed(tuple(snapshot.books(kind) for kind in BOOK_KINDS), raw=raw)


@lru_cache(maxsize=1024)
def _listed(by_kind: tuple[tuple[str, ...], ...], *, raw: bool) -> tuple[str, ...]:
    """Sort the books of all kinds; most runs have the same ones, and every request about a book asks."""
    found = {book for books in by_kind for book in books}
    return tuple(sorted((x for x in found if raw or not x.startswith(RAW_PREFIX)), key=book_order))


def choose_book(snapshot: Snapshot, kind: str, book: str, *, raw: bool) -> Readable | NothingOfKind:
    """Decide what a request for a book of one dataset comes to.

    Parameters
    ----------
    kind
        The dataset: portfolio, positions, pnl or trades.
    book
        As asked for.
    raw
        Whether the key sees raw books; one it does not see is treated as one that does not exist.

    Raises
    ------
    ApiError
        ``unknown_book``, with the books that could have been asked for.
    """
    visible = visible_books(snapshot, raw=raw)
    if book in visible:
        return Readable(book) if book in snapshot.books(kind) else NothingOfKind(kind)
    if not visible:
        # A run without books holds no data for any of them, whichever is asked for.
        return NothingOfKind(kind)
    raise ApiError(
        "unknown_book",
        "The run has no such book among those this key can read.",
        {"available": list(visible)},
    )

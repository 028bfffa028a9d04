"""The books of a run: which of them a key can read, and their list."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import polars as pl

from datasets.snapshot import Snapshot
from schemas.errors import ApiError
from schemas.parameters import BOOK
from schemas.rows import ROWS
from schemas.tables.books import BOOK_KINDS, book_order, is_raw_book
from serve.pages.duckdb import frame_rows
from serve.pages.query import NO_ROWS, PageQuery, PageResult, PageWork


def visible_books(snapshot: Snapshot, *, raw: bool) -> tuple[str, ...]:
    """Return the books a key can read, over all kinds, in listing order."""
    return _sorted_books(tuple(map(snapshot.books, BOOK_KINDS)), raw=raw)


@lru_cache(maxsize=1024)
def _sorted_books(by_kind: tuple[tuple[str, ...], ...], *, raw: bool) -> tuple[str, ...]:
    """Sort the books of all kinds; cached, because most runs have the same books and every request about a book needs them."""
    distinct = {book for books in by_kind for book in books}
    return tuple(sorted((x for x in distinct if raw or not is_raw_book(x)), key=book_order))


def holds_book(snapshot: Snapshot, kind: str, book: str, *, raw: bool) -> bool:
    """Whether a run has rows of a kind for a book.

    Parameters
    ----------
    kind
        The table: portfolio, positions, pnl or trades.
    book
        The requested book.
    raw
        Whether the key sees raw books; a book that it does not see is treated as missing.

    Raises
    ------
    ApiError
        ``unknown_book``, with the books that the key can read, if there are any.
    """
    visible = visible_books(snapshot, raw=raw)
    if book in visible:
        return book in snapshot.books(kind)
    if visible:
        raise _unknown_book("The run has", book, visible)
    # A run without books holds no data for any of them.
    return False


def require_book(snapshots: Sequence[Snapshot], book: str, *, raw: bool) -> None:
    """Refuse a book that none of the runs has, if any run has books, and a raw book that the key does not see.

    Raises
    ------
    ApiError
        ``unknown_book``, with the books of the runs that the key can read.
    """
    available = {name for snapshot in snapshots for name in visible_books(snapshot, raw=raw)}
    if book not in available and (available or (is_raw_book(book) and not raw)):
        which = "The run has" if len(snapshots) == 1 else "The runs have"
        raise _unknown_book(which, book, sorted(available, key=book_order))


def _unknown_book(which: str, book: str, available: Sequence[str]) -> ApiError:
    # Only the default is named, which the caller may have left out; any other name is arbitrary text from the caller.
    what = f"book {book}, the default" if book == BOOK.default else "such book"
    message = f"{which} no {what}, or this key may not read it; `details.available` lists those it may read."
    return ApiError("unknown_book", message, {"available": list(available)})


def list_books(query: PageQuery, snapshot: Snapshot) -> PageWork:
    """Return the work that reads a page of the list of books: it is short, and finished pages are cached."""
    return partial(_read, query, snapshot)


def _read(query: PageQuery, snapshot: Snapshot) -> PageResult:
    books = visible_books(snapshot, raw=query.raw) if snapshot.has("books") else ()
    if not books:
        return PageResult(NO_ROWS, missing=BOOK_KINDS)
    present = snapshot.columns(query.table)
    names = [x.name for x in ROWS[query.row].columns if x.name in present]
    rows = snapshot.read(query.table, names).filter(pl.col("book").is_in(books))
    rows = rows.sort(pl.col("book").cast(pl.Enum(books)), pl.col("kind").cast(pl.Enum(BOOK_KINDS)))
    return PageResult(frame_rows(rows[query.offset : query.offset + query.limit], rows.height))

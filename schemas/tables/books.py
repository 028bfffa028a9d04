"""The books of a run: span and size of each of their datasets."""

from __future__ import annotations

from typing import Final

from schemas.table import Table, count, day, derived, flag, text
from schemas.tables.shared_columns import BOOK

BOOK_KINDS: Final = ("portfolio", "positions", "pnl", "trades")
"""The datasets that are partitioned by book, in the order they are listed."""
CONDITIONED_BOOKS: Final = ("long_short", "long_only")
RAW_PREFIX: Final = "raw_"
ADJUSTING: Final = "_adjustments"
SETTLEMENTS: Final = "_settlements"
TRADE_ONLY_SUFFIXES: Final = (ADJUSTING, SETTLEMENTS)


def base_book(book: str) -> str:
    """Return the book that a trade-only variant belongs to; any other book is returned as it is."""
    for suffix in TRADE_ONLY_SUFFIXES:
        if book.endswith(suffix):
            return book.removesuffix(suffix)
    return book


def is_raw_book(book: str) -> bool:
    """Return whether a book is an unconditioned twin."""
    return book.startswith(RAW_PREFIX)


def book_order(book: str) -> tuple[bool, bool, int, str, int, str]:
    """Return the sort key of the canonical order of books.

    First the two books, then their trade-only variants, then the raw twins in the same order; books with other names follow
    the known ones of their group, by name.
    """
    plain = book.removeprefix(RAW_PREFIX)
    base = base_book(plain)
    known = CONDITIONED_BOOKS.index(base) if base in CONDITIONED_BOOKS else len(CONDITIONED_BOOKS)
    suffix = plain.removeprefix(base)
    variant = TRADE_ONLY_SUFFIXES.index(suffix) if suffix in TRADE_ONLY_SUFFIXES else -1
    return is_raw_book(book), variant >= 0, known, base, variant, book


BOOKS: Final = Table(
    name="books",
    meaning="One row per book and dataset that the run wrote.",
    key=("book", "kind"),
    sealed=False,
    columns=(
        BOOK,
        text("kind", "The dataset summarised.", vocabulary=BOOK_KINDS, **derived()),
        flag("raw", "Whether the book is an unconditioned twin.", **derived()),
        count("sessions", "Days with a row: trading sessions, or days with a fill for trades.", **derived()),
        count("rows", "Rows of the dataset for the book.", **derived()),
        day("from", "First day with a row.", nullable=True, **derived()),
        day("to", "Last day with a row.", nullable=True, **derived()),
    ),
)

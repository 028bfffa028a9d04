"""The books of a run: what each dataset holds of each."""

from __future__ import annotations

from typing import Final

from schemas.table import Column, Origin, Table
from schemas.tables.shared_columns import BOOK
from schemas.units import Type, Unit

BOOK_KINDS: Final = ("portfolio", "positions", "pnl", "trades")
"""The datasets that are partitioned by book, in the order they are listed."""
CONDITIONED_BOOKS: Final = ("long_short", "long_only")
RAW_PREFIX: Final = "raw_"
ADJUSTING: Final = "_adjustments"
SETTLEMENTS: Final = "_settlements"
TRADE_ONLY_SUFFIXES: Final = (ADJUSTING, SETTLEMENTS)


def base_book(book: str) -> str:
    """Name the book whose sessions a trade-only variant shares; any other book is its own."""
    for suffix in TRADE_ONLY_SUFFIXES:
        if book.endswith(suffix):
            return book.removesuffix(suffix)
    return book


def book_order(book: str) -> tuple[bool, bool, int, str, int, str]:
    """Sort key of the canonical order of books.

    The two books first, then their trade-only variants, then the raw twins in the same order; books of
    other names follow the known ones of their group, by name.
    """
    raw = book.startswith(RAW_PREFIX)
    plain = book.removeprefix(RAW_PREFIX)
    base = base_book(plain)
    known = CONDITIONED_BOOKS.index(base) if base in CONDITIONED_BOOKS else len(CONDITIONED_BOOKS)
    suffix = plain.removeprefix(base)
    variant = TRADE_ONLY_SUFFIXES.index(suffix) if suffix in TRADE_ONLY_SUFFIXES else -1
    return raw, variant >= 0, known, base, variant, book


def _derived(name: str, type_: Type, unit: Unit, meaning: str, *, nullable: bool = False) -> Column:
    return Column(name, type_, unit, meaning, nullable=nullable, origin=Origin.DERIVED)


BOOKS: Final = Table(
    name="books",
    meaning="One row per book and dataset that the run wrote.",
    key=("book", "kind"),
    sort=("book", "kind"),
    sealed=False,
    columns=(
        BOOK,
        Column(
            "kind",
            Type.STR,
            Unit.NONE,
            "The dataset summarised.",
            origin=Origin.DERIVED,
            vocabulary=BOOK_KINDS,
        ),
        _derived("raw", Type.BOOL, Unit.NONE, "Whether it is the unconditioned twin of a book."),
        _derived(
            "sessions",
            Type.I64,
            Unit.COUNT,
            "Days with a row: trading sessions, or for trades the days with a fill.",
        ),
        _derived("rows", Type.I64, Unit.COUNT, "Rows of the dataset for the book."),
        _derived("from", Type.DATE, Unit.DATE, "First day with a row.", nullable=True),
        _derived("to", Type.DATE, Unit.DATE, "Last day with a row.", nullable=True),
    ),
)

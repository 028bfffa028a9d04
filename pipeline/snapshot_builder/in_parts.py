"""Derives and writes the large tables of a run in parts of complete weeks, or of complete days of a book.

The bytes of the files do not depend on how a run is split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from pipeline.maths.ordering import ordered
from pipeline.reconciliation.row_ranges import find_row_ranges
from pipeline.rules.in_parts import merge_row_ranges, read_columns
from pipeline.seal import Seal
from pipeline.snapshot_builder.ledgers import published_by_name
from pipeline.snapshot_builder.weekly import published_decisions
from pipeline.snapshot_builder.write import SnapshotWriter
from schemas.tables.books import book_order

PART_ROWS: Final = 1_000_000
"""Rows to derive at a time; a part extends to the end of its day or week."""
_PANEL: Final = (
    "date", "symbol", "score", "raw_score", "raw_score_z", "forward_return", "long_short_target_weight",
    "long_only_target_weight",
)  # fmt: skip
"""Input columns of the weekly figures."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Row ranges of each book's days in a sorted table.

    Attributes
    ----------
    books
        Book -> its rows, in API order; a table without books has the single key None.
    days
        First row of each day (of a book), ascending, followed by the number of rows.
    """

    books: dict[str | None, range]
    days: np.ndarray[tuple[int], np.dtype[np.int64]]

    def parts(self, book: str | None) -> Iterator[range]:
        """Split the rows of a book into parts of complete days."""
        rows = self.books[book]
        start = rows.start
        while start < rows.stop:
            stop = int(self.days[np.searchsorted(self.days, min(start + PART_ROWS, rows.stop))])
            yield range(start, stop)
            start = stop


def find_layout(seal: Seal, kind: str) -> Layout | None:
    """Find the days of a table; None if its rows are not sorted by book and day."""
    day = "timestamp" if kind == "trades" else "date"
    key = (day,) if kind == "decisions" else ("book", day)
    height = seal.decode_height(kind)
    if not height:
        return None
    parts = read_columns(seal, kind, key)
    ranges = merge_row_ranges(part.with_columns(pl.col(day).cast(pl.Date)) for part in parts)
    days = np.append(ranges.starts, height)
    books: dict[str | None, range] = {}
    groups = ranges.heads.with_row_index("place")
    for book, own in [(None, groups)] if kind == "decisions" else _by_book(groups):
        if book in books or not own[day].is_sorted() or own[day].n_unique() < own.height:
            return None
        books[book] = range(int(days[own["place"][0]]), int(days[own["place"][-1] + 1]))
    order = sorted(books, key=lambda book: book_order(book or ""))
    return Layout({book: books[book] for book in order}, days)


def _by_book(heads: pl.DataFrame) -> Iterator[tuple[str | None, pl.DataFrame]]:
    """Yield the row ranges of each book, several if its rows are not adjacent."""
    ranges = find_row_ranges(heads.select("book"))
    for book, start, length in zip(ranges.heads["book"], ranges.starts, ranges.lengths, strict=True):
        yield book, heads.slice(int(start), int(length))


def write_decisions(seal: Seal, writer: SnapshotWriter, layout: Layout) -> pl.DataFrame:
    """Write the cross-sections, and return their columns for the weekly figures."""
    panel: list[pl.DataFrame] = []
    category = pl.Categorical(pl.Categories.random())

    def parts() -> Iterator[pl.DataFrame]:
        for rows in layout.parts(None):
            derived = published_decisions(ordered(seal.part("decisions", rows).frame, ("date", "symbol")))
            needed = [name for name in _PANEL if name in derived.columns]
            panel.append(derived.select(needed).with_columns(pl.col("symbol").cast(category)))
            yield derived

    writer.parts("decisions", len(layout.books[None]), parts())
    return pl.concat(panel)


def write_books(
    seal: Seal,
    writer: SnapshotWriter,
    kind: str,
    layout: Layout,
    on_rows: Callable[[str, pl.DataFrame], None],
) -> None:
    """Write a table by book.

    Parameters
    ----------
    on_rows
        Called with the published rows of each book, part by part in order.
    """

    def derived(book: str) -> Iterator[pl.DataFrame]:
        for place in layout.parts(book):
            first = place.start - layout.books[book].start
            rows = published_by_name(kind, seal.part(kind, place).frame, first)[book]
            on_rows(book, rows)
            yield rows

    for book, rows in layout.books.items():
        assert book is not None
        writer.parts(kind, len(rows), derived(book), book)

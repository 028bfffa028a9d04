"""The summary of what each dataset holds of each book."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import polars as pl

from pipeline.snapshot_builder.ledgers import Books
from schemas.tables.books import BOOK_KINDS, RAW_PREFIX, book_order

_SCHEMA = {
    "book": pl.String,
    "kind": pl.String,
    "raw": pl.Boolean,
    "sessions": pl.Int64,
    "rows": pl.Int64,
    "from": pl.Date,
    "to": pl.Date,
}


Span = tuple[int, int, date | None, date | None]
"""Days, rows, first and last day."""
Spans = dict[str, Span]
"""Book -> its span in one dataset."""


def published_books(kinds: Mapping[str, Spans]) -> pl.DataFrame:
    """Summarise every (book, dataset) pair the run wrote, in the order the API lists them.

    Parameters
    ----------
    kinds
        Dataset -> what it holds of each book, of the datasets the run sealed.
    """
    books = sorted({book for parts in kinds.values() for book in parts}, key=book_order)
    rows = [
        (book, kind, book.startswith(RAW_PREFIX), *kinds[kind][book])
        for book in books
        for kind in BOOK_KINDS
        if kind in kinds and book in kinds[kind]
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def spans(parts: Books, kind: str) -> Spans:
    """Count the days and rows of each book of a dataset, with its first and last day (UTC day for fills).

    Parameters
    ----------
    parts
        Book -> its rows by day, as published.
    """
    return {book: _span(rows, kind) for book, rows in parts.items()}


def _span(rows: pl.DataFrame, kind: str) -> Span:
    # As series, not expressions, which would wait for their turn in the engine behind the files being written.
    day = rows["timestamp"].cast(pl.Date) if kind == "trades" else rows["date"]
    # Rows stand by day, so that a day begins wherever it is another than that of the row before.
    sessions = int((day.slice(1) != day.slice(0, max(0, day.len() - 1))).sum()) + bool(day.len())
    first, last = (day.min(), day.max()) if rows.height else (None, None)
    assert first is None or isinstance(first, date)
    assert last is None or isinstance(last, date)
    return sessions, rows.height, first, last

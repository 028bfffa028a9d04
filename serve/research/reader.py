"""Reads the data of comparisons by the engine and the caches of the service."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from datasets.comparison import OF_CROSS_SECTIONS, Question, no_data
from datasets.figures.daily_returns import DailyReturns
from datasets.figures.unavailable import Unavailable
from datasets.snapshot import Snapshot
from schemas.tables import PUBLISHED_TABLES
from serve.pages.books import visible_books
from serve.pages.duckdb import Engine
from serve.pages.sql import Statement, quoted, select_rows, source, stored_order
from serve.research.returns import Returns


@dataclass(frozen=True, slots=True)
class ServedReader:
    """Reads the runs that a key may read.

    Attributes
    ----------
    engine, cache
        What reads cross-sections, and daily returns.
    raw
        Whether the key sees the books of the unconditioned signal.
    """

    engine: Engine
    cache: Returns
    raw: bool

    def has_rows(self, run: Snapshot, question: Question) -> bool:
        """Whether a run has rows to compare, of a book that the key can read."""
        book = question.compared_book
        if book is not None and book not in visible_books(run, raw=self.raw):
            return False
        return run.has_rows(question.table, book)

    def no_data(self, question: Question) -> Unavailable:
        """Return the reason that a run has no rows to compare."""
        return no_data(question, " that the key can read")

    def returns(self, run: Snapshot, book: str) -> DailyReturns:
        """Return the daily returns of a book."""
        return self.cache.load(run, book)

    def cross_sections(self, run: Snapshot, question: Question, first: int, last: int) -> pl.DataFrame:
        """Return `date`, `symbol` and the compared column of some days, without null rows."""
        column = quoted(OF_CROSS_SECTIONS[question.by].column)
        between = Statement(
            "date BETWEEN DATE '1970-01-01' + ?::INTEGER AND DATE '1970-01-01' + ?::INTEGER", (first, last)
        )
        return self.engine.frame(
            select_rows(
                Statement(f"date, symbol, {column}"),
                source(run.file(question.table, question.compared_book)),
                [between, Statement(f"{column} IS NOT NULL")],
                stored_order(PUBLISHED_TABLES[question.table]),
            )
        )

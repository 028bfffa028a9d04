"""Scores and holdings of several runs, day by day and side by side, a stretch of days at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from datasets.figures.daily_returns import Days, day_numbers, span
from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats
from datasets.figures.similarity import overlaps, rank_correlations
from datasets.figures.window import Window
from datasets.snapshot import Snapshot
from schemas.tables import PUBLISHED_TABLES
from serve.pages.duckdb import Engine
from serve.pages.sql import Statement, quoted, select_rows, source, stored_order

_ROWS_AT_ONCE: Final = 2_000_000
"""Rows of all runs that are in memory at a time, some 50 bytes each."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A way to compare cross-sections.

    Attributes
    ----------
    table, column
        What is read.
    absent
        What stands where a run has no row of a name.
    figure
        Compares the runs on one day, see :mod:`datasets.figures.similarity`.
    what
        The days that are measured, in the plural.
    """

    table: str
    column: str
    absent: float
    figure: Callable[..., Floats]
    what: str


SCORES: Final = Comparison("decisions", "score", np.nan, rank_correlations, "common weeks")
HOLDINGS: Final = Comparison("positions", "weight", 0.0, overlaps, "common sessions")


@dataclass(frozen=True, slots=True)
class Compared:
    """The mean of the daily figures.

    Attributes
    ----------
    mean
        Of shape (runs, runs), or (1, runs) when the first alone was compared; NaN where no day is measured.
    observations
        Days measured, of the same shape.
    first_date, last_date
        Of the first run within the window.
    """

    mean: Floats
    observations: Integers
    first_date: str | None
    last_date: str | None


def compare(
    engine: Engine,
    runs: Sequence[tuple[Snapshot, str | None]],
    comparison: Comparison,
    window: Window,
    *,
    first_only: bool = False,
) -> Compared:
    """Compare runs day by day, and take the mean of each pair over the days on which it is measured.

    Parameters
    ----------
    runs
        Snapshot and book of each; it has rows of the table.
    window
        Days to compare.
    first_only
        Compare the first run alone with each.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When a file cannot be read.
    """
    shape = (1 if first_only else len(runs), len(runs))
    total, count = np.zeros(shape), np.zeros(shape, np.int64)
    days: list[int] = []
    for first, last in _stretches(runs, comparison.table, window):
        frames = [
            engine.frame(_rows_between(snapshot.file(comparison.table, book), comparison, first, last))
            for snapshot, book in runs
        ]
        days += frames[0]["date"].unique().sort().to_physical().to_list()
        for panel in _panels(frames, comparison):
            figures = comparison.figure(panel, first_only=first_only)
            measured = ~np.isnan(figures)
            total[measured] += figures[measured]
            count += measured
    mean = np.full(shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return Compared(mean, count, *span(np.array(days, np.int32)))


def _stretches(
    runs: Sequence[tuple[Snapshot, str | None]], table: str, window: Window
) -> Iterator[tuple[int, int]]:
    """Cut the days of a window into stretches whose rows fit into memory."""
    entries = [snapshot.entry(table, book) for snapshot, book in runs]
    known: list[int] = [
        int(np.datetime64(day, "D").astype(int)) for x in entries for day in (x.first, x.last) if day
    ]
    if not known:
        return
    first, last = day_numbers(window)
    first, last = max(first, min(known)), min(last, max(known))
    parts = 1 + sum(x.rows for x in entries) // _ROWS_AT_ONCE
    length = max(1, -(-(last - first + 1) // parts))
    for begin in range(first, last + 1, length):
        yield begin, min(begin + length - 1, last)


def _rows_between(file: str, comparison: Comparison, first: int, last: int) -> Statement:
    """Return the query of the values of a stretch of days that are known."""
    names = Statement(", ".join(map(quoted, ("date", "symbol", comparison.column))))
    between = Statement(
        "date BETWEEN DATE '1970-01-01' + ?::INTEGER AND DATE '1970-01-01' + ?::INTEGER", (first, last)
    )
    there = Statement(f"{quoted(comparison.column)} IS NOT NULL")
    return select_rows(
        names, source(file), [between, there], stored_order(PUBLISHED_TABLES[comparison.table])
    )


def _panels(frames: Sequence[pl.DataFrame], comparison: Comparison) -> Iterator[Floats]:
    """Yield the values of one day after the other, of shape (runs, names)."""
    names = pl.concat([frame["symbol"].unique() for frame in frames]).unique().sort()
    if names.is_empty():
        return
    kind = pl.Enum(names)
    symbols = np.concatenate([frame["symbol"].cast(kind).to_physical().to_numpy() for frame in frames])
    days: Days = np.concatenate([frame["date"].to_physical().to_numpy() for frame in frames])
    values = np.concatenate([frame[comparison.column].to_numpy() for frame in frames])
    owner = np.repeat(np.arange(len(frames)), [frame.height for frame in frames])
    order = np.argsort(days, kind="stable")
    begins = np.flatnonzero(np.diff(days[order], prepend=days[order][0] - 1))
    for rows in np.split(order, begins[1:]):
        panel = np.full((len(frames), len(names)), comparison.absent)
        panel[owner[rows], symbols[rows]] = values[rows]
        yield panel

"""Comparison of the cross-sections of several runs by day: scores and holdings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from datasets.figures.daily_returns import Days
from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats, Window
from datasets.figures.similarity import overlaps, rank_correlations
from datasets.manifest import FileEntry
from datasets.snapshot import Snapshot

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_MAX_ROWS_IN_MEMORY: Final = 2_000_000
"""Maximum rows of all runs in memory at a time, about 50 bytes each."""
_MAX_PANEL_VALUES: Final = 2**16
"""Maximum values of all runs compared at a time."""


@dataclass(frozen=True, slots=True)
class SectionComparison:
    """A way to compare cross-sections.

    Attributes
    ----------
    table, column : str
        Table and column that are compared.
    absent : float
        Value of a name without a row.
    figure : Callable[..., Floats]
        Compares the runs by day, as :func:`datasets.figures.similarity.rank_correlations` does.
    periods : str
        Plural noun for the compared days, used in reasons of withheld figures.
    """

    table: str
    column: str
    absent: float
    figure: Callable[..., Floats]
    periods: str


SECTION_COMPARISONS: Final[Mapping[str, SectionComparison]] = {
    "scores": SectionComparison("decisions", "score", np.nan, rank_correlations, "comparable weeks"),
    "holdings": SectionComparison("positions", "weight", 0.0, overlaps, "comparable sessions"),
}
"""By name, as `by` selects them."""


def compare_sections(
    runs: Sequence[Snapshot],
    comparison: SectionComparison,
    book: str | None,
    window: Window,
    *,
    first_only: bool,
) -> tuple[Floats, Integers, Days]:
    """Compare cross-sections by day, and average each pair over its comparable days.

    Parameters
    ----------
    runs : sequence of Snapshot
        Runs to compare, each with rows of the compared table.
    comparison : SectionComparison
        One of :data:`SECTION_COMPARISONS`.
    book : str or None
        Book of the compared table; None if it has no books.
    window : Window
        Days to compare.
    first_only : bool
        Whether to compare only the first run with each.

    Returns
    -------
    mean : Floats, shape (n_rows, n_runs)
        Mean over the comparable days of each pair, NaN without such a day; one row with `first_only`, else a row for each run.
    days_compared : Integers, shape (n_rows, n_runs)
        Number of comparable days.
    days : Days, shape (n_days,)
        Days of the first run within the window, ascending.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When a file cannot be read.
    """
    shape = (1 if first_only else len(runs), len(runs))
    total, count = np.zeros(shape), np.zeros(shape, np.int64)
    days: list[int] = []
    entries = [run.entry(comparison.table, book) for run in runs]
    for first, last in _day_ranges(entries, window):
        sections = _Sections.read(runs, comparison, book, first, last)
        days += _distinct(sections.days[0]).tolist()
        for panel in sections.panels(comparison.absent):
            by_day = comparison.figure(panel, first_only=first_only)
            measured = ~np.isnan(by_day)
            total += np.where(measured, by_day, 0.0).sum(axis=0)
            count += measured.sum(axis=0)
    mean = np.full(shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean, count, np.array(days, np.int32)


def _day_ranges(entries: Sequence[FileEntry], window: Window) -> Iterator[tuple[int, int]]:
    """Split the days of a window into ranges whose rows fit into memory."""
    known = [np.datetime64(day, "D").item() for x in entries for day in (x.first, x.last) if day]
    if not known:
        return
    inside = window.within(Window(min(known), max(known)))
    first, last = (int(np.datetime64(day, "D").astype(int)) for day in (inside.first, inside.last))
    parts = 1 + sum(x.rows for x in entries) // _MAX_ROWS_IN_MEMORY
    length = max(1, -(-(last - first + 1) // parts))
    for start in range(first, last + 1, length):
        yield start, min(start + length - 1, last)


@dataclass(frozen=True, slots=True)
class _Sections:
    """The compared column of several runs, by run.

    Attributes
    ----------
    days
        Day of each row, ascending.
    names
        Code of each row's name; all runs together have `n_names` names.
    values
        The column; no NaN.
    """

    days: Sequence[Days]
    names: Sequence[Integers]
    values: Sequence[Floats]
    n_names: int

    @classmethod
    def read(
        cls, runs: Sequence[Snapshot], comparison: SectionComparison, book: str | None, first: int, last: int
    ) -> _Sections:
        """Read the rows with a value from the first to the last day."""
        import pyarrow as pa  # noqa: PLC0415 - takes a tenth of a second to import

        column = comparison.column
        files = [run.file(comparison.table, book) for run in runs]
        tables = [
            _read(run, path, ("date", "symbol", column), (first, last))
            for run, path in zip(runs, files, strict=True)
        ]
        # Equal names get equal codes in all runs. If no file has rows of these days, there is no chunk to take the type from.
        symbols = [chunk for table in tables for chunk in table["symbol"].chunks]
        codes = pa.chunked_array(symbols, tables[0]["symbol"].type).unify_dictionaries().combine_chunks()
        ends = np.cumsum([table.num_rows for table in tables])[:-1]
        days, names, values = [], [], []
        # Arrow imports pandas, if installed, to convert arrays to NumPy; Polars does not.
        parts = np.split(pl.Series(codes.indices).to_numpy(), ends)
        for table, numbers in zip(tables, parts, strict=True):
            day = pl.Series(table["date"]).to_physical().to_numpy()
            figures = pl.Series(table[column]).cast(pl.Float64).to_numpy()
            kept = (day >= first) & (day <= last) & ~np.isnan(figures)
            days.append(day[kept])
            names.append(numbers[kept])
            values.append(figures[kept])
        return cls(days, names, values, len(codes.dictionary))

    def panels(self, absent: float) -> Iterator[Floats]:
        """Yield the values of a few days at a time, shape (days, runs, names)."""
        calendar = np.unique(np.concatenate([_distinct(days) for days in self.days]))
        places = [np.searchsorted(calendar, days) for days in self.days]
        step = max(1, _MAX_PANEL_VALUES // max(1, len(self.days) * self.n_names))
        for start in range(0, calendar.size, step):
            ends = start, min(start + step, calendar.size)
            panel = np.full((ends[1] - start, len(self.days), self.n_names), absent)
            for run, place in enumerate(places):
                rows = slice(*np.searchsorted(place, ends))
                panel[place[rows] - start, run, self.names[run][rows]] = self.values[run][rows]
            yield panel


def _distinct(days: Days) -> Days:
    """Drop repetitions from ascending days."""
    return days[np.diff(days, prepend=-(2**31) + 1) > 0] if days.size else days


def _read(run: Snapshot, path: str, columns: Sequence[str], between: tuple[int, int]) -> pa.Table:
    """Read columns of the row groups of a run's file whose days may overlap a range, with symbols dictionary-encoded.

    Reading takes a third of a query's time, which matters for a dozen runs.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - takes a tenth of a second to import

    with run.decoding(path), pq.ParquetFile(path, read_dictionary=["symbol"]) as file:
        groups = [
            number
            for number in range(file.num_row_groups)
            if _overlaps(file.metadata.row_group(number), *between)
        ]
        return file.read_row_groups(groups, list(columns), use_threads=False)


def _overlaps(group: pq.RowGroupMetaData, first: int, last: int) -> bool:
    """Whether a row group may have a day within a range; `date` is the first column of tables by day."""
    days = group.column(0).statistics
    if days is None or not days.has_min_max:
        return True
    low, high = np.array([days.min, days.max], "M8[D]").astype(int)
    return bool(low <= last and first <= high)

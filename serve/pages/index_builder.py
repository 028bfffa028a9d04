"""Makes the index of a file from its rows as they are read, a part at a time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from serve.pages.row_index import RowIndex, RowNumbers

Spool = Callable[[], BinaryIO]
"""Makes a temporary file."""
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_NAMELESS: Final = -1
_COUNTED_ROWS: Final = 1 << 20
"""Rows sorted by name at once."""


class NotAscending(Exception):
    """The days of a file do not ascend."""


class IndexBuilder:
    """Collects what rows are found and ordered by, sorted within each day.

    What grows with the rows in memory is twelve bytes a row; figures go to temporary files where there are some.

    Parameters
    ----------
    day, name
        The columns of days and of names; None without names.
    figures
        Columns to filter and sort by.
    sorted_by
        The figure by which a day's rows are sorted, descending, tied names ascending; None leaves them as they are.
    spool
        Where figures go; None for memory.
    """

    def __init__(
        self,
        day: str,
        name: str | None,
        figures: Collection[str] = (),
        sorted_by: str | None = None,
        spool: Spool | None = None,
    ) -> None:
        self._day, self._name, self._sorted_by = day, name, sorted_by
        self._waiting: pl.DataFrame | None = None
        self._days: list[int] = []
        self._starts: list[int] = []
        self._rows = 0
        self._names: dict[str, int] = {}
        self._codes: list[RowNumbers] = []
        self._order: list[RowNumbers] = []
        self._spools = None if spool is None else {figure: spool() for figure in figures}
        self._figures: dict[str, list[npt.NDArray[np.float64]]] = {figure: [] for figure in figures}

    def add(self, rows: pl.DataFrame) -> None:
        """Take the rows that follow.

        Raises
        ------
        NotAscending
            When their days do not.
        """
        if self._sorted_by is None:
            self._take(rows, _days(rows[self._day]))
            return
        # The last day may go on in the next part.
        waiting = rows if self._waiting is None else pl.concat([self._waiting, rows])
        days = _days(waiting[self._day])
        end = int(days.searchsorted(days[-1])) if len(days) else 0
        self._take(waiting[:end], days[:end])
        self._waiting = waiting[end:]

    def finish(self) -> tuple[RowIndex, RowNumbers | None]:
        """Return the index, and the numbers the rows had before they were sorted; None when they were not.

        Raises
        ------
        NotAscending
            As :meth:`add`.
        """
        if self._waiting is not None:
            self._take(self._waiting, _days(self._waiting[self._day]))
        days = [day + _EPOCH for day in self._days], [*self._starts, self._rows]
        figures = {name: self._figure(name) for name in self._figures}
        if self._name is None:
            return RowIndex(*days, figures=figures), None
        # Python orders texts by code points, which is the order of their UTF-8 bytes, the engine's.
        names = {name: code for code, name in enumerate(sorted(self._names))}
        final = np.array([*(names[name] for name in self._names), len(names)], np.int32)
        codes = final[_joined(self._codes, np.int32)]  # -1, that of no name, is the last: no name leads to it
        ends = _ends(codes, len(names) + 1)
        index = RowIndex(*days, names, codes, _by_name(codes, ends), ends, figures, self._sorted_by)
        return index, None if self._sorted_by is None else _joined(self._order, np.int32)

    def _take(self, rows: pl.DataFrame, days: npt.NDArray[np.int32]) -> None:
        if not len(days):
            return
        if np.any(days[1:] < days[:-1]) or (self._days and days[0] < self._days[-1]):
            raise NotAscending
        distinct, starts = np.unique(days, return_index=True)
        known = int(bool(self._days) and distinct[0] == self._days[-1])
        self._days += distinct[known:].tolist()
        self._starts += (starts[known:] + self._rows).tolist()
        figures = {
            name: rows[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in self._figures
        }
        order: slice | npt.NDArray[np.int64] = slice(None)
        if self._name is not None:
            symbols = rows[self._name]
            local = symbols.drop_nulls().unique().sort()
            places = symbols.cast(pl.Enum(local)).to_physical().fill_null(len(local)).to_numpy()
            if self._sorted_by is not None:
                order = np.lexsort((places, -figures[self._sorted_by], days))
                self._order.append((order + self._rows).astype(np.int32))
            codes = [self._names.setdefault(name, len(self._names)) for name in local.to_list()]
            self._codes.append(np.array([*codes, _NAMELESS], np.int32)[places[order]])
        for name, values in figures.items():
            ordered = np.ascontiguousarray(values[order], np.float64)
            if self._spools is None:
                self._figures[name].append(ordered)
            else:
                self._spools[name].write(ordered.data)
        self._rows += len(days)

    def _figure(self, name: str) -> npt.NDArray[np.float64]:
        if self._spools is None or not self._rows:
            return _joined(self._figures[name], np.float64)
        self._spools[name].flush()
        return np.memmap(self._spools[name], np.float64, "r")


def _days(values: pl.Series) -> npt.NDArray[np.int32]:
    """Return days or instants, without nulls, as days since 1970 in UTC."""
    utc = values.dt.convert_time_zone("UTC").dt.date() if values.dtype == pl.Datetime else values
    return utc.to_physical().to_numpy()


def _joined(parts: list[npt.NDArray[Any]], dtype: type[np.generic]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _ends(codes: RowNumbers, count: int) -> npt.NDArray[np.int64]:
    """Return how many rows have a code below each number up to `count`."""
    found = np.zeros(count + 1, np.int64)
    for first in range(0, len(codes), _COUNTED_ROWS):
        found[1:] += np.bincount(codes[first : first + _COUNTED_ROWS], minlength=count)
    return np.cumsum(found)


def _by_name(codes: RowNumbers, ends: npt.NDArray[np.int64]) -> RowNumbers:
    """Return the numbers of the rows by code, and then ascending."""
    found = np.empty(len(codes), np.int32)
    places = ends[:-1].copy()
    for first in range(0, len(codes), _COUNTED_ROWS):
        some = codes[first : first + _COUNTED_ROWS]
        order = np.argsort(some, kind="stable")
        ordered = some[order]
        distinct, starts, counts = np.unique(ordered, return_index=True, return_counts=True)
        within = np.arange(len(ordered)) - np.repeat(starts, counts)
        found[places[ordered] + within] = order + first
        places[distinct] += counts
    return found

"""Where rows stand: by day, by name, and a week's names in the order asked for."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from serve.pages.page_query import PageQuery
from serve.pages.rows_file import FileColumn

RowNumbers = npt.NDArray[np.int32]
"""Numbers of rows in stored order, from 0; a file has fewer rows than four bytes count."""
_MAX_ORDERS: Final = 2
"""Orders of all rows that may be remembered, week by week."""
_MAX_ORDER_ROWS: Final = 500_000
"""And rows of all of them."""
_MIN_PARTED_ROWS: Final = 2_000
"""Rows of a week from which only those that come first are sorted: a smaller week is sorted once and remembered."""
_PARTED_SHARE: Final = 4
"""One part in this many is sorted in less time alone than with all the rest."""
_ORDER_BYTES: Final = 4
_NAME_BYTES: Final = 128
_DAY_BYTES: Final = 80
_EPOCH: Final = dt.date(1970, 1, 1).toordinal()
_NO_ROWS: Final = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class RowIndex:
    """The columns that rows are found and ordered by, as arrays as long as the file, in memory or in a file of their own.

    Attributes
    ----------
    days
        Ordinals of the days that have rows, ascending.
    day_ends
        Rows of day n are those from ``day_ends[n]`` up to ``day_ends[n + 1]``.
    names
        Name -> its code, in ascending order of names.
    codes
        int32 code of each row's name; None when the file has no names.
    by_name
        int32 numbers of the rows, by code and then as they stand in the file.
    name_ends
        int64: rows of code c are ``by_name[name_ends[c]:name_ends[c + 1]]``.
    figures
        float64 columns to filter and sort by, NaN for null.
    sorted_by
        The figure by which a day's rows are sorted, descending, tied names ascending; None when names ascend, as in a file.
    """

    days: Sequence[int]
    day_ends: Sequence[int]
    names: Mapping[str, int] = field(default_factory=dict)
    codes: npt.NDArray[np.int32] | FileColumn[np.int32] | None = None
    by_name: npt.NDArray[np.int32] | FileColumn[np.int32] = field(
        default_factory=lambda: np.empty(0, np.int32)
    )
    name_ends: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    figures: Mapping[str, npt.NDArray[np.float64] | FileColumn[np.float64]] = field(default_factory=dict)
    sorted_by: str | None = None
    _orders: dict[tuple[int, int, str, bool], RowNumbers] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def bytes(self) -> int:
        """Memory taken, the names' texts estimated, and that of the orders which may be remembered."""
        arrays = (self.codes, self.by_name, self.name_ends, *self.figures.values())
        orders = self._max_order_rows * _ORDER_BYTES if self.figures else 0
        beside = _NAME_BYTES * len(self.names) + _DAY_BYTES * len(self.days)
        return sum(x.nbytes for x in arrays if x is not None) + beside + orders

    @property
    def rows(self) -> int:
        """Rows of the file."""
        return self.day_ends[-1]

    @property
    def _max_order_rows(self) -> int:
        return min(_MAX_ORDERS * self.rows, _MAX_ORDER_ROWS)

    def between(self, first: dt.date | None, last: dt.date | None) -> tuple[int, int]:
        """Return the number of the first row of a span of days, and of the one after its last.

        Parameters
        ----------
        first, last
            Inclusive; None leaves that end open.
        """
        start = 0 if first is None else self.day_ends[bisect_left(self.days, first.toordinal())]
        end = self.rows if last is None else self.day_ends[bisect_right(self.days, last.toordinal())]
        return start, max(start, end)

    def count_rows(self, symbols: Sequence[str]) -> int:
        """Return how many rows some names have in the whole file, unknown ones none."""
        codes = [self.names[x] for x in symbols if x in self.names]
        return int(sum(self.name_ends[code + 1] - self.name_ends[code] for code in codes))

    def of(self, symbols: Sequence[str], start: int, end: int) -> RowNumbers:
        """Return the numbers of some names' rows within a stretch, ascending.

        Parameters
        ----------
        symbols
            Without repeats; a name the file does not have has no rows.
        start, end
            As of :meth:`between`.
        """
        parts, whole = [], start <= 0 and end >= len(self.by_name)
        # Of the type of what it is looked up in, which would else be converted each time.
        stretch = np.array([start, end], np.int32)
        for symbol in symbols:
            code = self.names.get(symbol)
            if code is None:
                continue
            own = self.by_name[int(self.name_ends[code]) : int(self.name_ends[code + 1])]
            if not whole:
                first, last = own.searchsorted(stretch)
                own = own[first:last]
            parts.append(own)
        if not parts:
            return _NO_ROWS
        return parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))

    def is_stored_order(self, query: PageQuery) -> bool:
        """Whether the query is exactly the stored order: no filter, default sort."""
        return (
            query.symbols is None
            and query.direction is None
            and query.min_abs_weight is None
            and query.sort == self.sorted_by
            and (query.sort is None or query.descending)
        )

    def select(self, query: PageQuery, start: int, end: int) -> tuple[RowNumbers, int]:
        """Return the numbers of the page's rows in the order asked for, and how many rows the query is about.

        Parameters
        ----------
        query
            Its columns are among the figures. One that sorts is about a single day.
        start, end
            Where its days lie, as of :meth:`between`.

        Raises
        ------
        NotResident, RowsDamaged
            As :meth:`serve.pages.rows_file.RowsFile.read`.
        """
        page = slice(query.offset, query.offset + query.limit)
        order = None if query.filters_rows or query.sort is None else self._order(query, start, end)
        if order is not None:
            return order[page], end - start
        found = _numbers(start, end) if query.symbols is None else self.of(query.symbols, start, end)
        if query.direction is not None:
            found = found[self.figures["direction"][start:end][found - start] == query.direction]
        if query.min_abs_weight is not None:
            weights = self.figures[query.weight][start:end]
            found = found[np.abs(weights[found - start]) >= query.min_abs_weight]
        rows = found if query.sort is None else self._sorted(found, (start, end), query)
        return rows[page], len(found)

    def _sorted(self, rows: RowNumbers, week: tuple[int, int], query: PageQuery) -> RowNumbers:
        """Sort some rows of a week, as many of them as the page needs."""
        assert self.codes is not None, "weeks are of names"
        start, end = week
        codes = self.codes[start:end][rows - start]
        by_name = query.sort == "symbol"
        values = codes if by_name else self.figures[query.sort or ""][start:end][rows - start]
        if query.descending:
            values = -values
        wanted = query.offset + query.limit
        if 0 < _PARTED_SHARE * wanted <= len(rows):
            # The rows up to the last one wanted, with all that are tied with it: sorting those alone orders them alike.
            last = np.partition(values, wanted - 1)[wanted - 1]
            (first,) = np.nonzero(values <= last)
            # None when the last one wanted has no value: NaN is the largest and is like nothing.
            if len(first):
                rows, codes, values = rows[first], codes[first], values[first]
        if by_name:
            return rows[np.argsort(values, kind="stable")]
        # NaN goes last either way, and tied names ascend.
        return rows[np.lexsort((codes, values))]

    def _order(self, query: PageQuery, start: int, end: int) -> RowNumbers | None:
        """Return a whole week in some order, remembered: sorting a usual one takes as long as cutting the page does.

        None where that takes longer than it is worth: of a large week only the rows that come first are sorted.
        """
        assert query.sort is not None, "rows in the order of the file are not sorted"
        name = (start, end, query.sort, query.descending)
        order = self._orders.get(name)
        if order is None:
            if end - start >= max(_MIN_PARTED_ROWS, _PARTED_SHARE * (query.offset + query.limit)):
                return None
            every = query._replace(offset=0, limit=end - start)
            order = self._sorted(_numbers(start, end), (start, end), every)
            if sum(map(len, tuple(self._orders.values()))) + len(order) > self._max_order_rows:
                self._orders.clear()
            self._orders[name] = order
        return order


def _numbers(start: int, end: int) -> RowNumbers:
    return np.arange(start, end, dtype=np.int32)

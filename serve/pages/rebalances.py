"""The rebalance index of a snapshot, cached: a few hundred days that many requests ask about."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from datasets.snapshot import Snapshot
from schemas.errors import ApiError
from schemas.tables import TABLES
from serve.cache import SizedLRUCache
from serve.pages.duckdb import Engine
from serve.pages.query import Week
from serve.pages.sql import select_all

_TABLE: Final = TABLES["rebalances"]
_COLUMNS: Final = tuple(column.name for column in _TABLE)
_WEEK_BYTES: Final = 170
"""What a week takes in memory, about."""


@dataclass(frozen=True, slots=True)
class RebalanceIndex:
    """One run's rebalance weeks, ascending.

    Attributes
    ----------
    dates, statuses
        Day and status of each week.
    symbols
        Rows of each week's cross-section; None when the run sealed no decisions.
    """

    dates: Sequence[dt.date]
    statuses: Sequence[str]
    symbols: Sequence[int] | None
    _ends: Sequence[int] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Sum the rows once: entry n is how many the weeks before the n-th have."""
        ends = None if self.symbols is None else list(accumulate(self.symbols, initial=0))
        object.__setattr__(self, "_ends", ends)

    def week(self, day: dt.date | None) -> Week:
        """Return the week of a rebalance day, which every query of a cross-section has.

        Raises
        ------
        ApiError
            ``rebalance_not_found`` with the rebalance days around a day that is none.
        """
        assert day is not None, "a cross-section is of one day"
        place = bisect_left(self.dates, day)
        if place < len(self.dates) and self.dates[place] == day:
            return Week(self.statuses[place], None if self.symbols is None else self.symbols[place])
        raise ApiError(
            "rebalance_not_found",
            f"{day.isoformat()} is not a rebalance date of this run.",
            self._around(day),
        )

    @property
    def rows(self) -> int | None:
        """Rows of all cross-sections together; None when the run sealed no decisions."""
        return None if self._ends is None else self._ends[-1]

    def rows_between(self, first: dt.date | None, last: dt.date | None, rows: int) -> tuple[int, int] | None:
        """Return the place of the first row of a span of days among all rows by day, and how many it has.

        Parameters
        ----------
        first, last
            Inclusive; None leaves that end open.
        rows
            Of the file; where these are not those of the weeks, nothing is known of their places.
        """
        if self._ends is None or self.rows != rows:
            return None
        start = 0 if first is None else bisect_left(self.dates, first)
        end = len(self.dates) if last is None else bisect_right(self.dates, last)
        return self._ends[start], self._ends[end] - self._ends[start]

    def _around(self, day: dt.date) -> dict[str, str | None]:
        """Return the first and last rebalance days, and those before and after a day that is none."""
        before = bisect_left(self.dates, day) - 1
        after = bisect_right(self.dates, day)
        return {
            "first": self._written(0),
            "last": self._written(len(self.dates) - 1),
            "previous": self._written(before),
            "next": self._written(after),
        }

    def _written(self, place: int) -> str | None:
        return self.dates[place].isoformat() if 0 <= place < len(self.dates) else None


class RebalanceIndexes:
    """Reads the index of a snapshot once.

    Parameters
    ----------
    engine
        What reads the files.
    cache
        Where indexes stay.
    """

    def __init__(self, engine: Engine, cache: SizedLRUCache[RebalanceIndex]) -> None:
        self._engine = engine
        self._cache = cache
        self.get: Final = cache.get
        """Return the index of a snapshot when it was read before; its name there is None."""

    def load(self, snapshot: Snapshot) -> RebalanceIndex:
        """Return the index of a snapshot that has the table.

        Raises
        ------
        SnapshotCorrupt
            When the file cannot be read.
        """

        def read() -> RebalanceIndex:
            file, present = snapshot.file("rebalances"), snapshot.columns("rebalances")
            columns = [name for name in _COLUMNS if name in present]
            frame = self._engine.frame(select_all(_TABLE, file, columns))
            symbols = frame["n_symbols"].to_list() if "n_symbols" in frame.columns else None
            return RebalanceIndex(frame["date"].to_list(), frame["week_status"].to_list(), symbols)

        return self._cache.get_or_load(snapshot.key, None, read, lambda x: _WEEK_BYTES * len(x.dates))

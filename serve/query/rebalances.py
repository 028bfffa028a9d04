"""The rebalance index of a snapshot, held in memory: a few hundred days that many requests ask about."""

from __future__ import annotations

import datetime as dt
import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from datasets.snapshot import Snapshot
from serve.query.duckdb import Reader
from serve.query.signals import all_weeks

_KEPT: Final = 512
"""Indices kept at once: 300 weeks take some 50 kB, so about 25 MB."""


@dataclass(frozen=True, slots=True)
class RebalanceIndex:
    """One run's rebalance weeks, ascending.

    Attributes
    ----------
    dates, statuses
        Day and status of each week.
    names
        Rows of each week's cross-section; None when the run sealed no decisions.
    """

    dates: Sequence[dt.date]
    statuses: Sequence[str]
    names: Sequence[int] | None
    _ends: Sequence[int] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Sum the rows once: entry n is how many the weeks before the n-th have."""
        ends = None if self.names is None else list(accumulate(self.names, initial=0))
        object.__setattr__(self, "_ends", ends)

    def position(self, day: dt.date) -> int | None:
        """Return the place of a rebalance day, None when it is none."""
        place = bisect_left(self.dates, day)
        return place if place < len(self.dates) and self.dates[place] == day else None

    @property
    def rows(self) -> int | None:
        """Rows of all cross-sections together; None when the run sealed no decisions."""
        return None if self._ends is None else self._ends[-1]

    def rows_between(self, first: dt.date | None, last: dt.date | None) -> tuple[int, int] | None:
        """Return the place of the first row of a span of days among all rows by day, and how many it has.

        Parameters
        ----------
        first, last
            Inclusive; None leaves that end open.
        """
        if self._ends is None:
            return None
        start = 0 if first is None else bisect_left(self.dates, first)
        end = len(self.dates) if last is None else bisect_right(self.dates, last)
        return self._ends[start], self._ends[end] - self._ends[start]

    def around(self, day: dt.date) -> dict[str, str | None]:
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
    """Reads the index of a snapshot once, and keeps the most recently used ones.

    Parameters
    ----------
    reader
        What reads the files.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: OrderedDict[tuple[str, str], RebalanceIndex] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, snapshot: Snapshot) -> RebalanceIndex | None:
        """Return the weeks of a snapshot when they were read before."""
        key = (snapshot.alpha_id, snapshot.id)
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def of(self, snapshot: Snapshot) -> RebalanceIndex:
        """Return the weeks of a snapshot that has the dataset.

        Raises
        ------
        SnapshotCorrupt
            When the file cannot be read.
        """
        known = self.known(snapshot)
        if known is not None:
            return known
        frame = self._reader.frame(all_weeks(snapshot.file("rebalances"), snapshot.columns("rebalances")))
        names = frame["n_symbols"].to_list() if "n_symbols" in frame.columns else None
        weeks = RebalanceIndex(frame["date"].to_list(), frame["week_status"].to_list(), names)
        with self._lock:
            self._known[snapshot.alpha_id, snapshot.id] = weeks
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return weeks

"""Answers queries of equity curves: each is measured over its window before it is paged."""

from __future__ import annotations

from typing import Final

import numpy as np

from datasets.snapshot import Snapshot
from serve.pages.equity import Ledger, curve, summary_of_nothing
from serve.pages.json import NO_ROWS, Rows
from serve.pages.ledgers import Ledgers
from serve.pages.page_query import Found, PageQuery
from serve.pages.readable_books import holds_book

_MAX_SESSIONS: Final = 5_000
"""Sessions that may be measured on the event loop; more would keep other requests waiting."""


class CurvePages:
    """Pages of equity curves: measured over the window before it is paged.

    Parameters
    ----------
    ledgers
        What they are made of.
    """

    def __init__(self, ledgers: Ledgers) -> None:
        self._ledgers = ledgers

    def cached(self, query: PageQuery, snapshot: Snapshot) -> Found | None:
        """Measure a window that is not too long of a ledger in memory."""
        book = query.book or ""
        if not holds_book(snapshot, query.table, book, raw=query.raw):
            return _no_curve(query)
        ledger = self._ledgers.cached(snapshot, book)
        if ledger is None:
            return None
        start, end = _window(query, ledger)
        return None if end - start > _MAX_SESSIONS else _measured(query, ledger, start, end)

    def load(self, query: PageQuery, snapshot: Snapshot) -> Found:
        """Measure a window."""
        book = query.book or ""
        if not holds_book(snapshot, query.table, book, raw=query.raw):
            return _no_curve(query)
        ledger = self._ledgers.load(snapshot, book)
        return _measured(query, ledger, *_window(query, ledger))


def _window(query: PageQuery, ledger: Ledger) -> tuple[int, int]:
    """Return the number of the window's first session, and of the one after its last."""
    days, first, last = ledger.dates, query.first, query.last
    start = 0 if first is None else int(days.searchsorted(np.datetime64(first, "D"), "left"))
    end = len(days) if last is None else int(days.searchsorted(np.datetime64(last, "D"), "right"))
    return start, max(start, end)


def _measured(query: PageQuery, ledger: Ledger, start: int, end: int) -> Found:
    found = curve(ledger, query.book or "", (start, end), offset=query.offset, limit=query.limit)
    return Found(Rows(found.rows, found.returned, found.total), summary=found.summary)


def _no_curve(query: PageQuery) -> Found:
    return Found(NO_ROWS, missing=(query.table,), summary=summary_of_nothing(query.book or ""))

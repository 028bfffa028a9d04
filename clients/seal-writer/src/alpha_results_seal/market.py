"""The prices of a run on the sessions of its calendar."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from alpha_results_seal.book import Book
from alpha_results_seal.calendar import Calendar
from alpha_results_seal.costs import Costs
from alpha_results_seal.errors import SealError
from alpha_results_seal.frames import Days, Floats, prices, to_local_day

_MAX_NAMED = 3
"""Maximum number of symbols in a note."""


@dataclass(frozen=True)
class Market:
    """Prices on the sessions of a calendar.

    Attributes
    ----------
    sessions
        All sessions of the calendar, ascending.
    observed
        Number of sessions that have passed; the others only determine when a pending decision is filled.
    symbols
        The N names, sorted.
    closes, opens
        Prices, shape (observed, N); NaN for missing bars. `opens` is None without open prices.
    open_at, close_at
        Instants of each session's open and close, in UTC.
    """

    sessions: Days
    observed: int
    symbols: tuple[str, ...]
    closes: Floats
    opens: Floats | None
    open_at: list[dt.datetime]
    close_at: list[dt.datetime]

    @classmethod
    def of(cls, price_frames: Any, calendar: Calendar, named: Iterable[str] = ()) -> Market:
        """Align prices with the sessions of a calendar; raises SealError if they do not fit.

        `named` are further names of the market, which may have no prices.
        """
        closes, opens = prices(price_frames)
        days = closes.days
        if not len(days):
            raise SealError("there are no prices.")
        sessions = days
        if calendar.sessions is not None:
            try:
                named_days = [to_local_day(day) for day in calendar.sessions]
                sessions = np.unique(np.array(named_days, "datetime64[D]"))
            except (TypeError, ValueError) as error:
                raise SealError(f"Calendar.sessions are not days ({error}): give datetime.date.") from error
        unexpected = days[~np.isin(days, sessions)]
        if len(unexpected):
            raise SealError(f"there are prices on {unexpected[0]}, which is not a session of the calendar.")
        observed = int(np.searchsorted(sessions, days[-1])) + 1
        observed_days = sessions[:observed]
        symbols = tuple(sorted({*closes.symbols, *named}))
        return cls(
            sessions, observed, symbols, closes.on(observed_days, symbols), None if opens is None else opens.on(observed_days, symbols),
            calendar.opens(sessions).to_list(), calendar.closes(sessions).to_list(),
        )  # fmt: skip

    @cached_property
    def marks(self) -> Floats:
        """Shape (observed, N): the last close of each name; NaN before its first."""
        place = np.where(np.isfinite(self.closes), np.arange(self.observed)[:, None], 0)
        marks: Floats = self.closes[np.maximum.accumulate(place, axis=0), np.arange(len(self.symbols))]
        return marks

    @cached_property
    def last_priced(self) -> Any:
        """Shape (N,): the session of each name's last close."""
        return self.observed - 1 - np.isfinite(self.closes)[::-1].argmax(axis=0)

    @property
    def fill_prices(self) -> Floats:
        """Fill prices of decisions, shape (observed, N): opens, or closes if opens are unknown."""
        return self.closes if self.opens is None else self.opens

    @property
    def fill_instants(self) -> list[dt.datetime]:
        """The instants of `fill_prices`, of all sessions."""
        return self.close_at if self.opens is None else self.open_at

    def tradeable(self, session: int) -> Any:
        """Return which names have a fill price and a close."""
        return np.isfinite(self.fill_prices[session]) & np.isfinite(self.closes[session])

    def close_books(self, books: Mapping[str, Book], session: int, costs: Costs, last: Any) -> None:
        """Close a session of every book; a name without a close is marked at its last close.

        If `costs` state a recovery, positions are settled after the `last` session of their name, shape (N,).
        """
        day, instant, marks = self.sessions[session].item(), self.close_at[session], self.marks[session]
        for book in books.values():
            if costs.recovery is not None:
                book.settle(session > last, costs.recovery * marks, instant)
            book.close(day, instant, marks, costs.borrow, costs.rate_on(day))

    def notes(self, books: Mapping[str, Book], *, decided: bool) -> Iterator[str]:
        """Yield notes on what the tables lack."""
        if self.opens is None and decided:
            yield "prices have no open: fills are at closes, and forward_return is from close to close"
        weekdays = np.bincount((self.sessions.astype(np.int64) + 3) % 7, minlength=7)  # from Monday
        if weekdays[6] >= 4 and not weekdays[4]:  # as those of Asia are by their time in UTC
            yield (
                f"{weekdays[6]} sessions are on Sundays and none on Fridays: if instants are in UTC, convert them to the zone of "
                "the exchange, whose days are the sessions"
            )
        ended = ~np.isfinite(self.closes[-1])
        for book in books.values():
            symbols = [self.symbols[at] for at in np.flatnonzero(ended & (book.shares != 0))]
            if symbols:
                more = f" and {len(symbols) - _MAX_NAMED} more" if len(symbols) > _MAX_NAMED else ""
                yield (
                    f"{book.name} still holds {', '.join(symbols[:_MAX_NAMED])}{more}, without a price on the last day, at the last price; to "
                    "close a position, state a recovery, the share of its last close received, or add a bar at the price received to a "
                    "session on which a decision is filled"
                )

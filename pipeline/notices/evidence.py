"""Samples of a run's large tables for the notices, gathered in one pass while the rows are in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import DAYS_PER_YEAR, Dates, Flags, Floats
from pipeline.notices.fills import Fills
from pipeline.notices.probe import MAX_DAYS, Probe, Sample, days_by_digest, first_names
from pipeline.reconciliation.tables import FILLS, CodedSymbols, Runs, Tables
from schemas.tables.books import RAW_PREFIX, TRADE_ONLY_SUFFIXES

ReadColumns = Callable[[str, tuple[str, ...]], Iterable[Tables]]
"""Yields a table with some columns at least, part by part, symbols numbered alike in all parts; one part where it is in memory."""

_COPIED_NAMES: Final = 32
"""Names by which weeks are compared with each other."""
_SAMPLED_FILLS: Final = 10_000
"""Fills from which no further day is sampled."""
_EPOCH: Final = date(1970, 1, 1).toordinal()
_EMPTY: Final = Sample((), (), np.empty((0, 0)))


@dataclass(frozen=True, slots=True)
class CrossSections:
    """Sample of the cross-sections.

    Attributes
    ----------
    dates
        Ascending.
    names, last, mean
        Different names of all of them, names of the last one, and on average.
    scores, forward_returns
        Of up to 32 names by week, shape (names, weeks); NaN for none. None where the column was not sealed.
    """

    dates: Dates
    names: int
    last: int
    mean: float
    scores: Floats
    forward_returns: Floats | None

    @property
    def years(self) -> float:
        """Years from the first cross-section to the last."""
        return float((self.dates[-1] - self.dates[0]) / np.timedelta64(1, "D")) / DAYS_PER_YEAR


@dataclass(frozen=True, slots=True)
class Evidence:
    """Samples of the rows of a run.

    Attributes
    ----------
    cross_sections
        None where the run sealed none.
    fills
        None where the run sealed no fills, or no positions.
    cash_adjustments
        Book -> sum; None where none was sealed.
    probe
        What is compared with other runs.
    """

    cross_sections: CrossSections | None = None
    fills: Fills | None = None
    cash_adjustments: Mapping[str, float] | None = None
    probe: Probe = field(default_factory=lambda: Probe(_EMPTY, _EMPTY, _EMPTY))


def gather(tables: Mapping[str, Collection[str]], read: ReadColumns) -> Evidence:
    """Sample the rows for the notices.

    Parameters
    ----------
    tables
        Kind -> columns, of the tables that the run sealed and that keep every rule.
    read
        Reads some columns of one of them.
    """
    with np.errstate(all="ignore"):  # a return beyond a double is none
        return _gathered(tables, read)


def _gathered(tables: Mapping[str, Collection[str]], read: ReadColumns) -> Evidence:
    sections, forward_returns = None, _EMPTY
    if "decisions" in tables:
        sections, forward_returns = _cross_sections(tables["decisions"], read)
    fills, marks, mids = None, _EMPTY, _EMPTY
    if {"positions", "portfolio"} <= tables.keys():
        fills, marks, mids = _prices("trades" in tables, read)
    paid = None
    if "cash_adjustment" in tables.get("pnl", ()):
        parts = [
            part["pnl"].group_by("book").agg(pl.col("cash_adjustment").sum())
            for part in read("pnl", ("book", "cash_adjustment"))
        ]
        sums = pl.concat(parts).group_by("book").agg(pl.col("cash_adjustment").sum())
        paid = dict(sums.iter_rows())
    return Evidence(sections, fills, paid, Probe(marks, mids, forward_returns))


def _cross_sections(columns: Collection[str], read: ReadColumns) -> tuple[CrossSections | None, Sample]:
    """Count the names of each week, and keep the scores and returns of some."""
    values = ("score", "forward_return") if "forward_return" in columns else ("score",)
    symbols = Symbols()
    seen, sizes, kept = np.zeros(0, np.bool_), [], []
    for part in read("decisions", ("date", "symbol", *values)):
        rows, runs = part["decisions"], part.runs("decisions", ("date",))
        codes = symbols.codes(part.symbols("decisions"))
        seen = np.concatenate([seen, np.zeros(max(0, symbols.width - seen.size), np.bool_)])
        seen[codes] = True
        sizes.append((_days(runs.heads["date"]), runs.lengths))
        # A name that stands first among all stood first among those seen so far.
        chosen = np.flatnonzero(np.isin(np.arange(seen.size), symbols.first(seen))[codes])
        day = np.repeat(_days(runs.heads["date"]), runs.lengths)
        figures = [rows[name].to_numpy()[chosen] for name in values]
        kept.append([day[chosen], codes[chosen], *figures])
    days, place = np.unique(np.concatenate([days for days, _ in sizes]), return_inverse=True)
    if not days.size:
        return None, _EMPTY
    size = np.bincount(place, weights=np.concatenate([size for _, size in sizes]))
    chosen = symbols.first(seen)
    row = np.full(seen.size, -1)
    row[chosen] = np.arange(chosen.size)
    day, code, *found = (np.concatenate(column) for column in zip(*kept, strict=True))
    at = row[code] >= 0
    tables = {}
    for name, column in zip(values, found, strict=True):
        tables[name] = np.full((chosen.size, days.size), np.nan)
        tables[name][row[code[at]], np.searchsorted(days, day[at])] = column[at]
    returns = tables.get("forward_return")
    sections = CrossSections(
        days.astype("datetime64[D]"),
        int(seen.sum()),
        int(size[-1]),
        float(size.mean()),
        tables["score"][:_COPIED_NAMES],
        None if returns is None else returns[:_COPIED_NAMES],
    )
    return sections, _EMPTY if returns is None else _sampled_weeks(symbols.names(chosen), days, returns)


def _sampled_weeks(names: list[str], days: Integers, returns: Floats) -> Sample:
    """Keep the forward returns of some weeks; a week is known by its date and that of the next."""
    measured = np.flatnonzero(~np.isnan(returns[:, :-1]).all(axis=0))
    weeks = measured[days_by_digest(days[measured])[:MAX_DAYS]]
    return Sample.of(names, [_period(days[week], days[week + 1]) for week in weeks], returns[:, weeks])


def _prices(trades: bool, read: ReadColumns) -> tuple[Fills | None, Sample, Sample]:
    """Keep fills of some days beside the marks around them, and the returns of some sessions."""
    (tables,) = read("portfolio", ("book", "date"))
    ledger = tables["portfolio"]
    sessions = np.unique(_days(ledger["date"]))
    books = [book for book in ledger["book"].unique() if not book.startswith(RAW_PREFIX)]
    symbols = Symbols()
    filled = _sampled_fills(read, books, symbols) if trades else None
    later = 1 + days_by_digest(sessions[1:])[:MAX_DAYS]
    wanted = [sessions[later], sessions[later - 1]]
    if filled is not None:
        day, decided = _days(filled["timestamp"].dt.date()), _days(filled["decision_at"])
        # A fill on no session or the first one has no close before it, and none is looked for on the day 0 days ahead.
        before = sessions[np.maximum(np.searchsorted(sessions, day) - 1, 0)]
        wanted += [day, before, decided]
    days = np.unique(np.concatenate(wanted))
    marks = _marks(read, books, days, symbols)
    at = partial(np.searchsorted, days)
    chosen = symbols.first(np.asarray(np.isfinite(marks).any(axis=0)))
    ratio = marks[at(sessions[later])][:, chosen] / marks[at(sessions[later - 1])][:, chosen] - 1
    periods = [_period(sessions[place - 1], sessions[place]) for place in later]
    marked = Sample.of(symbols.names(chosen), periods, ratio.T)
    if filled is None:
        return None, marked, _EMPTY
    code, mid = filled["code"].to_numpy(), filled["mid_price"].to_numpy()
    close_before = np.where(before < day, marks[at(before), code], np.nan)
    fills = Fills(
        np.sign(filled["quantity"].to_numpy()),
        mid,
        close_before,
        marks[at(day), code],
        marks[at(decided), code],
    )
    fill_days = np.unique(day)
    fill_days = fill_days[days_by_digest(fill_days)[:MAX_DAYS]]
    table = np.full((symbols.width, fill_days.size), np.nan)
    order = np.argsort(fill_days)
    place = order[np.minimum(np.searchsorted(fill_days, day, sorter=order), order.size - 1)]
    among = fill_days[place] == day
    table[code[among], place[among]] = mid[among] / close_before[among] - 1
    before_day = dict(zip(day.tolist(), before.tolist(), strict=True))
    chosen = symbols.first(np.asarray(np.isfinite(table).any(axis=1)))
    periods = [_period(before_day[one], one) for one in fill_days.tolist()]
    return fills, marked, Sample.of(symbols.names(chosen), periods, table[chosen])


def _marks(read: ReadColumns, books: list[str], days: Integers, symbols: Symbols) -> Floats:
    """Lay the marks of some days out by day and symbol; NaN where no book held the name."""
    parts = []
    for part in read("positions", ("book", "date", "symbol", "mark_price")):
        day, rows = _rows_of(part.runs("positions"), books, "date", days)
        codes = symbols.codes(part.symbols("positions"))[rows]
        parts.append((day, codes, part["positions"]["mark_price"].to_numpy()[rows]))
    marks = np.full((days.size, symbols.width), np.nan)
    for day, codes, prices in parts:
        marks[np.searchsorted(days, day), codes] = prices
    return marks


def _sampled_fills(read: ReadColumns, books: list[str], symbols: Symbols) -> pl.DataFrame:
    """Return the fills of the days that stand first by digest, with the number of their symbol as `code`."""
    wanted = [book + suffix for book in books for suffix in ("", *TRADE_ONLY_SUFFIXES)]
    columns = ("timestamp", "decision_at", "quantity", "mid_price")
    days, lengths = [], []
    for part in read("trades", FILLS):
        runs = part.runs("trades", FILLS)
        own = runs.heads["book"].is_in(wanted).to_numpy()
        days.append(_days(runs.heads["timestamp"].dt.date())[own])
        lengths.append(runs.lengths[own])
    different, place = np.unique(np.concatenate(days), return_inverse=True)
    number = np.bincount(place, weights=np.concatenate(lengths), minlength=different.size)
    order = days_by_digest(different)
    enough = max(MAX_DAYS, 1 + int(np.searchsorted(np.cumsum(number[order]), _SAMPLED_FILLS)))
    chosen = np.sort(different[order[:enough]])
    parts = []
    for part in read("trades", (*FILLS, "symbol", "quantity", "mid_price")):
        _, rows = _rows_of(part.runs("trades", FILLS), wanted, "timestamp", chosen)
        codes = symbols.codes(part.symbols("trades"))[rows]
        parts.append(part["trades"].select(columns)[rows].hstack([pl.Series("code", codes, pl.Int64)]))
    return pl.concat(parts)


def _days(days: pl.Series) -> Integers:
    """Return a column of dates as days since 1970."""
    return days.to_physical().to_numpy()


def _rows_of(runs: Runs, books: list[str], moment: str, days: Integers) -> tuple[Integers, Integers]:
    """Find the rows of some books on some days, and the day of each."""
    day = _days(runs.heads[moment].cast(pl.Date))
    own = np.isin(day, days) & runs.heads["book"].is_in(books).to_numpy()
    return np.repeat(day[own], runs.lengths[own]), np.flatnonzero(np.repeat(own, runs.lengths))


def _period(first: int, last: int) -> str:
    """Name a period by its days, given as days since 1970."""
    return f"{date.fromordinal(_EPOCH + int(first))} {date.fromordinal(_EPOCH + int(last))}"


class Symbols:
    """Symbols by number; some numbers may belong to none."""

    def __init__(self) -> None:
        self._numbered: list[CodedSymbols] = []
        """While one such column lives, so does the numbering."""
        self._names: dict[int, str] = {}
        self.width = 0
        """One more than the highest number so far."""

    def codes(self, symbols: CodedSymbols) -> NDArray[np.uint32]:
        """Take the names of a column into account, and return its numbers."""
        self._numbered.append(symbols)
        self._names.update(symbols.names.iter_rows())
        self.width = max(self.width, symbols.width)
        return symbols.codes

    def names(self, codes: Integers) -> list[str]:
        """Return the names of some numbers."""
        return [self._names[code] for code in codes.tolist()]

    def first(self, among: Flags) -> Integers:
        """Return the numbers of up to 64 symbols that stand first by digest, of those marked."""
        known = {self._names[code]: code for code in np.flatnonzero(among).tolist()}
        return np.array([known[name] for name in first_names(known)], np.int64)

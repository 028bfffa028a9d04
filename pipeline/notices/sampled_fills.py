"""Fills of a run, sampled for the notices, and their mids of a panel: the trades are read twice."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Flags, Floats
from pipeline.notices.probe import MAX_DAYS, days_by_digest
from pipeline.notices.rows import PanelRows, ReadColumns, Symbols, expanded, place_in, select_rows, to_days
from pipeline.notices.spans import NEVER, Span
from pipeline.reconciliation.fills import FILLS, fill_instants
from pipeline.reconciliation.row_ranges import RowRanges
from schemas.tables.books import ADJUSTING, RAW_PREFIX, SETTLEMENTS, base_book, is_raw_book

_FILL: Final = ("quantity", "mid_price", "execution_cost")
_REASON: Final = "rebalance_adjustment_reason"
_GROWTH: Final = {"entry": 1.0, "weight_increase": 1.0, "weight_decrease": -1.0, "exit": -1.0}
"""Reason of a fill -> 1 if it adds to a position, -1 if it takes from one."""
_SAME_PRICE: Final = 1e-9
"""Relative tolerance of the mids of a name at an instant, as in the rule trades.one_price."""
_SAMPLED_FILLS: Final = 10_000
"""Number of sampled fills at which no further day is added."""


def sample_fills(
    read: ReadColumns, symbols: Symbols, books: list[str], sessions: Integers, panel: PanelRows
) -> tuple[dict[str, Any] | None, Mids, int]:
    """Read the fills of the days that come first by digest, column by column, and the mids of a panel; count the fills of decisions.

    The columns are as sealed, with the ``code`` of the symbol, the index of the ``book`` and the days ``day`` and ``decided``;
    ``between`` has those of :func:`_between_decisions`.
    """
    parts = [part.row_ranges("trades", FILLS) for part in read("trades", FILLS)]
    heads = pl.concat([ranges.heads for ranges in parts])
    lengths = np.concatenate([ranges.lengths for ranges in parts])
    own = heads["book"].is_in(books).to_numpy()
    distinct, place = np.unique(to_days(heads["timestamp"])[own], return_inverse=True)
    number = np.bincount(place, weights=lengths[own], minlength=distinct.size)
    by_book = heads.select("book", fills=lengths).group_by("book").sum()
    filled = max((fills for book, fills in by_book.iter_rows() if _decides(book)), default=0)
    order = days_by_digest(distinct)
    enough = max(MAX_DAYS, 1 + int(np.searchsorted(np.cumsum(number[order]), _SAMPLED_FILLS)))
    chosen = np.sort(distinct[order[:enough]])
    mids = Mids(
        panel, _weekly_instants(heads, sessions, panel) if sessions.size and panel.days.size else None
    )
    first = _first_days(heads)
    sampled: list[list[Any]] = []
    between: list[list[Any]] = []
    for part in read("trades", (*FILLS, "symbol", *_FILL, _REASON)):
        ranges, rows = part.row_ranges("trades", FILLS), part["trades"]
        codes = symbols.codes(part.symbols("trades"))
        mids.add(ranges, codes, rows["mid_price"].to_numpy())
        if books:
            some = select_rows(ranges, books, "timestamp", chosen)
            decided = to_days(ranges.heads["decision_at"])[some.row_range]
            values = [rows[name].to_numpy()[some.rows] for name in _FILL]
            reason = rows[_REASON].gather(some.rows)
            growth = reason.replace_strict(_GROWTH, default=np.nan, return_dtype=pl.Float64).to_numpy()
            at = ranges.heads["timestamp"].cast(pl.Int64).to_numpy()[some.row_range]
            code = codes[some.rows].astype(np.int64)
            sampled.append([code, some.book, some.day, at, decided, growth, *values])
            between.append(_between_decisions(ranges, codes, rows, books, panel.codes, first=first))
    names = ("code", "book", "day", "at", "decided", "growth", *_FILL)
    if not books:
        return None, mids, filled
    columns, of_panel = (
        [np.concatenate(column) for column in zip(*parts, strict=True)] for parts in (sampled, between)
    )
    return dict(zip(names, columns, strict=True), between=of_panel), mids, filled


def _decides(book: str) -> bool:
    """Return whether fills of a book are those of its decisions, and visible to every reader."""
    return base_book(book) == book and not is_raw_book(book)


def _first_days(heads: pl.DataFrame) -> pl.DataFrame:
    """Return the ``first`` instant at which the books themselves filled each decision."""
    own = heads.filter(~pl.col("book").str.ends_with(ADJUSTING) & ~pl.col("book").str.ends_with(SETTLEMENTS))
    return own.group_by("decision_at").agg(first=pl.col("timestamp").min())


def _between_decisions(
    ranges: RowRanges,
    codes: NDArray[np.uint32],
    rows: pl.DataFrame,
    books: list[str],
    panel: Integers,
    *,
    first: pl.DataFrame,
) -> list[Any]:
    """Return side, mid, number of the name, day of the decision and day of some names' fills between decisions.

    They adjust a book, or are on a later day than the ``first`` fills of their decision.
    """
    book, later = pl.col("book"), pl.col("timestamp").dt.date() > pl.col("first").dt.date()
    chosen = book.is_in(books) & (book.str.ends_with(ADJUSTING) | later) & ~book.str.ends_with(SETTLEMENTS)
    heads = ranges.heads.join(first, on="decision_at", how="left", maintain_order="left")
    between = heads.select(chosen.fill_null(value=False)).to_series().arg_true().to_numpy()
    row_range, at = expanded(ranges, between)
    inside = np.isin(codes[at], panel)
    row_range, at = row_range[inside], at[inside]
    quantity, mid = (rows[name].to_numpy()[at] for name in ("quantity", "mid_price"))
    decided, day = (to_days(heads[name])[row_range] for name in ("decision_at", "timestamp"))
    return [np.sign(quantity), mid, codes[at].astype(np.int64), decided, day]


def _weekly_instants(heads: pl.DataFrame, sessions: Integers, panel: PanelRows) -> Integers:
    """Return, by week, the instant in the first session after the decision at which the books filled it; NEVER if none."""
    filled = fill_instants(heads, pl.Series(sessions, dtype=pl.Int32).cast(pl.Date))
    week, known = place_in(to_days(filled["date"]), panel.days)
    weekly = np.full(panel.days.size, NEVER)
    weekly[week[known]] = filled["at"].cast(pl.Int64).to_numpy()[known]
    return weekly


class Mids:
    """Mids of a panel of names at the instants at which their forward returns begin and end.

    Parameters
    ----------
    panel
        Names, weeks and sealed instants of the panel.
    weekly
        Fill instant of each week, used where none is sealed; None where unknown.
    """

    def __init__(self, panel: PanelRows, weekly: Integers | None) -> None:
        self._entry, self._maturity = panel.entry, panel.maturity
        if weekly is not None:
            self._entry = np.where(panel.entry == NEVER, weekly, panel.entry)
            following = np.append(weekly[1:], NEVER)
            self._maturity = np.where(panel.maturity == NEVER, following, panel.maturity)
        self._instants = np.unique(np.concatenate([self._entry.ravel(), self._maturity.ravel()]))
        self._row = np.full(int(panel.codes.max(initial=0)) + 1, -1)
        self._row[panel.codes] = np.arange(panel.codes.size)
        self._mids = np.full((panel.codes.size, self._instants.size), np.nan)

    def add(self, ranges: RowRanges, codes: NDArray[np.uint32], prices: Floats) -> None:
        """Add fills, except those of raw books and settlements, which have no market."""
        if not self._mids.size:
            return
        column, wanted = place_in(ranges.heads["timestamp"].cast(pl.Int64).to_numpy(), self._instants)
        book = ranges.heads["book"]
        traded = ~(book.str.starts_with(RAW_PREFIX) | book.str.ends_with(SETTLEMENTS)).to_numpy()
        row_range, rows = expanded(ranges, np.flatnonzero(traded & wanted))
        inside = codes[rows] < self._row.size
        row_range, rows = row_range[inside], rows[inside]
        row = self._row[codes[rows]]
        known = row >= 0
        name, at, mids = row[known], column[row_range[known]], prices[rows[known]]
        before = self._mids[name, at]
        self._mids[name, at] = mids
        # Fills that represent a whole day may differ; as in the rule decisions.forward_return, they are no price at an instant.
        for other in (self._mids[name, at], before):
            differing = np.abs(other - mids) > _SAME_PRICE * mids
            self._mids[name[differing], at[differing]] = np.nan

    def span(self, left_out: Flags, *, adjusted: bool) -> Span:
        """Return the mids at entry and maturity; the entry mids of names `left_out` are NaN."""
        name = np.arange(self._entry.shape[0])[:, None]
        at_entry, at_maturity = (
            np.where(at == NEVER, np.nan, self._mids[name, np.searchsorted(self._instants, at)])
            for at in (self._entry, self._maturity)
        )
        at_entry[left_out] = np.nan
        return Span(self._entry, self._maturity, at_entry, at_maturity, adjusted)

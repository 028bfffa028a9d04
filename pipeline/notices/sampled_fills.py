"""Fills of a run, sampled for the notices, and the mids of a panel: the trades are read twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats
from pipeline.notices.panel import Panel
from pipeline.notices.probe import MAX_DAYS, days_by_digest
from pipeline.notices.rows import ReadColumns, Symbols, place_in, rows_of_ranges, select_rows, to_days
from pipeline.notices.spans import NEVER, Instants, Span
from pipeline.reconciliation.fills import FILLS, fill_instants, single_mids
from pipeline.reconciliation.row_ranges import RowRanges
from schemas.tables.books import ADJUSTING, RAW_PREFIX, SETTLEMENTS, base_book, is_raw_book

_FILL: Final = ("quantity", "mid_price", "execution_cost")
_REASON: Final = "rebalance_adjustment_reason"
_GROWTH: Final = {"entry": 1.0, "weight_increase": 1.0, "weight_decrease": -1.0, "exit": -1.0}
"""Reason of a fill -> 1 if it adds to a position, -1 if it takes from one."""
_SAMPLED_FILLS: Final = 10_000
"""Number of sampled fills at which no further day is added."""


def sample_fills(
    read: ReadColumns, symbols: Symbols, books: list[str], sessions: Integers, panel: Panel
) -> tuple[dict[str, Any] | None, Panel, int]:
    """Read the fills of the days that come first by digest, column by column; add its span to a panel; count the fills of decisions.

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
    ends = _ends(heads, sessions, panel)
    first = _first_days(heads)
    of_panel, sampled, between = [], list[list[Any]](), list[list[Any]]()
    for part in read("trades", (*FILLS, "symbol", *_FILL, _REASON)):
        ranges, rows = part.row_ranges("trades", FILLS), part["trades"]
        codes = symbols.codes(part.symbols("trades"))
        of_panel.append(_fills_at(ends, panel, ranges, codes, rows["mid_price"].to_numpy()))
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
    if panel.codes.size:
        panel = replace(panel, span=_span(*ends, panel, pl.concat(of_panel)))
    names = ("code", "book", "day", "at", "decided", "growth", *_FILL)
    if not books:
        return None, panel, filled
    columns, columns_between = (
        [np.concatenate(column) for column in zip(*parts, strict=True)] for parts in (sampled, between)
    )
    return dict(zip(names, columns, strict=True), between=columns_between), panel, filled


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
    row_range, at = rows_of_ranges(ranges, between)
    inside = np.isin(codes[at], panel)
    row_range, at = row_range[inside], at[inside]
    quantity, mid = (rows[name].to_numpy()[at] for name in ("quantity", "mid_price"))
    decided, day = (to_days(heads[name])[row_range] for name in ("decision_at", "timestamp"))
    return [np.sign(quantity), mid, codes[at].astype(np.int64), decided, day]


def _ends(heads: pl.DataFrame, sessions: Integers, panel: Panel) -> tuple[Instants, Instants]:
    """Return the start and end of each forward return: as sealed, or else the instants of the fills of its week and of the next.

    A week has such an instant if its books were filled at one instant, in the first session after the decision.
    """
    filled = fill_instants(heads, pl.Series(sessions, dtype=pl.Int32).cast(pl.Date))
    week, known = place_in(to_days(filled["date"]), panel.days)
    weekly = np.full(panel.days.size + 1, NEVER)
    weekly[week[known]] = filled["at"].cast(pl.Int64).to_numpy()[known]
    entry, maturity = panel.entry, panel.maturity
    return np.where(entry == NEVER, weekly[:-1], entry), np.where(maturity == NEVER, weekly[1:], maturity)


def _fills_at(
    instants: tuple[Instants, ...], panel: Panel, ranges: RowRanges, codes: NDArray[np.uint32], mids: Floats
) -> pl.DataFrame:
    """Return ``timestamp``, ``code`` and ``mid_price`` of a panel's fills at some instants; raw books and settlements have no market."""
    at, book = ranges.heads["timestamp"].cast(pl.Int64).to_numpy(), ranges.heads["book"]
    traded = ~(book.str.starts_with(RAW_PREFIX) | book.str.ends_with(SETTLEMENTS)).to_numpy()
    row_range, rows = rows_of_ranges(ranges, np.flatnonzero(traded & np.isin(at, instants)))
    inside = np.isin(codes[rows], panel.codes)
    row_range, rows = row_range[inside], rows[inside]
    return pl.DataFrame({"timestamp": at[row_range], "code": codes[rows], "mid_price": mids[rows]})


def _span(entry: Instants, maturity: Instants, panel: Panel, fills: pl.DataFrame) -> Span:
    """Return the mids of a panel at two instants; those of a name that represent a whole day may differ, and are no price at an instant."""
    instants, mids = np.unique([entry, maturity]), single_mids(fills)
    table = np.full((panel.codes.size, instants.size), np.nan)
    at = place_in(mids["code"].to_numpy(), panel.codes)[0], np.searchsorted(instants, mids["timestamp"])
    table[at] = mids["mid_price"].to_numpy()
    name = np.arange(panel.codes.size)[:, np.newaxis]
    at_entry, at_maturity = (
        np.where(at == NEVER, np.nan, table[name, np.searchsorted(instants, at)]) for at in (entry, maturity)
    )
    return Span(entry, maturity, at_entry, at_maturity)

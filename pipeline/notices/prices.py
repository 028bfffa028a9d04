"""Prices, fills and flows of a run, sampled for the notices."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats
from pipeline.notices.fills import Fills
from pipeline.notices.probe import MAX_DAYS, Sample, days_by_digest
from pipeline.notices.rows import (
    BOOK_BITS,
    ReadColumns,
    Symbols,
    cells_of,
    days_of,
    period,
    rows_of,
)
from pipeline.notices.spans import PanelRows
from pipeline.reconciliation.grid import Codes
from pipeline.reconciliation.tables import FILLS, SESSION
from schemas.tables.books import RAW_PREFIX, TRADE_ONLY_SUFFIXES
from schemas.tables.pnl import ADJUSTMENTS

_CELL: Final = (*SESSION, "symbol")
_SAMPLED_FILLS: Final = 10_000
"""Fills from which no further day is sampled."""
NO_SAMPLE: Final = Sample((), (), np.empty((0, 0)))


@dataclass(frozen=True, slots=True)
class Flows:
    """Sums and counts of the pnl of one book.

    Attributes
    ----------
    cash_adjustment
        Sum over the run; None where none was sealed.
    on_share_adjustments
        Sum of ``market_pnl`` on the name-days with a ``quantity_adjustment``; None where none was sealed.
    chance_on_share_adjustments
        Standard deviation of a sum of ``market_pnl`` over as many name-days of the book, chosen at random.
    shorts, unborrowed
        Short positions of some sessions, and those of them that cost nothing to borrow.
    """

    cash_adjustment: float | None = None
    on_share_adjustments: float | None = None
    chance_on_share_adjustments: float = 0.0
    shorts: int = 0
    unborrowed: int = 0


@dataclass(frozen=True, slots=True)
class Prices:
    """What positions, fills and pnl were sampled for.

    Attributes
    ----------
    marks, mids
        For the probe.
    fills, flows
        As :class:`pipeline.notices.evidence.Evidence` has them.
    closes
        The marks that it has.
    at_weeks
        The marks of the panel of the cross-sections.
    """

    marks: Sample
    mids: Sample
    fills: Fills | None
    closes: tuple[Floats, Floats]
    flows: Mapping[str, Flows]
    at_weeks: Floats


def sample_prices(
    tables: Mapping[str, Collection[str]],
    read: ReadColumns,
    symbols: Symbols,
    panel: PanelRows,
) -> Prices:
    """Keep fills of some days beside the marks around them, the returns of some sessions, and the prices of a panel.

    Parameters
    ----------
    tables, read
        As of :func:`pipeline.notices.evidence.gather`; with positions and portfolio.
    symbols
        Those numbered so far.
    panel
        Its names and weeks.
    """
    (part,) = read("portfolio", ("book", "date"))
    ledger = part["portfolio"]
    sessions = np.unique(days_of(ledger["date"]))
    books = sorted(book for book in ledger["book"].unique() if not book.startswith(RAW_PREFIX))
    variants = [book + suffix for book in books for suffix in ("", *TRADE_ONLY_SUFFIXES)]
    filled = _sampled_fills(read, variants, symbols) if "trades" in tables else None
    later = 1 + days_by_digest(sessions[1:])[:MAX_DAYS]
    wanted = [sessions[later], sessions[later - 1]]
    wanted.append(panel.days)
    if filled is not None:
        day, decided = days_of(filled["timestamp"].dt.date()), days_of(filled["decision_at"])
        # A fill on no session or the first one has no close before it, and none is looked for on the day 0 days ahead.
        place = np.searchsorted(sessions, day)
        before, earlier = (sessions[np.maximum(place - back, 0)] for back in (1, 2))
        wanted += [day, before, earlier, decided]
    days = np.unique(np.concatenate(wanted))
    sampled = np.sort(sessions[later])
    marks, shorts = _marks(read, books, days, symbols, sampled)
    at = partial(np.searchsorted, days)
    now, then = marks[at(sessions[later])], marks[at(sessions[later - 1])]
    ascending = np.argsort(later)
    closes = now[ascending], then[ascending]
    chosen = symbols.first(np.asarray(np.isfinite(marks).any(axis=0)))
    periods = [period(sessions[place - 1], sessions[place]) for place in later]
    marked = Sample.of(symbols.names(chosen), periods, (now[:, chosen] / then[:, chosen] - 1).T)
    flows: Mapping[str, Flows] = {}
    if "pnl" in tables:
        borrowed = _borrowed(read, books, sampled, symbols)
        flows = _flows(books, _adjustments(tables["pnl"], read), shorts, borrowed)
    at_weeks = marks[at(panel.days)][:, panel.codes].T
    if filled is None:
        return Prices(marked, NO_SAMPLE, None, closes, flows, at_weeks)
    code, mid = filled["code"].to_numpy(), filled["mid_price"].to_numpy()
    close_before = np.where(before < day, marks[at(before), code], np.nan)
    fills = Fills(
        variants,
        filled["variant"].to_numpy(),
        np.sign(filled["quantity"].to_numpy()),
        mid,
        filled["execution_cost"].to_numpy(),
        np.where(earlier < before, marks[at(earlier), code], np.nan),
        close_before,
        marks[at(day), code],
        marks[at(decided), code],
    )
    mids = _sampled_mids(symbols, day, before, code, mid / close_before - 1)
    return Prices(marked, mids, fills, closes, flows, at_weeks)


def _sampled_mids(symbols: Symbols, day: Integers, before: Integers, code: Codes, returns: Floats) -> Sample:
    """Keep the returns from the close before to the mid of a fill, of some days."""
    days = np.unique(day)
    days = days[days_by_digest(days)[:MAX_DAYS]]
    table = np.full((symbols.width, days.size), np.nan)
    order = np.argsort(days)
    place = order[np.minimum(np.searchsorted(days, day, sorter=order), order.size - 1)]
    among = days[place] == day
    table[code[among], place[among]] = returns[among]
    before_day = dict(zip(day.tolist(), before.tolist(), strict=True))
    chosen = symbols.first(np.asarray(np.isfinite(table).any(axis=1)))
    return Sample.of(
        symbols.names(chosen), [period(before_day[one], one) for one in days.tolist()], table[chosen]
    )


def _marks(
    read: ReadColumns, books: list[str], days: Integers, symbols: Symbols, sampled: Integers
) -> tuple[Floats, Codes]:
    """Lay the marks of some days out by day and symbol; NaN where no book held the name.

    Returns
    -------
    marks : Floats, shape (days, symbols)
    shorts : Codes
        The short positions on the sampled days, as :func:`cells_of` numbers them.
    """
    parts, shorts = [], []
    for part in read("positions", ("book", "date", "symbol", "quantity", "mark_price")):
        positions, own = part["positions"], symbols.codes(part.symbols("positions"))
        for_marks = rows_of(part.runs("positions"), books, "date", days)
        parts.append((for_marks, own[for_marks.rows], positions["mark_price"].to_numpy()[for_marks.rows]))
        some = rows_of(part.runs("positions"), books, "date", sampled)
        sold = positions["quantity"].to_numpy()[some.rows] < 0
        shorts.append(cells_of(some, own[some.rows])[sold])
    marks = np.full((days.size, symbols.width), np.nan)
    for chosen, code, prices in parts:
        marks[np.searchsorted(days, chosen.day), code] = prices
    return marks, np.concatenate(shorts)


def _borrowed(read: ReadColumns, books: list[str], sampled: Integers, symbols: Symbols) -> Codes:
    """Return the positions that paid for a borrow on the sampled days, as :func:`cells_of` numbers them."""
    borrowed = []
    for part in read("pnl", (*_CELL, "borrow_cashflow")):
        codes = symbols.codes(part.symbols("pnl"))
        some = rows_of(part.runs("pnl"), books, "date", sampled)
        paid = part["pnl"]["borrow_cashflow"].to_numpy()[some.rows] != 0
        borrowed.append(cells_of(some, codes[some.rows])[paid])
    return np.concatenate(borrowed)


def _adjustments(columns: Collection[str], read: ReadColumns) -> dict[str, dict[str, float]]:
    """Return what adjustments of shares and cash brought each book, as :class:`Flows` has it."""
    sums = []
    if "cash_adjustment" in columns:
        sums.append(pl.col("cash_adjustment").sum())
    if "quantity_adjustment" in columns:
        changed = pl.col("quantity_adjustment") != 0
        pnl = pl.col("market_pnl")
        sums += [
            pnl.filter(changed).sum().alias("on_share_adjustments"),
            changed.sum().alias("changed"),
            (pnl != 0).sum().alias("moved"),
            (pnl**2).sum().alias("squares"),
        ]
    if not sums:
        return {}
    wanted = ("book", "market_pnl", *(name for name in ADJUSTMENTS if name in columns))
    parts = [part["pnl"].group_by("book").agg(sums) for part in read("pnl", wanted)]
    by_book = pl.concat(parts).group_by("book").agg(pl.all().sum())
    if "quantity_adjustment" in columns:
        deviation = (pl.col("squares") / pl.max_horizontal("moved", 1) * pl.col("changed")).sqrt()
        by_book = by_book.with_columns(chance_on_share_adjustments=deviation)
        by_book = by_book.drop("changed", "moved", "squares")
    return {row.pop("book"): row for row in by_book.iter_rows(named=True)}


def _flows(
    books: list[str], adjustments: Mapping[str, Mapping[str, float]], shorts: Codes, borrowed: Codes
) -> dict[str, Flows]:
    book = shorts >> BOOK_BITS
    unborrowed = book[~np.isin(shorts, borrowed)]
    return {
        name: Flows(
            **adjustments.get(name, {}),
            shorts=int((book == place).sum()),
            unborrowed=int((unborrowed == place).sum()),
        )
        for place, name in enumerate(books)
    }


def _sampled_fills(read: ReadColumns, books: list[str], symbols: Symbols) -> pl.DataFrame:
    """Return the fills of the days that stand first by digest, with their symbol as `code` and the place of their book as `variant`."""
    columns = ("timestamp", "decision_at", "quantity", "mid_price", "execution_cost")
    days, lengths = [], []
    for part in read("trades", FILLS):
        runs = part.runs("trades", FILLS)
        own = runs.heads["book"].is_in(books).to_numpy()
        days.append(days_of(runs.heads["timestamp"].dt.date())[own])
        lengths.append(runs.lengths[own])
    different, place = np.unique(np.concatenate(days), return_inverse=True)
    number = np.bincount(place, weights=np.concatenate(lengths), minlength=different.size)
    order = days_by_digest(different)
    enough = max(MAX_DAYS, 1 + int(np.searchsorted(np.cumsum(number[order]), _SAMPLED_FILLS)))
    chosen = np.sort(different[order[:enough]])
    parts = []
    for part in read("trades", (*FILLS, "symbol", "quantity", "mid_price", "execution_cost")):
        own, fills = symbols.codes(part.symbols("trades")), part["trades"]
        some = rows_of(part.runs("trades", FILLS), books, "timestamp", chosen)
        numbers = {"code": own[some.rows].astype(np.int64), "variant": some.book}
        parts.append(
            fills.select(columns)[some.rows].with_columns(**{k: pl.Series(v) for k, v in numbers.items()})
        )
    return pl.concat(parts)

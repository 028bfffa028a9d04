"""Mids of a panel of names at the instants at which their forward returns begin and end."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats
from pipeline.notices.panel import NEVER, Span
from pipeline.notices.rows import ReadColumns, Symbols, days_of, expanded
from pipeline.reconciliation.grid import Codes
from pipeline.reconciliation.tables import FILLS, Runs
from schemas.tables.books import RAW_PREFIX, SETTLEMENTS, TRADE_ONLY_SUFFIXES
from schemas.tables.pnl import ADJUSTMENTS


@dataclass(frozen=True, slots=True)
class PanelRows:
    """Names and weeks of which prices are wanted.

    Attributes
    ----------
    codes
        Number of each name.
    days
        Rebalance dates as days since 1970, ascending.
    instants
        From when to when each forward return runs, microseconds, shape (names, weeks); NEVER where that was not sealed.
    """

    codes: Codes = field(default_factory=lambda: np.empty(0, np.int64))
    days: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    instants: tuple[Integers, Integers] = field(default_factory=lambda: (np.empty((0, 0), np.int64),) * 2)


def sample_span(
    tables: Mapping[str, Collection[str]], read: ReadColumns, symbols: Symbols, panel: PanelRows
) -> Span | None:
    """Find the mids between which the forward returns of a panel run; None where the run sealed no fills.

    Parameters
    ----------
    tables, read
        As of :func:`pipeline.notices.evidence.gather`.
    symbols
        Those numbered so far.
    panel
        Its names, weeks and sealed instants.
    """
    if "trades" not in tables or not panel.codes.size:
        return None
    entry, maturity = panel.instants
    if "portfolio" in tables and (entry == NEVER).any():
        weekly = _weekly_instants(read, panel.days)
        entry = np.where(entry == NEVER, weekly, entry)
        maturity = np.where(maturity == NEVER, np.append(weekly[1:], NEVER), maturity)
    mids = _Mids(np.concatenate([entry.ravel(), maturity.ravel()]), panel.codes)
    for part in read("trades", (*FILLS, "symbol", "mid_price")):
        codes = symbols.codes(part.symbols("trades"))
        mids.add(part.runs("trades", FILLS), codes, part["trades"]["mid_price"].to_numpy())
    at_entry, at_maturity = mids.at(entry), mids.at(maturity)
    adjusted = _adjusted_names(tables.get("pnl", ()), read, symbols)
    at_entry[np.isin(panel.codes, adjusted)] = np.nan
    return Span(entry, maturity, at_entry, at_maturity, bool(adjusted.size))


def _weekly_instants(read: ReadColumns, days: Integers) -> Integers:
    """Return the one instant of the first session after each decision at which the books acted on it; NEVER for none."""
    (part,) = read("portfolio", ("date",))
    sessions = np.unique(days_of(part["portfolio"]["date"]))
    heads = pl.concat([part.runs("trades", FILLS).heads for part in read("trades", FILLS)])
    own = ~pl.any_horizontal(pl.col("book").str.ends_with(suffix) for suffix in TRADE_ONLY_SUFFIXES)
    acted = (
        heads.filter(own)
        .group_by("decision_at")
        .agg(at=pl.col("timestamp").min(), last=pl.col("timestamp").max())
        .filter(pl.col("at") == pl.col("last"))
        .sort("decision_at")
    )
    decided, filled = days_of(acted["decision_at"]), days_of(acted["at"].dt.date())
    place = np.searchsorted(sessions, decided, side="right")
    first = np.append(sessions, NEVER)[place] == filled
    weekly = np.full(days.size, NEVER)
    week = np.searchsorted(days, decided[first])
    known = np.append(days, NEVER)[week] == decided[first]
    weekly[week[known]] = acted["at"].to_physical().to_numpy()[first][known]
    return weekly


def _adjusted_names(columns: Collection[str], read: ReadColumns, symbols: Symbols) -> Codes:
    """Return the numbers of the names of which the pnl seals a split or a dividend."""
    adjustments = [name for name in ADJUSTMENTS if name in columns]
    names = [np.empty(0, np.int64)]
    for part in read("pnl", ("symbol", *adjustments)) if adjustments else ():
        some = part["pnl"].select(pl.any_horizontal(pl.col(adjustments) != 0)).to_series().to_numpy()
        names.append(np.unique(symbols.codes(part.symbols("pnl"))[some]).astype(np.int64))
    return np.concatenate(names)


class _Mids:
    """Mids of some names at some instants."""

    def __init__(self, instants: Integers, codes: Codes) -> None:
        self._instants = np.unique(instants)
        self._row = np.full(int(codes.max(initial=0)) + 1, -1)
        self._row[codes] = np.arange(codes.size)
        self._mids = np.full((codes.size, self._instants.size), np.nan)

    def add(self, runs: Runs, codes: NDArray[np.uint32], prices: Floats) -> None:
        """Add fills; raw books are not looked at, and settlements have no market."""
        at = runs.heads["timestamp"].to_physical().to_numpy()
        column = np.minimum(np.searchsorted(self._instants, at), self._instants.size - 1)
        book = pl.col("book")
        traded = runs.heads.select(~book.str.starts_with(RAW_PREFIX) & ~book.str.ends_with(SETTLEMENTS))[
            "book"
        ].to_numpy()
        run, rows = expanded(runs, np.flatnonzero(traded & (self._instants[column] == at)))
        inside = codes[rows] < self._row.size
        run, rows = run[inside], rows[inside]
        row = self._row[codes[rows]]
        known = row >= 0
        self._mids[row[known], column[run[known]]] = prices[rows[known]]

    def at(self, instants: Integers) -> Floats:
        """Return the mids at instants of shape (names, weeks); NaN where there is none."""
        name = np.arange(instants.shape[0])[:, None]
        return np.where(
            instants == NEVER, np.nan, self._mids[name, np.searchsorted(self._instants, instants)]
        )

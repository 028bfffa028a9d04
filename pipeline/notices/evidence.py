"""Samples of a run's large tables for the notices, taken in one pass while the rows are in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import DAYS_PER_YEAR, Floats
from pipeline.notices.clipped_returns import shared_extremes
from pipeline.notices.fills import Fills
from pipeline.notices.held_names import Holdings
from pipeline.notices.ledger import Flows
from pipeline.notices.market import market_notices
from pipeline.notices.outcome import NoticeOutcome
from pipeline.notices.panel import NEVER, Panel
from pipeline.notices.prices import PanelRows, sample_prices
from pipeline.notices.probe import MAX_DAYS, NO_SAMPLE, Probe, Sample, days_by_digest, period
from pipeline.notices.rows import Symbols, to_days
from pipeline.reconciliation.grid import Codes, totals
from pipeline.reconciliation.tables import Tables
from schemas.notices.universe import MIN_TWIN_WEEKS

_INSTANTS: Final = ("entry_at", "maturity_at")
_WEIGHT: Final = "long_short_target_weight"
_NO_PANEL: Final = PanelRows(*(np.empty(0, np.int64),) * 2, *(np.empty((0, 0), np.int64),) * 2)
_TWIN_WEEKS: Final = 8
"""Weeks in which names are compared with each other."""


@dataclass(frozen=True, slots=True)
class CrossSections:
    """Sample of the cross-sections.

    Attributes
    ----------
    names, last, mean
        Different names of all of them, names of the last one, and on average.
    twins, compared
        Names of some weeks that have score and forward return of another name, and all that were looked at.
    shared_extremes, measured_weeks
        Of some weeks: those whose highest or lowest forward return several names share, and those in which that is known.
    targets
        Sum of the absolute target weights of long_short in each week; None where the run sealed none.
    panel
        Up to 64 names, week by week.
    """

    names: int
    last: int
    mean: float
    twins: int
    compared: int
    shared_extremes: int
    measured_weeks: int
    targets: Floats | None
    panel: Panel

    @property
    def years(self) -> float:
        """Years from the first cross-section to the last."""
        dates = self.panel.dates
        return float((dates[-1] - dates[0]) / np.timedelta64(1, "D")) / DAYS_PER_YEAR


@dataclass(frozen=True, slots=True)
class Evidence:
    """Samples of the rows of a run.

    Attributes
    ----------
    cross_sections
        None where the run sealed none.
    fills
        None where the run sealed no fills, or no positions.
    marks
        At the close of some sessions, ascending, and at the close before each, shape (sessions, symbols), NaN where not held;
        None where the run sealed no positions.
    holdings
        Names of long_short, or of the book that stands in for it, by session; None where the run sealed no positions.
    flows
        Book -> what its pnl comes to.
    trials
        Trial -> standard deviation of its returns.
    probe
        What is compared with other runs.
    market
        Outcomes of the comparison with market prices; empty where none were given.
    """

    cross_sections: CrossSections | None = None
    fills: Fills | None = None
    marks: tuple[Floats, Floats] | None = None
    holdings: Holdings | None = None
    flows: Mapping[str, Flows] = field(default_factory=dict)
    trials: Mapping[str, float] = field(default_factory=dict)
    probe: Probe = field(default_factory=lambda: Probe(NO_SAMPLE, NO_SAMPLE, NO_SAMPLE))
    market: tuple[NoticeOutcome, ...] = ()


def gather(tables: Tables, market_prices: str | None = None) -> Evidence:
    """Sample the rows for the notices.

    Parameters
    ----------
    tables
        Those that the run sealed; they keep every rule.
    market_prices
        Address of market prices to compare the rows with; None compares them with none.

    Raises
    ------
    SettingsError
        When the market prices cannot be used.
    """
    with np.errstate(all="ignore"):  # infinite returns are discarded
        evidence = _gathered(tables)
        if market_prices is None:
            return evidence
        return replace(evidence, market=market_notices(tables, market_prices))


def _gathered(tables: Tables) -> Evidence:
    symbols = Symbols(tables)
    sections, panel_rows, forward_returns = _cross_sections(tables, symbols)
    prices = sample_prices(tables, symbols, panel_rows)
    if sections is not None:
        panel = replace(sections.panel, span=prices.span, marks=prices.at_weeks)
        sections = replace(sections, panel=panel)
    trials = {}
    if tables.has("trials"):
        deviations = tables["trials"].group_by("trial").agg(pl.col("period_return").std())
        trials = dict(deviations.drop_nulls().iter_rows())
    probe = Probe(prices.marks, prices.mids, forward_returns)
    return Evidence(sections, prices.fills, prices.closes, prices.holdings, prices.flows, trials, probe)


def _cross_sections(tables: Tables, symbols: Symbols) -> tuple[CrossSections | None, PanelRows, Sample]:
    """Count the names of each week, and sample the rows of some names."""
    if not tables.has("decisions") or tables["decisions"].is_empty():
        return None, _NO_PANEL, NO_SAMPLE
    rows, runs = tables["decisions"], tables.runs("decisions", ("date",))
    own = tables.symbols("decisions").codes.astype(np.int64)
    days, place = np.unique(to_days(runs.heads["date"]), return_inverse=True)
    week, size = np.repeat(place, runs.lengths), np.bincount(place, weights=runs.lengths)
    seen = np.bincount(own, minlength=symbols.width) > 0
    targets: Floats | None = None
    if tables.has("decisions", _WEIGHT):
        sizes = np.nan_to_num(np.abs(rows[_WEIGHT].to_numpy()))
        targets = totals(place, np.add.reduceat(sizes, runs.starts), days.size)
    codes = symbols.first(seen)
    name = symbols.places(codes)[own]
    chosen = np.flatnonzero(name >= 0)
    table: dict[str, Any] = {}
    for column in tables.present("decisions", ("score", "forward_return", _WEIGHT, *_INSTANTS)):
        empty, values = np.nan, rows[column]
        if column in _INSTANTS:
            empty, values = NEVER, values.cast(pl.Int64).fill_null(NEVER)
        cells = values.to_numpy()
        table[column] = np.full((codes.size, days.size), empty, cells.dtype)
        table[column][name[chosen], week[chosen]] = cells[chosen]
    returns = table.get("forward_return")
    panel = Panel(days.astype("datetime64[D]"), table["score"], returns, table.get(_WEIGHT))
    twins = compared = shared_weeks = measured_weeks = 0
    if returns is not None:
        sampled = np.isin(week, days_by_digest(days)[:_TWIN_WEEKS])
        score, forward = (rows[column].to_numpy() for column in ("score", "forward_return"))
        shared_weeks, measured_weeks = shared_extremes(week[sampled], forward[sampled])
        some = sampled & np.isfinite(score + forward) & (forward != 0)
        twins, compared = _twins(week[some], own[some], score[some], forward[some]), int(some.sum())
    sections = CrossSections(
        int(seen.sum()),
        int(size[-1]),
        float(size.mean()),
        twins,
        compared,
        shared_weeks,
        measured_weeks,
        targets,
        panel,
    )
    sample = NO_SAMPLE if returns is None else _sampled_weeks(symbols.names(codes), days, returns)
    entry, maturity = (table.get(name, np.full((codes.size, days.size), NEVER)) for name in _INSTANTS)
    return sections, PanelRows(codes, days, entry, maturity), sample


def _twins(week: Integers, code: Codes, score: Floats, forward_return: Floats) -> int:
    """Count the names of some weeks that have the return of another one, and its score as well or in several weeks."""
    order = np.lexsort((code, score, forward_return, week))
    week, code = week[order], code[order]
    score, forward_return = score[order], forward_return[order]
    alike = (np.diff(week) == 0) & (np.diff(forward_return) == 0)
    (first,) = np.nonzero(alike)
    pair = (np.minimum(code[first], code[first + 1]) << 32) + np.maximum(code[first], code[first + 1])
    _, place, weeks = np.unique(pair, return_inverse=True, return_counts=True)
    twins = first[(np.diff(score)[first] == 0) | (weeks[place] >= MIN_TWIN_WEEKS)]
    return int(np.union1d(twins, twins + 1).size)


def _sampled_weeks(names: list[str], days: Integers, returns: Floats) -> Sample:
    """Sample the forward returns of some weeks; a week is identified by its date and that of the next."""
    measured = np.flatnonzero(~np.isnan(returns[:, :-1]).all(axis=0))
    weeks = measured[days_by_digest(days[measured])[:MAX_DAYS]]
    return Sample.of(names, [period(days[week], days[week + 1]) for week in weeks], returns[:, weeks])

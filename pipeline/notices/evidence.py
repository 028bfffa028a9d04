"""Samples of a run's large tables for the notices, taken in one pass while the rows are in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import DAYS_PER_YEAR, Floats
from pipeline.notices.clipped_returns import judge_shared_extremes, shared_extremes
from pipeline.notices.market.notices import market_notices
from pipeline.notices.outcome import NoticeOutcome
from pipeline.notices.panel import NO_PANEL, Panel
from pipeline.notices.prices import Prices, sample_prices
from pipeline.notices.probe import (
    MAX_DAYS,
    NO_SAMPLE,
    Probe,
    Sample,
    days_by_digest,
    period,
    usual_hour,
)
from pipeline.notices.rows import ReadColumns, Symbols, place_in, rows_of_ranges, to_days
from pipeline.notices.spans import NEVER
from pipeline.notices.universe import judge_exits, judge_twins, judge_undecided_names
from pipeline.reconciliation.grid import Codes
from schemas.notices.universe import MIN_TWIN_WEEKS
from schemas.tables.books import CONDITIONED_BOOKS

_INSTANTS: Final = ("entry_at", "maturity_at")
_WEIGHTS: Final = {book: f"{book}_target_weight" for book in CONDITIONED_BOOKS}
"""Book -> column of its target weights."""
_WEIGHT: Final = _WEIGHTS[CONDITIONED_BOOKS[0]]
_TRADEABLE: Final = "next_open_tradeable"
_OPTIONAL: Final = ("forward_return", *_WEIGHTS.values(), _TRADEABLE)
_TWIN_WEEKS: Final = 8
"""Weeks in which names are compared with each other."""


@dataclass(frozen=True, slots=True)
class CrossSections:
    """Sample of the cross-sections.

    Attributes
    ----------
    outcomes
        Notices on all names: those that left the universe, and those whose returns are equal in the sampled weeks.
    targets, net_targets
        Sum of the absolute target weights of long_short in each week, and of the signed ones; None where the run sealed none.
    held_share
        Names that long_short holds in a usual week, counted by their weights, / scored names; None where no week has both.
    panel
        Up to 64 names, week by week.
    decided
        Numbers of all names.
    """

    outcomes: tuple[NoticeOutcome, ...]
    targets: Floats | None
    net_targets: Floats | None
    held_share: float | None
    panel: Panel
    decided: Integers


@dataclass(frozen=True, slots=True)
class Evidence:
    """Samples of the rows of a run.

    Attributes
    ----------
    cross_sections
        Sample of the cross-sections; None where the run sealed none.
    prices
        Samples of positions, fills and pnl.
    trials
        Trial -> standard deviation of its returns.
    probe
        Samples for the comparison with other runs.
    outcomes
        Notices on market prices, if they were given, and on names that books held without a decision.
    """

    cross_sections: CrossSections | None = None
    prices: Prices = field(default_factory=Prices)
    trials: Mapping[str, float] = field(default_factory=dict)
    probe: Probe = field(default_factory=lambda: Probe(NO_SAMPLE, NO_SAMPLE, NO_SAMPLE))
    outcomes: tuple[NoticeOutcome, ...] = ()


@np.errstate(all="ignore")  # infinite returns are discarded
def gather(
    tables: Mapping[str, Collection[str]], read: ReadColumns, market_prices: str | None = None
) -> Evidence:
    """Sample the rows for the notices.

    Parameters
    ----------
    tables
        Kind -> columns, for the sealed tables that pass every rule.
    read
        Reads some columns of one of these tables.
    market_prices
        Address of market prices to compare the rows with; None for no comparison.

    Raises
    ------
    SettingsError
        When the market prices cannot be used.
    """
    symbols = Symbols()
    sections = _cross_sections(tables["decisions"], read, symbols) if "decisions" in tables else None
    prices, panel = sample_prices(tables, read, symbols, NO_PANEL if sections is None else sections.panel)
    outcomes = () if market_prices is None else market_notices(tables, read, market_prices)
    if sections is not None:
        sections = replace(sections, panel=panel)
        if prices.held is not None:
            undecided = sorted(symbols.names(np.setdiff1d(prices.held, sections.decided)))
            outcomes = (*outcomes, judge_undecided_names(undecided))
    trials = {}
    if "trials" in tables:
        (rows,) = read("trials", ("trial", "period_return"))
        trials = dict(
            rows["trials"].group_by("trial").agg(pl.col("period_return").std()).drop_nulls().iter_rows()
        )
    probe = Probe(prices.marks, prices.mids, _sampled_weeks(symbols, panel))
    return Evidence(sections, prices, trials, probe, outcomes)


def _cross_sections(columns: Collection[str], read: ReadColumns, symbols: Symbols) -> CrossSections | None:
    """Count the names of each week, and sample the rows of some names; return None for a table without rows."""
    values = ("score", *(name for name in _OPTIONAL if name in columns))
    instants = tuple(name for name in _INSTANTS if name in columns)
    seen = np.zeros(0, np.bool_)
    range_days, sizes, targets, kept, measured = [], [], [], [], []
    seen_days = np.empty(0, np.int64)
    for part in read("decisions", ("date", "symbol", *values, *instants)):
        ranges, own = part.row_ranges("decisions", ("date",)), symbols.codes(part.symbols("decisions"))
        days = to_days(ranges.heads["date"])
        rows = part["decisions"].select(
            pl.Series("day", np.repeat(days, ranges.lengths)),
            pl.Series("code", own),
            pl.col(values).cast(pl.Float64).fill_null(np.nan),
            pl.col(instants).cast(pl.Int64).fill_null(NEVER),
        )
        score = rows["score"].to_numpy()
        # Names that can be neither scored nor traded, like delisted ones that a book never closed, have left the universe.
        gone = np.isnan(score) & ((rows[_TRADEABLE].to_numpy() == 0) if _TRADEABLE in values else False)
        range_days.append(days)
        sizes.append(np.add.reduceat(1.0 - gone, ranges.starts))
        if _WEIGHT in values:
            targets.append(_target_sums(rows[_WEIGHT].to_numpy(), score, ranges.starts))
        seen, chosen = symbols.add_seen(seen, own)
        kept.append(rows[chosen])
        if "forward_return" in values:
            # A day that is among the first of all days is also among the first of those seen so far.
            seen_days = np.union1d(seen_days, days)
            sampled = np.flatnonzero(np.isin(days, _first_days(seen_days)))
            measured.append(rows[rows_of_ranges(ranges, sampled)[1]])
    days, week = np.unique(np.concatenate(range_days), return_inverse=True)
    if not days.size:
        return None
    size = np.bincount(week, weights=np.concatenate(sizes))
    codes, cells = symbols.first(seen), pl.concat(kept)
    place, among = place_in(cells["code"].to_numpy(), codes)
    at = place[among], np.searchsorted(days, cells["day"].to_numpy()[among])
    shape = codes.size, days.size
    table: dict[str, Any] = {name: np.full(shape, NEVER) for name in _INSTANTS}
    table |= {name: np.full(shape, np.nan) for name in values}
    for name in (*values, *instants):
        table[name][at] = cells[name].to_numpy()[among]
    panel = Panel(
        codes,
        days.astype("datetime64[D]"),
        table["entry_at"],
        table["maturity_at"],
        table["score"],
        table.get("forward_return"),
        {book: table[name] for book, name in _WEIGHTS.items() if name in table},
        table.get(_TRADEABLE),
    )
    years = float(days[-1] - days[0]) / DAYS_PER_YEAR
    exits = judge_exits(int(seen.sum()), int(size[-1]), float(size.mean()), years)
    outcomes = exits, *_judge_equal_returns(measured, days)
    return CrossSections(outcomes, *_weekly_targets(targets, week), panel, np.flatnonzero(seen))


def _judge_equal_returns(parts: list[pl.DataFrame], days: Integers) -> tuple[NoticeOutcome, ...]:
    """Judge equal returns in the sampled weeks, from ``day``, ``code``, ``score`` and ``forward_return`` of rows."""
    if not parts:
        return judge_twins(0, 0), judge_shared_extremes(0, 0)
    rows = pl.concat(parts)
    day, score, forward = (rows[name].to_numpy() for name in ("day", "score", "forward_return"))
    sampled = np.isin(day, _first_days(days))
    some = sampled & np.isfinite(score + forward) & (forward != 0)
    twins = _twins(day[some], rows["code"].to_numpy()[some].astype(np.int64), score[some], forward[some])
    shared = judge_shared_extremes(*shared_extremes(day[sampled], forward[sampled]))
    return judge_twins(twins, int(some.sum())), shared


def _target_sums(weight: Floats, score: Floats, starts: Integers) -> list[Floats]:
    """Return the sums of the absolute weights, of the weights and of their squares, and the number of scored names, of ranges of rows."""
    weight = np.nan_to_num(weight)
    rows = np.abs(weight), weight, weight**2, np.isfinite(score).astype(np.float64)
    return [np.add.reduceat(values, starts) for values in rows]


def _weekly_targets(
    sums: list[list[Floats]], week: Integers
) -> tuple[Floats | None, Floats | None, float | None]:
    """Add the sums of :func:`_target_sums` by week, given the week of each range.

    Returns
    -------
    tuple
        ``targets``, ``net_targets`` and ``held_share`` of :class:`CrossSections`.
    """
    if not sums:
        return None, None, None
    target, net, squares, scored = (
        np.bincount(week, weights=np.concatenate(parts)).astype(np.float64)
        for parts in zip(*sums, strict=True)
    )
    held = (target > 0) & (scored > 0)
    # Unequal weights count as fewer equal ones: the inverse of the Herfindahl index.
    share = float(np.median((target**2 / squares / scored)[held])) if held.any() else None
    return target, net, share


def _first_days(days: Integers) -> Integers:
    """Return the days of the weeks in which names are compared."""
    return days[days_by_digest(days)[:_TWIN_WEEKS]]


def _twins(day: Integers, code: Codes, score: Floats, forward_return: Floats) -> int:
    """Count the names with the return of another name in a week, if they also share its score, or its return in several weeks."""
    order = np.lexsort((code, score, forward_return, day))
    day, code = day[order], code[order]
    score, forward_return = score[order], forward_return[order]
    equal_returns = (np.diff(day) == 0) & (np.diff(forward_return) == 0)
    (first,) = np.nonzero(equal_returns)
    pair = (np.minimum(code[first], code[first + 1]) << 32) + np.maximum(code[first], code[first + 1])
    _, place, weeks = np.unique(pair, return_inverse=True, return_counts=True)
    twins = first[(np.diff(score)[first] == 0) | (weeks[place] >= MIN_TWIN_WEEKS)]
    return int(np.union1d(twins, twins + 1).size)


def _sampled_weeks(symbols: Symbols, panel: Panel) -> Sample:
    """Sample the forward returns of some weeks; a week is identified by its own date and the next week's."""
    days, returns = panel.days, panel.returns
    measured = np.flatnonzero(~np.isnan(returns[:, :-1]).all(axis=0))
    weeks = measured[days_by_digest(days[measured])[:MAX_DAYS]]
    dated = panel.span or panel
    instants = dated.entry, dated.maturity
    hours = np.array([[usual_hour(at[at[:, week] != NEVER, week]) for at in instants] for week in weeks])
    return Sample.of(
        symbols.names(panel.codes),
        [period(days[week], days[week + 1]) for week in weeks],
        returns[:, weeks],
        None if np.isnan(hours).all() else hours,
    )

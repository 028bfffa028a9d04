"""A simulated equity market: prices, tradability flags and rates, from a seed."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from examples.reference_engine.alpha import FEWEST_NAMES, FEWEST_WEEKS
from examples.reference_engine.price_paths import benchmark_paths, log_price_paths
from examples.reference_engine.sessions import Days, Flags, Floats, Indices, trading_sessions, week_ends
from schemas.errors import SettingsError

FIRST_SESSION = dt.date(2021, 6, 28)
_WEEKS_BEFORE_SEALS = 220
"""Weeks from then to the fixed dates of the seals; a longer market begins earlier."""
BENCHMARK_SYMBOL = "SIMSPY"

# Sessions before the first decision: enough for every reference signal, or deliberately too few, so that a
# signal with a long lookback has to skip its first weeks.
FULL_HISTORY = 70
SHORT_HISTORY = 48

_EVENTS_PER_NAME_WEEK = 0.004
_SCHEDULE_AHEAD = 25


@dataclass(frozen=True, eq=False)
class Market:
    """A simulated market of T observed sessions, N names and W decisions.

    Attributes
    ----------
    symbols
        The N tickers, ascending.
    schedule
        Sessions known in advance, ``datetime64[D]``; the first T of them are observed.
    decisions
        Shape (W,): the position in `schedule` of each weekly decision.
    opens, closes
        Shape (T, N), currency per share; NaN where the name has no bar (unlisted, halted, or a gap).
    first, last
        Shape (N,): position of the first and of the last session a name is listed. A name that is still
        listed at the end has ``last >= T``.
    no_borrow, illiquid
        Shape (T, N): flags known at the session's close.
    half_spread
        Shape (N,), ratio of the mid.
    borrow_rate
        Shape (N,), ratio per year.
    risk_free
        Shape (T,), ratio per session.
    benchmark, benchmark_adjusted
        Shape (T,): level of the simulated index without and with its dividends.
    """

    symbols: tuple[str, ...]
    schedule: Days
    decisions: Indices
    opens: Floats
    closes: Floats
    first: Indices
    last: Indices
    no_borrow: Flags
    illiquid: Flags
    half_spread: Floats
    borrow_rate: Floats
    risk_free: Floats
    benchmark: Floats
    benchmark_adjusted: Floats

    @property
    def observed(self) -> int:
        """T, the number of sessions with bars."""
        return int(self.closes.shape[0])

    @property
    def has_bar(self) -> Flags:
        """Shape (T, N): whether the name printed an open and a close that session."""
        return np.isfinite(self.closes)

    @property
    def marks(self) -> Floats:
        """Shape (T, N): the latest close up to that session; NaN before the first."""
        rows = np.where(self.has_bar, np.arange(self.observed)[:, None], -1)
        latest = np.maximum.accumulate(rows, axis=0)
        columns = np.arange(len(self.symbols))[None, :]
        return np.where(latest >= 0, self.closes[np.maximum(latest, 0), columns], np.nan)


def simulate_market(
    seed: int, names: int, weeks: int, *, pending: bool = True, skipped: bool = True
) -> Market:
    """Simulate a market. The same arguments give the same numbers on every machine.

    Parameters
    ----------
    seed
        Seed of the only random generator used.
    names
        Number of securities, at least 24: ten deciles need twenty scored names every week, and some names list
        late or are delisted.
    weeks
        Number of weekly decisions, at least 12.
    pending
        Whether prices end at the last decision, so that the open after it is unknown.
    skipped
        Whether the history before the first decision is short and most prices are missing on one day; both make
        runs skip weeks.

    Returns
    -------
    Market
        The simulated market.

    Raises
    ------
    SettingsError
        When `names` or `weeks` is too small, or the seed is negative.
    """
    _check(seed, names, weeks)
    rng = np.random.default_rng(seed)
    history = SHORT_HISTORY if skipped else FULL_HISTORY
    begin = FIRST_SESSION - dt.timedelta(weeks=max(0, weeks - _WEEKS_BEFORE_SEALS))
    schedule = trading_sessions(begin, history + 5 * weeks + _SCHEDULE_AHEAD)
    ends = week_ends(schedule)
    decisions = ends[ends >= history][:weeks]
    observed = int(decisions[-1]) + (1 if pending else 2)

    first, last, drift, noise_scale = _listings(rng, names, decisions, observed)
    log_open, log_close, factor = log_price_paths(rng, drift, noise_scale)
    opens, closes = np.exp(log_open).round(2), np.exp(log_close).round(2)

    session = np.arange(observed)[:, None]
    absent = (session < first) | (session > last)
    missing, no_borrow, illiquid = _events(rng, decisions, observed, names)
    if skipped:
        missing[decisions[int(0.6 * weeks)], rng.permutation(names)[: int(0.7 * names)]] = True
    # A delisted name has a price on its last day, at which remaining positions are settled.
    ending = np.flatnonzero(last < observed)
    missing[last[ending], ending] = False
    opens[absent | missing] = np.nan
    closes[absent | missing] = np.nan

    level, adjusted = benchmark_paths(rng, factor)
    width = max(3, len(str(names)))
    return Market(
        symbols=tuple(f"SIM{number:0{width}d}" for number in range(1, names + 1)),
        schedule=schedule,
        decisions=decisions,
        opens=opens,
        closes=closes,
        first=first,
        last=last,
        no_borrow=no_borrow,
        illiquid=illiquid,
        half_spread=rng.uniform(0.0001, 0.0006, names),
        borrow_rate=rng.uniform(0.002, 0.02, names),
        risk_free=0.03 / 252 * (1 + 0.2 * np.sin(np.arange(observed) / 120)),
        benchmark=level,
        benchmark_adjusted=adjusted,
    )


def _check(seed: int, names: int, weeks: int) -> None:
    for field, value, fewest, why in (
        ("names", names, FEWEST_NAMES, "ten deciles need twenty scored names in every week"),
        ("weeks", weeks, FEWEST_WEEKS, "late listings, delistings and skipped weeks need room"),
        ("seed", seed, 0, "the generator takes no negative seed"),
    ):
        if value < fewest:
            raise SettingsError(f"{field} is {value}, and must be {fewest} or more: {why}.")


def _listings(
    rng: np.random.Generator, names: int, decisions: Indices, observed: int
) -> tuple[Indices, Indices, Floats, Floats]:
    """Choose names that list late or are delisted, with the drift and noise before a delisting.

    Every other delisting is a takeover (a steady climb, little noise, last bar on a decision day); the others are
    failures (a slide, last bar in mid-week). Both drift enough to be in a tail, and so to be held.
    """
    weeks = len(decisions)
    leaving = max(2, names // 20)
    arriving = max(1, names // 20)
    chosen = rng.permutation(names)
    first = np.zeros(names, dtype=np.int64)
    last = np.full(names, observed + _SCHEDULE_AHEAD, dtype=np.int64)
    drift, noise_scale = np.zeros((observed, names)), np.ones((observed, names))
    for place, name in enumerate(chosen[:arriving]):
        first[name] = decisions[int(weeks * (0.1 + 0.4 * place / arriving))]
    for place, name in enumerate(chosen[arriving : arriving + leaving]):
        takeover = place % 2 == 0
        last[name] = decisions[int(weeks * (0.5 + 0.35 * place / leaving))] + (0 if takeover else 2)
        run_up = slice(max(0, int(last[name]) - 55), int(last[name]) + 1)
        drift[run_up, name] = 0.006 if takeover else -0.008
        noise_scale[run_up, name] = 0.3 if takeover else 1.0
    return first, last, drift, noise_scale


def _events(
    rng: np.random.Generator, decisions: Indices, observed: int, names: int
) -> tuple[Flags, Flags, Flags]:
    """Place halts, missing prices, and spells without borrow or liquidity, around decision days."""
    weeks = len(decisions)
    count = max(3, round(_EVENTS_PER_NAME_WEEK * names * weeks))

    def places() -> zip[tuple[np.int64, np.int64]]:
        week = rng.choice(np.arange(1, weeks - 1), count, replace=count > weeks - 2)
        return zip(week, rng.integers(0, names, count), strict=True)

    missing = np.zeros((observed, names), dtype=np.bool_)
    no_borrow, illiquid = missing.copy(), missing.copy()
    for week, name in places():  # halted from the open that would have filled the decision
        missing[decisions[week] + 1 : decisions[week] + 1 + rng.integers(1, 4), name] = True
    for week, name in places():  # no price on the decision day itself
        missing[decisions[week], name] = True
    for flags in (no_borrow, illiquid):
        for week, name in places():
            flags[decisions[week] : decisions[week] + 5 * rng.integers(1, 4), name] = True
    return missing, no_borrow, illiquid

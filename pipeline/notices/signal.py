"""Notices on the signal: figures of the weekly IC, and weeks that repeat."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from datasets.figures.newey_west import newey_west
from datasets.figures.series import MIN_HAC_OBSERVATIONS, WEEKS_PER_YEAR, Dates, Flags, Floats, is_constant
from datasets.figures.unavailable import Unavailable
from pipeline.notices.correlations import rank_correlations
from pipeline.notices.outcome import (
    NoticeOutcome,
    by_chance,
    first_noticed,
    judged,
    none_checked,
    not_checked,
    too_few,
)
from pipeline.notices.probe import HOURS_APART
from schemas.notices import NOTICES
from schemas.notices.books import (
    MAX_PERIOD_TIMING,
    MIN_EXPOSURE_VARIATION,
    MIN_NET_VARIATION,
    MIN_PERIODS,
    TIMED_PERIODS,
)
from schemas.notices.notice import CHANCE, EXCEPTIONAL_RATIO, MIN_CORRELATED_WEEKS
from schemas.notices.signal import (
    CORRELATED_SHARE,
    CORRELATION_ERRORS,
    DAYS_PER_WEEK,
    MAX_OPEN_WEEKS,
    MIN_OUTLYING,
    MIN_OUTLYING_NAMES,
    MIN_OUTLYING_WEEKS,
    MIN_SPACED_DECISIONS,
    MIN_TRADED_WEEKS,
    NIGHTS_SHARE,
    OUTLYING_DEVIATIONS,
)
from schemas.plurals import counted
from schemas.tables.rebalances import PENDING, TRADED

_ON_TIMING: Final = ("book.timing", "book.risk_timing")
_ON_THE_MEAN: Final = ("signal.mean_ic", "signal.icir", "signal.newey_west_t")


def judge_weekly_ic(ic: Floats) -> Iterator[NoticeOutcome]:
    """Judge the mean and the steadiness of the weekly IC; `ic` holds measured weeks in order, without NaN."""
    if ic.size < 2:
        yield from (too_few(notice, ic.size, "week", "an ic", "two") for notice in _ON_THE_MEAN)
        return
    weeks, error = ic.size, _standard_error(ic)
    yield _judge_mean_ic("signal.mean_ic", ic, "The mean IC")
    if error:
        icir = float(ic.mean()) / error / math.sqrt(weeks) * math.sqrt(WEEKS_PER_YEAR)
        yield judged(
            "signal.icir",
            abs(icir),
            f"The ICIR is {icir:.2f} a year over {weeks} weeks.",
            chance=EXCEPTIONAL_RATIO + by_chance(weeks) * math.sqrt(WEEKS_PER_YEAR / weeks),
            weeks=weeks,
        )
    else:
        yield not_checked("signal.icir", "the weekly IC does not vary")
    yield _judge_newey_west(ic)


def judge_outlying_weeks(ic: Floats, what: str = "The IC") -> NoticeOutcome:
    """Judge how many weeks have an outlying IC, called `what`; `ic` holds weeks with enough names, without NaN."""
    notice = "signal.outlying_weeks"
    if ic.size < MIN_OUTLYING_WEEKS:
        return too_few(notice, ic.size, "week", f"an ic of {MIN_OUTLYING_NAMES} names", MIN_OUTLYING_WEEKS)
    distance = np.abs(ic - np.median(ic))
    usual = 1.4826 * float(np.median(distance))
    if not usual > 0:
        return not_checked(notice, "the weekly IC does not vary")
    outlying = int((distance > OUTLYING_DEVIATIONS * usual).sum())
    return judged(
        notice,
        outlying / ic.size,
        f"{what} of {outlying} of {ic.size} weeks lies more than {OUTLYING_DEVIATIONS:g} deviations from the median of "
        f"{np.median(ic):.3f}.",
        chance=(MIN_OUTLYING - 1) / ic.size,
        weeks=ic.size,
        outlying=outlying,
    )


def judge_timing(
    dates: Dates, sessions: Dates, exposure: Floats, returns: Floats, targets: Floats | None = None
) -> Iterator[NoticeOutcome]:
    """Judge whether the book was large in the profitable weeks, and small in those of large moves.

    Parameters
    ----------
    dates
        Decision dates, ascending.
    sessions, exposure, returns
        Sessions of the book, ascending, with its gross exposure at the close and its return; NaN counts as 0.
    targets
        Sum of the absolute target weights of each decision, used where exposures hardly vary: unlike these, targets do not change with the
        moves of the first session. NaN where unknown; None where all are.
    """
    week = np.searchsorted(dates, sessions, side="left") - 1
    first = np.diff(week, prepend=-1) != 0
    held = np.zeros(dates.size)
    held[week[first & (week >= 0)]] = exposure[first & (week >= 0)]
    earned, traded = weekly_returns(dates, sessions[~first], returns[~first])
    known = traded & (held > 0)
    size, needed = held, MIN_EXPOSURE_VARIATION
    if targets is not None:
        # Where a week has no target, some positions that cannot be closed are left.
        known &= targets > 0
        if _variation(held[known]) < needed:
            size, needed = targets, MIN_NET_VARIATION
    weeks = int(known.sum())
    if weeks < MIN_CORRELATED_WEEKS:
        for notice in _ON_TIMING:
            yield too_few(notice, weeks, "week", "positions on two sessions", MIN_CORRELATED_WEEKS)
        return
    size, per_unit = size[known], earned[known] / held[known]
    if _variation(size) < needed or is_constant(per_unit):
        varies = f"exposures vary by {_variation(size):.1%} from week to week"
        yield from none_checked(_ON_TIMING, f"{varies}; {needed:.0%} is needed")
        return
    allowed = CHANCE / math.sqrt(weeks - 3)
    correlation = float(np.corrcoef(size, per_unit)[0, 1])
    of_own, of_last = (
        float(np.corrcoef(size[1:], np.abs(moves))[0, 1]) for moves in (per_unit[1:], per_unit[:-1])
    )
    of_weeks = judged(
        "book.timing",
        correlation,
        f"Over {weeks} weeks the exposure of the book has a correlation of {correlation:.2f} with the return per unit of exposure.",
        chance=math.tanh(allowed),
        weeks=weeks,
    )
    with_first = weekly_returns(dates, sessions, returns)[0][known] / held[known]
    yield first_noticed(
        of_weeks, *(_judge_periods(period, dates[known], size, with_first) for period in TIMED_PERIODS)
    )
    message = (
        f"Over {weeks} weeks the exposure of the book has a correlation of {of_own:.2f} with the size of the return per unit of exposure, "
        f"and of {of_last:.2f} with that of the week before."
    )
    yield judged("book.risk_timing", of_last - of_own, message, chance=math.sqrt(2) * allowed, weeks=weeks)


def _judge_periods(period: str, dates: Dates, size: Floats, per_unit: Floats) -> NoticeOutcome:
    """Judge whether the size at the first decision of each calendar period, such as a quarter, goes with the return of the period.

    A size that is chosen for a quarter hardly goes with the returns of its weeks, most of which are chance. That of the first decision
    cannot answer to the returns of the quarter. If the periods are exchangeable, the correlation has the standard error
    1 / sqrt(periods - 1) whatever their distribution (Pitman, 1937).
    """
    number = dates.astype("datetime64[M]").astype(np.int64) // TIMED_PERIODS[period]
    _, first, place = np.unique(number, return_index=True, return_inverse=True)
    periods = first.size
    if periods < MIN_PERIODS:
        return too_few("book.timing", periods, period, "positions", MIN_PERIODS)
    mean = np.bincount(place, weights=per_unit) / np.bincount(place)
    correlation = float(np.corrcoef(size[first], mean)[0, 1])
    return judged(
        "book.timing",
        correlation,
        f"Over {periods} {period}s the exposure at the first decision has a correlation of {correlation:.2f} with the mean return per unit "
        f"of exposure in the {period}.",
        chance=max(MAX_PERIOD_TIMING, CHANCE / math.sqrt(periods - 1)),
        periods=periods,
    )


def _variation(values: Floats) -> float:
    """Return the standard deviation relative to the mean; 0 of no values."""
    return float(values.std() / values.mean()) if values.size else 0.0


def judge_net_timing(net: Floats, market: Floats, what: str) -> NoticeOutcome:
    """Judge whether the book was long in the weeks in which names rose.

    Parameters
    ----------
    net
        Sum of the target weights of each week, or of them x the betas of the names, relative to the sum of their sizes; NaN where all are 0.
    market
        Mean forward return of the names in each week; NaN where unknown.
    what
        Name of `net`.
    """
    notice = "book.net_timing"
    known = np.isfinite(net) & np.isfinite(market)
    weeks = int(known.sum())
    if weeks < MIN_CORRELATED_WEEKS:
        return too_few(notice, weeks, "week", "target weights and forward returns", MIN_CORRELATED_WEEKS)
    net, market = net[known], market[known]
    variation = float(net.std())
    if variation < MIN_NET_VARIATION or is_constant(market):
        varies = f"the {what} varies by {variation:.1%} of the gross one from week to week"
        return not_checked(notice, f"{varies}; {MIN_NET_VARIATION:.0%} is needed")
    correlation = float(np.corrcoef(net, market)[0, 1])
    message = f"Over {weeks} weeks the {what} of the book has a correlation of {correlation:.2f} with the mean return of the names."
    return judged(notice, correlation, message, chance=math.tanh(CHANCE / math.sqrt(weeks - 3)), weeks=weeks)


def judge_raw_ic(ic: Floats) -> NoticeOutcome:
    """Judge the mean weekly IC of the signal before smoothing; `ic` holds measured weeks in order, without NaN."""
    notice = "signal.raw_mean_ic"
    if ic.size < 2:
        return too_few(notice, ic.size, "week", "a raw ic", "two")
    return _judge_mean_ic(notice, ic, "The mean IC of the signal before smoothing")


def _judge_mean_ic(notice: str, ic: Floats, label: str) -> NoticeOutcome:
    mean, weeks = float(ic.mean()), ic.size
    message = f"{label} is {mean:.3f} over {weeks} weeks."
    return judged(notice, abs(mean), message, chance=by_chance(weeks) * _standard_error(ic), weeks=weeks)


def judge_skipped_weeks(statuses: Sequence[str]) -> NoticeOutcome:
    """Judge how many weeks were skipped, from the status of each week in order; weeks before the first traded one are warm-up."""
    notice = "signal.skipped_weeks"
    began = statuses.index(TRADED) if TRADED in statuses else len(statuses)
    weeks = len(statuses) - began
    if weeks < MIN_TRADED_WEEKS:
        reason = f"{counted(weeks, 'week follows', 'weeks follow')} the first traded one; {MIN_TRADED_WEEKS} are needed"
        return not_checked(notice, reason)
    over = next((back for back, status in enumerate(reversed(statuses)) if status != PENDING), weeks)
    last = len(statuses) - min(over, MAX_OPEN_WEEKS)
    skipped = sum(status != TRADED for status in statuses[began:last])
    message = f"{skipped} of {weeks} weeks were not traded."
    return judged(notice, skipped / weeks, message, weeks=weeks, skipped=skipped)


def judge_frequency(dates: Dates) -> NoticeOutcome:
    """Judge whether decisions are weekly, from their dates, ascending."""
    notice = "signal.frequency"
    if dates.size < MIN_SPACED_DECISIONS:
        return not_checked(
            notice, f"the run has {counted(dates.size, 'decision')}; {MIN_SPACED_DECISIONS} are needed"
        )
    days = float(np.median(np.diff(dates).astype(np.int64)))
    return judged(notice, days, f"Half of the decisions are {days:g} days or more after the one before.")


def judge_weekly_days(dates: Dates, entries: Dates, sessions: Dates) -> NoticeOutcome:
    """Judge how many weeks are decided or filled on an unusual day, or filled at an unusual hour of it.

    Parameters
    ----------
    dates, entries
        Decision dates, ascending, and the instant at which their forward returns begin; NaT where unknown.
    sessions
        Sessions of the ledger, ascending.
    """
    notice = "signal.irregular_weeks"
    place = np.searchsorted(sessions, dates, side="right") - 1
    inside = (place >= 0) & (place < sessions.size - 1)
    weeks, place, entries = int(inside.sum()), place[inside], entries[inside]
    days, ledger_days = (each.astype("datetime64[D]").astype(np.int64) for each in (dates[inside], sessions))
    if weeks < MIN_TRADED_WEEKS or abs(np.median(np.diff(days)) - DAYS_PER_WEEK) > 1:
        return not_checked(
            notice,
            f"the ledger has {counted(weeks, 'decision')}, or not one a week; {MIN_TRADED_WEEKS} are needed",
        )
    # Day 0 is a Thursday, and weeks begin on Monday.
    week, of_sessions = ((each + 3) // DAYS_PER_WEEK for each in (days, ledger_days))
    # Around holidays, an engine that counts weekdays decides on other days than one that counts sessions.
    from_start, from_end = (place - np.searchsorted(of_sessions, week, side) for side in ("left", "right"))
    ways = (days % DAYS_PER_WEEK, from_start, from_end, np.diff(place))
    known = ~np.isnat(entries)
    filled = entries[known].astype("datetime64[D]")
    delay = np.searchsorted(sessions, filled) - place[known]
    hours = (entries[known] - filled) / np.timedelta64(1, "h")
    # The hour of one of the fills, since the median of opens and closes lies between them.
    usual = np.quantile(hours, 0.5, method="lower") if hours.size else 0.0
    apart = np.abs((hours - usual + 12) % 24 - 12) > HOURS_APART
    irregular, moved = min(_exceptions(way) for way in ways), _exceptions(2 * delay + apart)
    message = f"Of {weeks} decisions, {irregular} are taken on another day than usual, and {moved} are filled on another day or at another hour."
    return judged(notice, max(irregular, moved) / weeks, message, weeks=weeks)


def _exceptions(values: NDArray[np.int64]) -> int:
    """Count the values other than the most common one."""
    return values.size - int(np.unique(values, return_counts=True)[1].max(initial=0))


def _standard_error(ic: Floats) -> float:
    """Return the standard error of the mean; 0 if the IC is the same in all weeks."""
    return 0.0 if is_constant(ic) else float(ic.std(ddof=1)) / math.sqrt(ic.size)


def _judge_newey_west(ic: Floats) -> NoticeOutcome:
    """Judge the Newey-West t-statistic of the mean."""
    notice = "signal.newey_west_t"
    if ic.size < MIN_HAC_OBSERVATIONS:
        return too_few(notice, ic.size, "week", "an ic", MIN_HAC_OBSERVATIONS)
    test = newey_west(ic)
    if isinstance(test, Unavailable):
        return not_checked(notice, "the weekly IC does not vary")
    t = test.t_stat
    return judged(
        notice, abs(t), f"The mean IC lies {abs(t):.1f} Newey-West standard errors from zero.", weeks=ic.size
    )


def judge_book(
    dates: Dates,
    ic: Floats,
    sessions: Dates,
    returns: Floats,
    held_share: float | None = None,
    *,
    market: Floats | None = None,
) -> NoticeOutcome:
    """Judge whether the weekly IC correlates with what the book earned beyond the market.

    Parameters
    ----------
    dates, ic
        Last session, by decision, that closes before the book is filled, ascending, and the IC; NaN where undetermined.
    sessions, returns
        Sessions of the book, ascending, and their returns; NaN counts as 0.
    held_share
        As in :class:`pipeline.notices.evidence.CrossSections`.
    market
        By decision: what the net target weight of the book earns with the mean return of the names, which the IC does not
        contain. NaN where unknown; None for a book that is neutral to the market.
    """
    notice = "signal.book_correlation"
    earned, traded = weekly_returns(dates, sessions, returns)
    market = np.zeros(dates.size) if market is None else np.nan_to_num(market)
    earned = earned - market
    known = ~np.isnan(ic) & traded
    weeks = int(known.sum())
    if weeks < MIN_CORRELATED_WEEKS:
        return too_few(notice, weeks, "week", "an ic and a return of the book", MIN_CORRELATED_WEEKS)
    x, y = ic[known], earned[known]
    if is_constant(x) or is_constant(y):
        return not_checked(notice, "the weekly ic or the book's return does not vary")
    # By rank: the book earns and loses most in wild weeks, while an IC of these is no larger.
    correlation = float(rank_correlations(x[:, np.newaxis], y[:, np.newaxis])[0])
    threshold = NOTICES[notice].threshold
    if held_share is not None:
        # The IC counts all names, the book its own: correlation of ranks and equal weights in two tails if names are independent.
        tail = min(held_share / 2, 1.0)  # above 1 if most of the names held have no score
        threshold = min(threshold, CORRELATED_SHARE * math.sqrt(6 * tail) * (1 - tail))
    # Forward returns begin and end a night later than those of the book, and what the market does in these two nights stays in the latter.
    nights = NIGHTS_SHARE * float(market[known].var() / y.var())
    threshold *= math.sqrt(max(1.0 - nights, 0.0))
    # The threshold allows for chance: Fisher's z has a standard error of 1 / sqrt(weeks - 3).
    lowest = math.tanh(math.atanh(threshold) - CORRELATION_ERRORS / math.sqrt(weeks - 3))
    if lowest <= 0:
        cause = (
            "the book earns more with the market than by its choice of names, too much"
            if held_share is None or nights > 1 / 2
            else f"the book holds {held_share:.1%} of the scored names, too {'few' if held_share < 1 else 'many'}"
        )
        return not_checked(notice, f"{cause} to relate it to the IC over {counted(weeks, 'week')}")
    message = f"Over {weeks} weeks the IC and the book's return beyond the market have a correlation of {correlation:.2f}."
    return judged(notice, correlation, message, chance=lowest, weeks=weeks)


def weekly_returns(dates: Dates, sessions: Dates, returns: Floats) -> tuple[Floats, Flags]:
    """Compound a book's returns from the close of each decision to the close of the next.

    Parameters
    ----------
    dates
        Decision dates, ascending.
    sessions, returns
        Sessions, ascending, and their returns; NaN counts as 0.

    Returns
    -------
    earned : Floats, shape (dates,)
        Compounded return, a ratio; 0 where there is no session.
    traded : Flags, shape (dates,)
        Whether a session lies between the decision and the next one, or after the last decision.
    """
    week = np.searchsorted(dates, sessions, side="left") - 1
    inside = week >= 0
    count = np.bincount(week[inside], minlength=dates.size)
    # A return of -1 or below makes the product 0; the log of a tiny number represents it.
    growth = np.log(np.maximum(1 + np.nan_to_num(returns[inside]), 1e-300))
    return np.expm1(np.bincount(week[inside], weights=growth, minlength=dates.size)), count > 0

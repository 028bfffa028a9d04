"""Notices on the universe: missing delistings, duplicate and barred names, frozen prices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from datasets.figures.series import Floats
from pipeline.notices.correlations import column_mean, judge_mean, relative_ranks
from pipeline.notices.outcome import NoticeOutcome, first_noticed, judged, not_checked
from schemas.notices.market import MAX_LEFT_OUT
from schemas.notices.notice import MIN_CORRELATED_WEEKS
from schemas.notices.signal import MIN_RANKED_NAMES
from schemas.notices.universe import (
    FROZEN_SESSIONS,
    MAX_UNSCORED_WEEKS,
    MIN_EXIT_RATE,
    MIN_EXIT_YEARS,
    MIN_UNSCORED,
    UNSCORED_LOSSES,
)
from schemas.plurals import counted


def judge_exits(names: int, last: int, mean: float, years: float) -> NoticeOutcome:
    """Judge whether enough names left the universe, compared with a real one.

    Parameters
    ----------
    names
        Distinct names of all cross-sections.
    last
        Names of the last cross-section that can be scored or traded.
    mean
        Mean number of such names per cross-section.
    years
        Years from the first cross-section to the last.
    """
    notice = "universe.exits"
    if years < MIN_EXIT_YEARS:
        return not_checked(notice, f"the run spans {years:.1f} years; {MIN_EXIT_YEARS:g} are needed")
    exits = names - last
    probability = poisson_lower_tail(exits, MIN_EXIT_RATE * mean * years)
    message = (
        f"{exits} of {names} names left the universe in {years:.1f} years; a real one loses "
        f"{MIN_EXIT_RATE * mean * years:.0f} or more."
    )
    return judged(notice, probability, message, exits=exits, names=names, years=years)


def judge_undecided_names(names: Sequence[str]) -> NoticeOutcome:
    """Judge how many names are held without a decision in any week; the message names the first three."""
    return judged(
        "universe.undecided_names",
        float(len(names)),
        f"Books hold {counted(len(names), 'name')} without a decision in any week: {', '.join(names[:3])}.",
        symbols=names[:3],
    )


def judge_twins(twins: int, compared: int) -> NoticeOutcome:
    """Judge how many names have the forward return of another name, in the sampled weeks."""
    notice = "universe.twins"
    if not compared:
        return not_checked(notice, "no name has a score and a forward return")
    message = f"{twins} of {compared} names of some weeks have the forward return of another name."
    return judged(notice, twins / compared, message, twins=twins, names=compared)


def judge_barred_names(
    tradeable: Floats | None, scores: Floats, returns: Floats, positions: Floats | None
) -> NoticeOutcome:
    """Judge whether names that could not be traded, or were not scored, would have lost."""
    if tradeable is None:
        barred = [not_checked("universe.barred_names", "the run sealed no next_open_tradeable")]
    else:
        barred = list(_judge_untradeable(tradeable, scores, returns, positions))
    return first_noticed(*barred, *_judge_unscored(scores, returns))


def _judge_untradeable(
    tradeable: Floats, scores: Floats, returns: Floats, positions: Floats | None
) -> Iterator[NoticeOutcome]:
    """Judge whether names that could not be traded would have lost, given the sign of their scores, or gained as positions that stayed.

    Tradeability is known before the return, so the two should be unrelated.
    """
    both = np.isfinite(scores) & np.isfinite(returns)
    sides, earned = (relative_ranks(np.where(both, values, np.nan)) for values in (scores, returns))
    judged_names = (tradeable == 0) & (both.sum(axis=0) >= MIN_RANKED_NAMES)
    week = "between the middle of their week (0) and its largest"
    compared = [(-sides, f"would have lost: {week} loss for the side of their scores (1)", "")]
    if positions is not None:
        held = np.where(positions != 0, positions, np.nan)
        compared.append((held, f"stayed in the book and gained: {week} gain (1)", " and a position"))
    for side, what, also in compared:
        yield judge_mean(
            "universe.barred_names",
            np.where(judged_names, np.sign(side) * earned, np.nan).ravel(),
            f"{{number}} names that could not be traded {what} their returns rank at {{mean:.2f}} on average.",
            f"no tradeable open{also} in a week of {MIN_RANKED_NAMES} names",
            period="name",
        )


def _judge_unscored(scores: Floats, returns: Floats) -> Iterator[NoticeOutcome]:
    """Judge the largest return of each name while it has no score: a loss for the side of its last score, or a fall.

    A name may be left out for weeks around a loss. A fast score has another side each week, so that names left out before they fall would
    have gained as often as lost.
    """
    before = np.full(scores.shape, np.nan)
    before[:, 1:] = relative_ranks(scores)[:, :-1]
    measured = np.isfinite(returns)
    unscored = np.isnan(scores) & measured
    begins = unscored & np.isfinite(before)
    # A day without data leaves out most names at once, whose returns have one cause.
    few = begins.sum(axis=0) <= MAX_LEFT_OUT * measured.sum(axis=0)
    name, week = np.nonzero(begins & few)
    size, rank = np.abs(returns - column_mean(returns)), relative_ranks(returns)
    largest = week.copy()
    for place, (own, first) in enumerate(zip(name.tolist(), week.tolist(), strict=True)):
        weeks = slice(first, first + MAX_UNSCORED_WEEKS)
        still_unscored = np.logical_and.accumulate(unscored[own, weeks])
        largest[place] += np.where(still_unscored, size[own, weeks], -1.0).argmax()
    for side, loss in ((np.sign(before[name, week]), "loss for the side of that score"), (1.0, "fall")):
        yield judge_mean(
            "universe.barred_names",
            -side * rank[name, largest],
            f"{{number}} names lack a score after a week with one: between the middle of the week (0) and its largest {loss} (1) their "
            "largest return since then ranks at {mean:.2f} on average.",
            "a forward return and no score after a week with one",
            period="name",
            fewest=MIN_UNSCORED,
            limit=UNSCORED_LOSSES,
        )


def judge_gaps(scores: Floats, returns: Floats) -> NoticeOutcome:
    """Judge how often a name lacks its score or return in a week, although it has both in the weeks before and after."""
    notice = "universe.gaps"
    known = np.isfinite(scores) & np.isfinite(returns)
    present = np.isfinite(scores) | np.isfinite(returns)
    # Skipped and unfinished weeks lack the returns of most names.
    measured = known[:, 2 * known.sum(axis=0) > present.sum(axis=0)]
    between = measured[:, :-2] & measured[:, 2:]
    number = int(between.sum())
    if measured.shape[1] < MIN_CORRELATED_WEEKS:
        reason = f"{counted(measured.shape[1], 'week is', 'weeks are')} measured; {MIN_CORRELATED_WEEKS} are needed"
        return not_checked(notice, reason)
    if not number:
        return not_checked(notice, "no name has two measured weeks with a week between them")
    gaps = int((between & ~measured[:, 1:-1]).sum())
    message = f"In {gaps} of {number} cases a name lacks its score or its forward return between two weeks that have both."
    return judged(notice, gaps / number, message, gaps=gaps)


def judge_frozen_marks(marks: Floats, before: Floats) -> NoticeOutcome:
    """Judge how many names are held at a frozen price.

    Parameters
    ----------
    marks, before
        At the close of some sessions, ascending, and at the close before each; shape (sessions, names), NaN where not held.
    """
    notice = "universe.frozen_marks"
    known = np.isfinite(marks + before)
    held = known.sum(axis=0)
    names = int((held >= FROZEN_SESSIONS).sum())
    if not names:
        return not_checked(notice, f"no name is held on {FROZEN_SESSIONS} of the sampled sessions")
    # Counted backwards from the last session: number of changes of the mark up to then.
    changes = np.cumsum((known & (marks != before))[::-1], axis=0)
    since = np.cumsum(known[::-1], axis=0)
    frozen = int((np.where(changes == 0, since, 0).max(axis=0) >= FROZEN_SESSIONS).sum())
    message = f"{frozen} of {names} names are held to the end at a mark that no longer changes."
    return judged(notice, float(frozen), message, names=names)


def poisson_lower_tail(events: int, expected: float) -> float:
    """Return the probability that a Poisson variable is at most `events`.

    Parameters
    ----------
    events
        At least 0.
    expected
        Mean of the distribution, at least 0.
    """
    if expected == 0:
        return 1.0
    logarithms = [n * math.log(expected) - expected - math.lgamma(n + 1) for n in range(events + 1)]
    return min(1.0, math.fsum(math.exp(x) for x in logarithms))

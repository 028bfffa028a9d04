"""Notices on the universe: missing delistings, duplicate names, frozen prices."""

from __future__ import annotations

import math

import numpy as np

from datasets.figures.series import Floats
from pipeline.notices.outcome import NoticeOutcome, judged, not_checked
from schemas.notices.universe import FROZEN_SESSIONS, MIN_EXIT_RATE, MIN_EXIT_YEARS


def judge_exits(names: int, last: int, mean: float, years: float) -> NoticeOutcome:
    """Judge whether as many names left as in a real universe.

    Parameters
    ----------
    names
        Different names of all cross-sections.
    last
        Names of the last one.
    mean
        Names of a cross-section on average.
    years
        From the first cross-section to the last.
    """
    notice = "universe.exits"
    if years < MIN_EXIT_YEARS:
        return not_checked(notice, f"the run spans {years:.1f} years; {MIN_EXIT_YEARS:g} are needed")
    exits = names - last
    probability = poisson_lower_tail(exits, MIN_EXIT_RATE * mean * years)
    return judged(
        notice,
        probability,
        f"{exits} of {names} names left the universe in {years:.1f} years; a real one loses "
        f"{MIN_EXIT_RATE * mean * years:.0f} or more.",
        exits=exits,
        names=names,
        years=years,
    )


def judge_twins(twins: int, compared: int) -> NoticeOutcome:
    """Judge how many names of some weeks have the forward return of another one."""
    notice = "universe.twins"
    if not compared:
        return not_checked(notice, "no name has a score and a forward return")
    message = f"{twins} of {compared} names of some weeks have the forward return of another name."
    return judged(notice, twins / compared, message, twins=twins, names=compared)


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
        return not_checked(notice, f"no name is held on {FROZEN_SESSIONS} of the sessions looked at")
    # Counted from the last session backwards: how often a mark had changed by then.
    changes = np.cumsum((known & (marks != before))[::-1], axis=0)
    since = np.cumsum(known[::-1], axis=0)
    frozen = int((np.where(changes == 0, since, 0).max(axis=0) >= FROZEN_SESSIONS).sum())
    return judged(
        notice,
        float(frozen),
        f"{frozen} of {names} names are held to the end at a mark that no longer changes.",
        names=names,
    )


def poisson_lower_tail(events: int, expected: float) -> float:
    """Probability of at most so many events of a Poisson distribution.

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

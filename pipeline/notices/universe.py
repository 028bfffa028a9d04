"""The notice on names that never leave."""

from __future__ import annotations

import math

from pipeline.notices.outcome import NoticeOutcome, judged, not_checked
from schemas.notices import MIN_EXIT_RATE, MIN_EXIT_YEARS


def of_exits(names: int, last: int, mean: float, years: float) -> NoticeOutcome:
    """Judge whether as many names left as leave a real universe.

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
    probability = probability_of_so_few(exits, MIN_EXIT_RATE * mean * years)
    return judged(
        notice,
        probability,
        f"{exits} of {names} names left the universe in {years:.1f} years; a real one loses "
        f"{MIN_EXIT_RATE * mean * years:.0f} or more.",
        exits=exits,
        names=names,
        years=years,
    )


def probability_of_so_few(events: int, expected: float) -> float:
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

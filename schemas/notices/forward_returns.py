"""Notices on forward returns, compared with one another and with the fills and marks of the same names."""

from __future__ import annotations

from typing import Final

from schemas.notices.moves import CLIPPED_FROM, MIN_CLIPPED, MIN_MOVES
from schemas.notices.notice import MIN_CORRELATED_WEEKS, Notice
from schemas.notices.signal import MIN_OUTLYING_NAMES, MIN_PROVABLE_RETURNS, MIN_PROVEN_NAMES

MIN_NAME_SPANS: Final = 20
"""Minimum number of multi-week spans between two fills of a name for judging forward returns."""
UNPROVEN_BY_SKIPPING: Final = 2
"""Weeks that one skipped week leaves without proof: itself, and the one before, whose forward returns end in it."""
MIN_EXTREME_WEEKS: Final = 4
"""Minimum number of weeks for judging their highest and lowest forward returns."""

FORWARD_RETURN_NOTICES: Final = (
    Notice(
        "signal.chained_returns",
        "Forward returns do not compound to the price changes between fills of the same name, in weeks that no two fills prove.",
        0.01,
        "share of the spans of several weeks between two fills of a name over which its forward returns do not compound to the ratio of the mids, to "
        f"1e-6 a week; of {MIN_NAME_SPANS} spans or more of sampled names, without raw books",
        "an identity if each return begins where the last one ends; a split between two holdings may break it for single names",
        figure="contradicted_spans",
    ),
    Notice(
        "signal.unproven_weeks",
        "Fills prove forward returns in some weeks and none in others, whose returns may begin or end at other times.",
        0.05,
        f"share of the weeks with forward returns of scored names in which two fills prove none, if they are {UNPROVEN_BY_SKIPPING + 1} or more, not "
        f"counting weeks in which long_short has no target weight and those before them; of {MIN_CORRELATED_WEEKS} weeks or more and sampled names, of "
        f"which fills prove {MIN_PROVEN_NAMES} or more in a usual week, without raw books",
        "measured: 0 to 0.02 in runs that trade every week",
    ),
    Notice(
        "signal.returns_beyond_marks",
        "The score predicts the part of the forward returns that the marks of the same names do not contain, and that no book earned.",
        0.1,
        "mean over weeks of the rank correlation of the score with forward_return less the return of the marks from one rebalance date to the next; "
        "over sampled names with both, if significant",
        "forward returns and marks differ by a night at each end; measured: -0.03 to 0.05 in honest runs of a year or more",
        figure="beyond_marks_ic",
    ),
    Notice(
        "signal.return_size",
        "Forward returns are larger or smaller than the moves of the marks of the same names: they are scaled, or of another period.",
        1.3,
        f"median size of forward_return / that of the return of the marks from one rebalance date to the next; of {MIN_PROVABLE_RETURNS} returns or "
        "more of sampled names with both",
        "forward returns and marks differ by a night at each end; measured: 0.88 to 1 in honest runs",
        least=0.75,
    ),
    Notice(
        "signal.repeated_returns",
        "Many forward returns are equal: they were cut off at a bound.",
        5.0,
        f"number of occurrences of the most common forward_return beyond {CLIPPED_FROM:.0%} of either sign / that of the third most common, or / "
        f"{MIN_CLIPPED} if that is more; to a ten-millionth, of {MIN_MOVES:,} returns or more of sampled names",
        "two bounds make two values common; in returns that were only rounded, the third is as common; measured: 0.5 to 1 in honest runs",
    ),
    Notice(
        "signal.shared_extremes",
        "Several names share the highest or the lowest forward return of a week: returns were cut off at a bound of each week.",
        0.3,
        f"share of the weeks in which several names have the highest, or the lowest, forward_return other than 0; of {MIN_EXTREME_WEEKS} to 8 weeks "
        f"with {MIN_OUTLYING_NAMES} or more such returns",
        "measured: 0 in honest runs",
    ),
)

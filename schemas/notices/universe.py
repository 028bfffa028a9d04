"""Notices on the universe, the trials and the sealed figures."""

from __future__ import annotations

from typing import Final

from schemas.notices.market import MAX_LEFT_OUT
from schemas.notices.notice import MIN_CORRELATED_WEEKS, Notice
from schemas.notices.signal import MIN_RANKED_NAMES

MIN_EXIT_RATE: Final = 0.02
"""Minimum share of names that leave a real universe in a year."""
MIN_EXIT_YEARS: Final = 2.0
"""Minimum length of a run, in years, for judging exits."""
MIN_TWIN_WEEKS: Final = 4
"""Weeks in which two names must share a forward return to count as one company, even with different scores."""
MIN_UNSCORED: Final = 8
"""Minimum number of names that lack a score after a week with one for judging their returns."""
MAX_UNSCORED_WEEKS: Final = 8
"""Maximum weeks without a score after one with it whose returns are judged."""
UNSCORED_LOSSES: Final = 0.33
"""Threshold of the mean rank of the largest losses in these weeks, which several names of a week may share."""
FROZEN_SESSIONS: Final = 4
"""Number of sampled sessions over which an unchanged mark counts as frozen."""

UNIVERSE_NOTICES: Final = (
    Notice(
        "universe.exits",
        "Fewer names leave the universe than leave real ones: it may have been chosen from survivors.",
        0.05,
        f"probability of so few exits (Poisson) if {MIN_EXIT_RATE:.0%} of the names leave a year; over {MIN_EXIT_YEARS:g} years or more. A name has "
        "left if the last cross-section lacks it, or has it without a score and untradeable",
        "the S&P 500 lost 14 names or more (2.8%) in every year from 2006 to 2024, 4.8% on average; currencies and futures do not leave, so that runs "
        "over them get the notice without cause",
        "probability",
        below=True,
        figure="exits_probability",
    ),
    Notice(
        "universe.gaps",
        "Names lack a score or a return in single weeks: check whether these would have contradicted the signal.",
        0.02,
        "share of the cases with score and forward_return in the weeks before and after that lack one in the week itself; of sampled names over "
        f"{MIN_CORRELATED_WEEKS} weeks or more, without weeks in which most names lack one",
        "measured: 0 to 0.011 in honest runs, halts included",
        figure="gap_share",
    ),
    Notice(
        "universe.barred_names",
        "Names that could not be traded or were not scored would have lost, or stayed in the book and gained: they may have been barred once their "
        "returns were known.",
        0.2,
        "mean over the names with next_open_tradeable false, week by week, of the rank of forward_return against the side of the score, or on the side "
        f"of the position in long_short at the next close, from -1 to 1 within the week; of sampled names in weeks of {MIN_RANKED_NAMES} or more, if "
        f"significant. Or, if above {UNSCORED_LOSSES:g} and significant, over the names, {MIN_UNSCORED} or more, that lack a score after a week with one, of "
        "the rank against the side of the last score, or against a rise, of their forward_return that is furthest from the mean of its week, of up to "
        f"{MAX_UNSCORED_WEEKS} weeks until the next score; of names that lose their score in a week in which {MAX_LEFT_OUT:.0%} of the names or fewer do",
        "whether a name can be traded has nothing to do with its later return; measured: -0.16 to 0.11 in honest runs, simulated and on the S&P 500, "
        "0.21 to 0.28 if the worst name of the book is barred in every second week, 0.33 to 0.54 in every week; of names not scored, -0.28 to 0.28 in 240 "
        "honest runs, up to 0.34 in 2,400 whose names lack scores by chance or after large returns, 0.82 to 1 if they are left out before they fall, "
        "0.3 to 0.7 if they are for four or six weeks around a loss",
        figure="avoided_losses",
    ),
    Notice(
        "universe.undecided_names",
        "Books hold names that no decision covers: what they earn does not follow from a score.",
        0.0,
        "number of names that a book, other than a raw one, holds at a close, and that have no row in the decisions of any week",
        "the book of a signal holds what the signal scored; a future or a fund held as a hedge counts; measured: 0 in honest runs, simulated and on "
        "the S&P 500",
        "names",
    ),
    Notice(
        "universe.twins",
        "Names have the returns of another name: one company under two symbols counts twice.",
        0.01,
        "share of the names, in up to 8 weeks, whose score and forward_return equal those of another name of the week, or whose forward_return equals "
        f"that of one other name in {MIN_TWIN_WEEKS} of these weeks or more; without returns of 0",
        "two companies hardly ever agree to the last digit; measured: 0",
        figure="twin_share",
    ),
    Notice(
        "universe.frozen_marks",
        "Names are held to the end at a price that no longer changes: their delisting was never booked.",
        0.0,
        f"number of names whose mark equals that of the session before on the last {FROZEN_SESSIONS} or more of up to 32 sessions on which they are held",
        "measured: a mark is unchanged on one session in 100 to 250, so on four by chance in one of 10 million names",
        "names",
        figure="frozen_names",
    ),
    Notice(
        "trials.volatility",
        "A trial is far less volatile than the selected run: its returns may have been shrunk to flatter the deflated ratio.",
        0.25,
        "lowest standard deviation of the returns of a trial / that of long_short",
        "variants of one signal have similar risk; measured: 0.9 to 1.1 between half-lives",
        below=True,
        figure="trial_volatility",
    ),
    Notice(
        "figures.stated",
        "The run seals figures that none of its tables supports.",
        0.0,
        "number of sealed figures, overall and by period, that no sealed table determines, not counting those on the signal before smoothing if the "
        "run seals its decisions without that signal",
        "every figure of a complete seal follows from its tables; the signal before smoothing is optional",
        "figures",
        figure="stated_figures",
    ),
)

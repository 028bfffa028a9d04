"""Notices on the signal: its IC, and its weekly scores."""

from __future__ import annotations

from typing import Final

from schemas.notices.notice import (
    GRINOLD,
    MIN_CORRELATED_WEEKS,
    Notice,
)

CORRELATION_ERRORS: Final = 2.0
"""Standard errors (of Fisher's z) allowed for chance in the correlation of IC and book."""
NIGHTS_SHARE: Final = 0.18
"""Share of the variance of a week that lies in the nights at its two ends; measured on SPY from 2010 to 2024."""
CORRELATED_SHARE: Final = 0.7
"""Minimum correlation of IC and book, relative to the one expected for the share of names that the book holds."""
PROVEN_SHARE: Final = 1 / 7
"""Minimum share of proven forward returns, relative to the share of names that the book holds."""
PROVEN_BY_CHANCE: Final = 0.5
"""Minimum share of proven forward returns, relative to the one if other names, chosen at random, were filled every week."""
MIN_PROVABLE_RETURNS: Final = 200
"""Minimum number of forward returns for judging their proven share."""
MIN_TRADED_WEEKS: Final = 40
"""Minimum number of weeks, from the first traded one, for judging the skipped share."""
MAX_OPEN_WEEKS: Final = 2
"""Maximum number of weeks at the end of a run that may still be pending."""
MIN_RANKED_NAMES: Final = 16
"""Minimum number of names for comparing the order of two weeks: fewer may agree by chance."""
NEAR_COPY: Final = 0.95
"""Minimum rank correlation at which the forward returns of one week count as a copy of another's."""
COMMON_COMPONENTS: Final = 5
"""Number of principal components of the ranks of forward returns that weeks have in common, such as industries."""
NEAR_RESIDUAL_COPY: Final = 0.72
"""Minimum correlation, without these components, at which the forward returns of one week count as a copy of another's."""
MIN_RESIDUAL_NAMES: Final = 48
"""Minimum number of names for comparing two weeks without these components."""
STEADY_CORRELATION: Final = 0.4
"""Minimum median rank correlation of consecutive weeks' scores for calling a week reversed."""
FLIPPED_CORRELATION: Final = -0.5
"""Rank correlation with the previous week below which a week counts as reversed."""
NEIGHBOURS: Final = 4
"""Names of neighbouring scores whose order is compared with their returns; and the share, 1 / 4, of a side that lies next to its threshold."""
EXPLAINING_WEEKS: Final = 3
"""Number of earlier weeks whose returns explain a score."""
MAX_UNEXPLAINED_IC: Final = 0.12
"""Threshold for the part of the score that these do not explain, with the returns of held names, which are fewer."""
EXTREME_RANK: Final = 2.0
"""Rank of the returns of the highest and the lowest score, from -1 to 1, as a multiple of the rank correlation of all names."""
FADED_SHARE: Final = 0.03
"""Share of the scores that count as having moved most towards the middle of their week."""
MIN_PROVEN_NAMES: Final = 5
"""Minimum median number of sampled names whose forward returns fills prove in a week: with fewer, weeks without any are chance."""
MIN_PAUSES: Final = 5
"""Minimum number of pauses for judging what they avoided."""
MAX_DELAY_WEEKS: Final = 8
"""Number of weeks within which a score takes in a return, or may know it before."""
MIN_TAKEN_IN: Final = 0.2
"""Minimum median rank correlation of the changes of a score with earlier returns for judging single weeks."""
OPPOSED_CORRELATION: Final = -0.3
"""Rank correlation of the changes of a score with earlier returns, by the sign it usually has, below which these are opposed."""
MIN_SIZED_WEEKS: Final = 5
"""Minimum number of weeks, in the first third of a run, in which a name has a weight for judging its size."""
OUTLYING_DEVIATIONS: Final = 3.5
"""Deviations from the median (1.4826 x median absolute deviation) beyond which the IC of a week is an outlier."""
MIN_OUTLYING_WEEKS: Final = 40
"""Minimum number of weeks for counting outliers."""
MIN_SCORED_SHARE: Final = 0.9
"""Minimum share of the weeks in which a name has a score for comparing its means in parts of a run."""
KNOWN_AFTER: Final = (1 / 3, 1 / 2, 2 / 3)
"""Shares of a run after which its scores are compared with what names earn in the rest."""
MIN_OUTLYING_NAMES: Final = 20
"""Minimum number of names in a week for judging its IC."""
MIN_SPELLS: Final = 8
"""Minimum spells of one order of the ranking for judging how many earn."""
MIN_OUTLYING: Final = 3
"""Number of outlying weeks that chance no longer explains."""
MIN_COPIED_NAMES: Final = 5
"""Minimum number of names with a value for calling a week a copy of another."""
COPIED_SHARE: Final = 0.9
"""Share of a week's values that must equal another week's for the same names."""
PERSISTENT_SHARE: Final = 0.25
"""Median share of the values that stay from one week to the next above which a week is not a copy of the one before it."""
SLOW_SHARE: Final = 2 / 3
"""Share of the weeks that repeat the week before above which a score is one that changes by the month or less often: months have four weeks or five."""
DAYS_PER_WEEK: Final = 7
MIN_SPACED_DECISIONS: Final = 4
"""Minimum number of decisions for judging how frequent they are."""

SIGNAL_NOTICES: Final = (
    Notice(
        "signal.mean_ic",
        "The mean IC is higher than the best forecasters reach: check the score for look-ahead.",
        0.15,
        "absolute mean of the weekly ic, if significant",
        f"{GRINOLD}, ch. 11: 0.15 is world class, above 0.20 usually a faulty backtest",
    ),
    Notice(
        "signal.icir",
        "The IC is steadier than that of any known signal.",
        3.0,
        "absolute mean / sample standard deviation (ddof 1) of the weekly ic x sqrt(52), as `icir` of the API, if significantly above 1, an exceptional ratio",
        f"three times an exceptional information ratio; {GRINOLD}, ch. 5",
    ),
    Notice(
        "signal.newey_west_t",
        "The t-statistic of the mean IC is larger than that of any published predictor.",
        10.0,
        "absolute t of the mean weekly ic with Newey-West errors, as in nwt.ic",
        "Harvey, Liu and Zhu (2016), … and the Cross-Section of Expected Returns, Review of Financial Studies 29: a new factor needs a t of 3, and "
        "hardly any of some 300 reaches 10",
        "standard_errors",
    ),
    Notice(
        "signal.raw_mean_ic",
        "The mean IC of the signal before smoothing is higher than the best forecasters reach.",
        0.15,
        "absolute mean of the weekly raw_ic, if significant",
        "as for signal.mean_ic",
        raw=True,
    ),
    Notice(
        "signal.book_correlation",
        "The weekly IC does not follow what the long_short book earned in the week: the forward returns are not those of the book.",
        0.6,
        "rank correlation over weeks between ic and what long_short earned beyond the market: its return from the last close before the forward "
        "returns begin to that of the next decision, less the sum of its target weights x the mean forward_return of sampled names; over "
        f"{MIN_CORRELATED_WEEKS} weeks with positions or more. The threshold is {CORRELATED_SHARE:g} x sqrt(6 h) x (1 - h) if that is less, then "
        f"multiplied by sqrt(1 - v), and lowered by {CORRELATION_ERRORS:g} standard errors (Fisher's z); not checked if that leaves nothing above 0. h "
        "is half the share of the scored names that long_short holds (by the inverse of the Herfindahl index of its target weights), v is "
        f"{NIGHTS_SHARE:g} x the variance of what is deducted / that of the rest",
        "measured: 0.76 to 0.88 in runs of 40 names or more over two years that hold two fifths of them, -0.2 to 0.2 with shuffled forward returns; "
        "sqrt(6 h) x (1 - h) is the correlation of ranks with equal weights in the two tails",
        "correlation",
        below=True,
    ),
    Notice(
        "signal.forward_returns_proven",
        "Hardly any forward return can be compared with prices at which the run traded, so the IC is unproven.",
        0.05,
        f"share of the rows with a forward_return that the rule decisions.forward_return compared with fills; of {MIN_PROVABLE_RETURNS} rows or more, "
        "without fills of raw books. The threshold is a seventh of the share of the scored names that long_short holds (as in "
        "signal.book_correlation), or half the square of fills / rows, if either is less; the fills are those of the decisions of the book with most",
        "fills of random names prove the square of their share, and more where holdings persist; measured: 0.39 to 0.63 in runs that trade every week "
        "and hold two fifths of the names, 1.1 to 24 times the square in all runs",
        below=True,
    ),
    Notice(
        "signal.skipped_weeks",
        "The run skipped many weeks: check whether they would have lost money.",
        0.05,
        f"share of the weeks since the first traded one that have another status; of {MIN_TRADED_WEEKS} weeks or more, without up to {MAX_OPEN_WEEKS} "
        "pending ones at the end",
        "a universe of some hundred listed names can be traded every week; measured: 0 in runs on the S&P 500",
        figure="skipped_share",
    ),
    Notice(
        "signal.frequency",
        "Decisions are not weekly, but icir is annualised with 52 a year, and lags, horizons and half-lives in weeks count decisions.",
        10.0,
        f"median number of days from one decision to the next; of {MIN_SPACED_DECISIONS} decisions or more",
        "holidays move a weekly decision by a day or two; every other week is 14 days, a month 28 or more",
        "days",
        least=5.0,
        figure="days_between_decisions",
    ),
    Notice(
        "signal.irregular_weeks",
        "Some weeks are decided or filled on other days than usual, or filled at another hour: they may have been chosen by what they earned.",
        0.1,
        f"share of the weeks with an irregular decision or, if they are more, with irregular fills; of {MIN_TRADED_WEEKS} weeks or more in runs that "
        "decide once a week. A regular decision is on the usual weekday, the usual session of the week, counted from its first or its last one, or the "
        "usual number of sessions after the previous decision, whichever fits most weeks. With regular fills, forward returns begin the usual number "
        "of sessions after the decision, within 3 hours of the usual hour",
        "Hoffstein, Faber and Braun (2020), Rebalance Timing Luck, Journal of Index Investing 10: a fixed day is luck, a chosen one is not; measured: "
        "0 in honest runs, up to 0.06 in a year of New York's holidays if a weekday is moved by them, 0.17 to 0.63 with chosen days",
        figure="irregular_share",
    ),
    Notice(
        "signal.copied_scores",
        "Weeks repeat the scores of an earlier week: the signal was not recomputed, or weeks were inserted.",
        0.0,
        f"number of weeks in which at least {COPIED_SHARE:.0%} of 32 sampled names have the score of one earlier week, to a millionth, not counting "
        f"zeros and scores that several of them have in the week. The week before does not count if a score usually stays for {PERSISTENT_SHARE:.0%} of "
        "the names, or if more than two thirds of the weeks, but not all, repeat the week before",
        "prices never give two equal score vectors, but the largest move of a month often stays for two weeks, and grades from monthly or quarterly "
        "reports stay for three or twelve",
        "weeks",
        figure="copied_score_weeks",
    ),
    Notice(
        "signal.copied_forward_returns",
        "Weeks repeat the forward returns of an earlier week.",
        0.0,
        f"number of weeks in which at least {COPIED_SHARE:.0%} of 32 sampled names have the forward_return of one earlier week, to a millionth, not "
        f"counting zeros and returns that several of them have in the week; or whose forward returns have a rank correlation of {NEAR_COPY:g} or more "
        f"with those of an earlier week, over {MIN_RANKED_NAMES} sampled names or more, or of {NEAR_RESIDUAL_COPY:g} or more over {MIN_RESIDUAL_NAMES} or "
        f"more after the first {COMMON_COMPONENTS} principal components of {MIN_OUTLYING_WEEKS} weeks or more are removed",
        "no two weeks of a market are equal; measured: correlations of at most 0.84 in 480 honest runs, and 0.65 without the components, "
        "where they are 0.71 to 0.81 if weeks are repeated with noise of 0.8% a session",
        "weeks",
        figure="copied_return_weeks",
    ),
    Notice(
        "signal.skipped_losses",
        "The book would have lost in the weeks that it sat out: they may have been chosen by what they would have earned.",
        0.6,
        "mean over pauses, in which long_short has no target weight, of the rank of their ic among those of the weeks with one, from -1 (best) to 1 "
        f"(worst); {MIN_PAUSES} pauses or more, if significant. If they have no ic, it is the rank of what the weights before the pause would have "
        "earned between the fills that closed the positions and those that reopened them, among what the target weights earn in a week; over sampled "
        f"names, {MIN_PROVEN_NAMES} or more with both fills",
        "whether a week can be traded has nothing to do with its later returns; measured: -0.5 to 0.5 in runs on the S&P 500 and simulated ones that "
        "skip weeks at random, 0.8 to 0.98 if the worst 4 to 12% of the weeks are skipped",
        figure="avoided_losses",
    ),
    Notice(
        "signal.outlying_weeks",
        "The IC of some weeks is an outlier: check what was known when they were scored.",
        0.02,
        f"share of the weeks whose ic lies more than {OUTLYING_DEVIATIONS:g} x 1.4826 median absolute deviations from the median, if they are "
        f"{MIN_OUTLYING} or more; of {MIN_OUTLYING_WEEKS} weeks or more with at least {MIN_OUTLYING_NAMES} names each. Or the same share for the rank "
        "correlation of forward_return with the unexplained part of the score, as in signal.innovation_ic",
        "one in 2,000 of a normal distribution; measured: 0 to 0.01 in honest runs, 0.05 to 0.10 with look-ahead in one week in 20 or in 10, also if "
        "these are the weeks that lost most",
        figure="outlying_share",
    ),
    Notice(
        "signal.opposed_weeks",
        "In some weeks the score responds to returns with the opposite sign, and would have lost: it may have been computed from other returns.",
        0.5,
        f"mean, as in signal.flipped_weeks, over the opposed weeks; of {MIN_CORRELATED_WEEKS} weeks or more with 32 to 64 names, with reversed rankings "
        "turned back. The score's response to a week is the rank correlation of its forward_return with the change of the score's rank up to "
        f"{MAX_DELAY_WEEKS} weeks later, at the delay with the largest median, which must be {MIN_TAKEN_IN:g} or more. A week is opposed if its "
        f"response, by the sign of the median, is below {OPPOSED_CORRELATION:g}",
        "as for signal.flipped_weeks; measured: -0.67 to 0.48 in the same honest runs, but 0.61 in one, and 0.52 against a threshold of 0.71; 0.62 to "
        "0.98 if the prices of the worst 3 to 8% of the weeks move the other way",
        figure="opposed_gain",
    ),
    Notice(
        "signal.flipped_weeks",
        "A steady signal is reversed in the weeks in which it would have lost.",
        0.35,
        "mean over the weeks with a reversed ranking of the sign of what the score earned x the rank of its size among all weeks, from 0 to 1; over "
        f"sampled names and {MIN_OUTLYING} such weeks or more, if significant. What the score earned is the sum over names of forward_return x the rank "
        f"of the score, from -1 to 1. The ranking is reversed, or turns back, where scores have a rank correlation below {FLIPPED_CORRELATION:g} with "
        f"those of the week before, in runs where the median of that correlation is at least {STEADY_CORRELATION:g}",
        "a sign that follows the market, past returns or the calendar does not know the week to come; measured: -0.53 to 0.35 in 2,280 honest runs "
        "with such signs, simulated and on the S&P 500, and 0.61 against a threshold of 0.77; 0.77 to 0.99 if the worst 3 to 10% of the weeks are "
        "reversed, and above the threshold in 82 of 96 runs that reverse a tenth or a fifth of the weeks among those that lose",
        figure="flipped_gain",
    ),
    Notice(
        "signal.flipped_spells",
        "A steady signal is reversed, for weeks or months, whenever it would have lost.",
        0.75,
        f"mean sign of what the score earned, as in signal.flipped_weeks, from one reversal of the ranking to the next; of {MIN_SPELLS} such spells or "
        "more, if significant",
        "measured: -0.88 to 0.7 in the honest runs of signal.flipped_weeks; above the threshold in 41 of 48 runs that choose the sign for each month, "
        "and in 13 of 22 with enough spells that choose it for each quarter",
        figure="spells_earned",
    ),
    Notice(
        "signal.opposed_halves",
        "Names that score high in the first half of the run score low in the second: scores may have been standardised by name over the whole run, "
        "most of which was still to come, or have changed their sign.",
        -0.5,
        "correlation over names between the mean score, less the mean of the week, in the first half of the weeks and in the second; of "
        f"{MIN_RANKED_NAMES} sampled names or more with a score in {MIN_SCORED_SHARE:.0%} of the weeks in which half of the names have one, "
        f"{MIN_OUTLYING_WEEKS} or more; if significantly below the threshold (Fisher's z, for as many independent names as the participation ratio of "
        "the covariances of the scores)",
        "-1 if the mean of each name over the run is 0; -1/2 if a score is compared with its own value half a run before, and 0 or more otherwise; "
        "measured: -0.65 to 0.97 in honest runs, simulated and on the S&P 500, also if scores are compared with their own past; -1 to -0.9 if they are "
        "standardised by name over the run",
        "correlation",
        below=True,
        figure="halves_correlation",
    ),
    Notice(
        "signal.weight_ic",
        "Within each side of the book larger weights earned more than the score explains, or weights were more concentrated when that paid: sizes may "
        "have been chosen by returns, or names left out.",
        0.15,
        "mean over weeks and sides of long_short, or over weeks of long_only, of the rank correlation between the size of the target weight and "
        "forward_return in the side's favour, less that of the score, or of their partial rank correlation at a given score; over sampled names, if "
        "significant. A name with a stronger score than a held one, but not held itself, has size 0. Or the correlation over weeks and sides between "
        "the concentration (Herfindahl index) of the weights and the rank correlation of score and forward_return among the strongest names, as many "
        "as the side holds in its broadest weeks, less what the concentration of their scores explains",
        "as for signal.mean_ic; measured: -0.1 to 0.14 in honest runs, and 0.25 against a threshold of 0.36; 0.29 to 0.68 if the steepness of weights "
        "or the number of names is chosen by week; 0.37 to 0.46 at a given score if weights lean towards returns by a few percent",
    ),
    Notice(
        "signal.name_sizes",
        "Names that paid late in the run had larger weights early in it than their scores explain: sizes may have been tuned by name in hindsight.",
        0.05,
        "mean, over the weeks after the first third of the run and the sides of a book, of the rank correlation between forward_return in the side's "
        "favour and the early size of the name: the mean over the weeks of the first third of the rank of its weight less that of its score within the "
        f"side; over sampled names with a weight in {MIN_SIZED_WEEKS} weeks of the first third or more, if significant",
        "as for signal.weight_ic; measured: -0.08 to 0.07 in honest runs, simulated and on the S&P 500, against thresholds of 0.06 to 0.14; 0.1 to "
        "0.15 if sizes are tuned by name over the run, however little",
    ),
    Notice(
        "signal.innovation_ic",
        "The weekly change of the score predicts better than the best forecasters do: it may know some of the returns to come.",
        0.1,
        "absolute mean over weeks of the rank correlation between the change of the score's rank and the forward_return of the week, or of one up to "
        f"{MAX_DELAY_WEEKS} weeks later; over sampled names, if significant. Or, if above {MAX_UNEXPLAINED_IC:g}, of the rank correlation between the "
        "unexplained part of the score and the return of the name's mark from the close of the session after the rebalance date to the next such "
        "close, x the deviation of that part among all names / that among the held ones, if that is less than 1. The unexplained part is the residual "
        f"of the score's rank on its rank of the week before and the ranks of the forward returns of the {EXPLAINING_WEEKS} weeks before, by least "
        "squares",
        "as for signal.mean_ic; measured: up to 0.06 in honest runs, and 0.117 for the unexplained part (0.198 where the threshold was as high); 0.12 "
        "if a steady score knows 4% of the returns, 0.13 to 0.19 if a score that follows the returns of the last weeks knows 6%; with later weeks "
        "above the threshold in none of 2,271 honest runs, 0.1 to 0.4 in most runs whose steady score knows a tenth of the sum of the next four or "
        "eight weeks",
    ),
    Notice(
        "signal.known_names",
        "Changes of the score predict some names far better than others: the returns of these names may be known.",
        1.4,
        "standard deviation over names of atanh(c) x sqrt(weeks - 3), where c is the rank correlation over weeks between the change of the name's rank "
        f"by score and the rank of its forward_return; of {MIN_RANKED_NAMES} sampled names or more with {MIN_OUTLYING_WEEKS} weeks or more each; if "
        "significantly above 1",
        "1 by chance; measured: 0.76 to 1.18 in honest runs, and 1.39 against a threshold of 1.49, 1.5 to 2.7 if a steady score knows a third of the "
        "returns of one name in 10",
        figure="name_spread",
    ),
    Notice(
        "signal.known_means",
        "Early scores follow what names earn late in the run, beyond what their past explains: the mean return of the whole run, most of which was "
        "still to come, may be in the score.",
        0.4,
        "lowest, after a third, half and two thirds of the weeks, of the partial rank correlation over names between the mean rank of the score up to "
        "then and that of forward_return from then on, given that of forward_return up to then, the beta (as in book.net_timing), and the mean size of "
        f"forward_return less the mean of the week; of {MIN_RANKED_NAMES} sampled names or more with both in {MIN_SCORED_SHARE:.0%} of the weeks in "
        f"which half of the names have them, {MIN_OUTLYING_WEEKS} or more; if significantly above 0 (Fisher's z)",
        "no forecast explains a sixth of what names earn over years; measured: -0.65 to 0.4 in 3,267 honest runs, simulated and on the S&P 500, and "
        "0.44 to 0.65 in four whose scores are betas; above the threshold in 58% of 3,000 runs whose score leans by half of its own size towards names "
        "that rise over the run, and in most runs on prices, or on their changes over one or four weeks, standardised by name over the run",
        "correlation",
        figure="means_correlation",
    ),
    Notice(
        "signal.extremes",
        "The most extreme scores, or changes of score, are right more often than the score as a whole explains, or names lose as soon as their score "
        "has moved to the middle: some returns to come may be known.",
        0.12,
        "mean over weeks of half the difference between the ranks of forward_return, from -1 to 1 within the week, of the names with the highest and "
        f"the lowest score, or with the largest rise and fall of its rank since the week before, less {EXTREME_RANK:g} x the rank correlation of score, "
        f"or of its change, with forward_return; of sampled names in weeks of {MIN_RANKED_NAMES} or more, if significant. Or the mean rank of "
        f"forward_return against the side on which the explained part of the score (signal.innovation_ic) puts the name, over the {FADED_SHARE:.0%} of "
        "the ranks that moved most to the middle from there, less the size of their unexplained part x the least-squares slope on it among ranks that "
        "move away from the middle",
        f"the extremes of 64 names, 2.4 standard deviations from the mean, rank at {EXTREME_RANK:g} times the ic; measured: -0.25 to 0.16 in honest "
        "runs, against thresholds of 0.1 to 0.31, and above the threshold in 1 of 324 whose score stands out by news; 0.09 to 0.22 if 3% of the names "
        "are known and stand out, which raises the ratio by 0.9 to 2.5; where ranks move to the middle, above the threshold in 6 of 2,911 honest runs, "
        "by 0.04 at most, and in 87 of 100 whose score there avoids losses of more than 7% in the week",
        figure="extreme_excess",
    ),
    Notice(
        "signal.neighbours",
        "Among names of nearly the same score, those that earn more stand higher, or are those that the book holds: names may have been ordered or "
        "selected by their returns.",
        0.08,
        f"mean over weeks of the rank correlation of score and forward_return within groups of {NEIGHBOURS} names of neighbouring scores; or of the "
        "difference between the mean ranks of forward_return, from -1 to 1 in the side's favour, of the names just above and just below the cut-off of "
        f"a side of long_short, each 1 / {NEIGHBOURS} of the number that it holds; of sampled names, if significant",
        "a signal with an ic of 0.1 orders such names at 0.01; measured: -0.1 to 0.08 in honest runs, and 0.18 against a threshold of 0.24; 0.1 to 0.6 "
        "if names around the cut-off are ordered by their returns, or winners are kept in the book",
        figure="neighbours_ic",
    ),
)

"""Notices: figures of a run that deserve a second look. They refuse nothing.

A rule says what cannot be; a notice says what hardly ever is. Each has one figure and one threshold, and where that
comes from. A run that agrees with itself and was falsified all the same shows here, and so does an honest run that is
unusual: then the notice is true of it, and the reader decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PASS: Final = "pass"  # noqa: S105 - an outcome, no password
NOTICE: Final = "notice"
NOT_CHECKED: Final = "not_checked"
OUTCOMES: Final = (PASS, NOTICE, NOT_CHECKED)
"""What a rule or a notice may come to."""

CHANCE: Final = 3.0
"""Standard errors from zero that a mean has to lie before its size is noticed: chance in a short run is not."""
MIN_CORRELATED_WEEKS: Final = 20
"""Weeks from which the correlation of the weekly IC with the book's returns is judged."""
CORRELATION_ERRORS: Final = 2.0
"""Standard errors (of Fisher's z) by which that correlation may fall short by chance."""
MIN_PROVABLE_RETURNS: Final = 200
"""Forward returns from which it is judged how many of them fills prove."""
MIN_TRADED_WEEKS: Final = 40
"""Weeks since the first traded one from which it is judged how many were skipped."""
BASIS_POINTS: Final = 10_000
"""Of one."""
MIN_FILLS: Final = 50
"""Fills with the prices they are compared with from which fills are judged."""
NEARLY_FREE: Final = 0.05
"""Basis points of its notional below which a fill cost nothing: a tenth of the least that a book may pay on average."""
NEARLY_UNBORROWED: Final = 0.0005
"""Rate a year below which a short position cost nothing to borrow: the least that a book may pay on average."""
LAST_DEVIATIONS: Final = 4.0
"""Standard deviations of the daily earnings beyond which those of the last session are looked at."""
MIN_TWIN_WEEKS: Final = 4
"""Weeks in which two names must have one forward return to be one company, whatever their scores are."""
MAX_OPEN_WEEKS: Final = 2
"""Pending weeks at the end of a run that may not be over."""
MIN_EXIT_RATE: Final = 0.02
"""Share of the names of a real universe that leaves it in a year, at least."""
MIN_EXIT_YEARS: Final = 2.0
"""Years from which names should have left."""
MIN_RANKED_NAMES: Final = 16
"""Names from which the order of two weeks is compared: fewer may stand in one order by chance."""
NEAR_COPY: Final = 0.95
"""Rank correlation of two weeks' forward returns from which one counts as a copy of the other."""
STEADY_CORRELATION: Final = 0.4
"""Rank correlation of the scores of neighbouring weeks, in the median, from which a week may be turned round."""
FLIPPED_CORRELATION: Final = -0.5
"""Rank correlation with the week before below which a week is turned round."""
MIN_NAME_SPANS: Final = 20
"""Spans of several weeks between two fills of a name from which forward returns are judged by them."""
OUTLYING_DEVIATIONS: Final = 3.5
"""Deviations from the median (1.4826 times the median absolute one) beyond which the IC of a week is outlying."""
MIN_OUTLYING_WEEKS: Final = 40
"""Weeks from which outlying ones are counted."""
MIN_OUTLYING_NAMES: Final = 20
"""Names of a week whose IC is looked at."""
MIN_EXPOSURE_VARIATION: Final = 0.1
"""Standard deviation of the weekly exposure over its mean from which it is judged whether its size was lucky."""
FROZEN_SESSIONS: Final = 4
"""Sessions, of those looked at, on which the mark of a name must not have changed to be frozen."""
MIN_OUTLYING: Final = 3
"""Outlying weeks that may be chance no more."""
MIN_ADJUSTING_FILLS: Final = 20
"""Fills between two decisions from which they are judged by themselves."""
MIN_COPIED_NAMES: Final = 5
"""Names with a value that a week must have to be a copy of another."""
COPIED_SHARE: Final = 0.9
"""Share of a week's values that another week must have for the same names."""
SESSIONS_ALLOWED: Final = 6
"""Sessions by which holidays may lie unevenly in a part of a year."""
MIN_OTHER_RUNS: Final = 3
"""Other runs that must agree with each other to contradict one."""
TOO_FEW_OTHERS: Final = (
    f"fewer than {MIN_OTHER_RUNS} other runs of the catalogue hold the same names and sessions"
)
"""Why a run is not compared with others; also shown to a reader who may read none of those it was compared with."""
MIN_SHARED_CELLS: Final = 20
"""Names and sessions that must be shared with them."""
MIN_NAME_CELLS: Final = 8
"""Sessions of one name that must be shared with them."""
CELL_TOLERANCE: Final = 0.002
"""Difference of returns that rounded prices and other vendors explain."""
MAX_OTHER_RUNS: Final = 32
"""Other runs of the catalogue that one build compares with."""

_GRINOLD: Final = "Grinold and Kahn (2000), Active Portfolio Management, 2nd ed."


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that is noticed.

    Attributes
    ----------
    id
        ``group.name``, stable.
    meaning
        What it says of a run that it is true of, and why that is worth a look.
    figure
        Name of the figure that is compared.
    threshold
        What it is compared with; the upper one where a figure shall lie between two.
    unit
        Of both.
    definition
        How the figure is computed.
    source
        Where the threshold comes from.
    below
        Whether the notice is given below the threshold rather than above it.
    least
        The lower threshold where a figure shall lie between two.
    raw
        Whether it is made of raw columns or raw books, so that keys without raw-book access do not see it.
    """

    id: str
    meaning: str
    figure: str
    threshold: float
    unit: str
    definition: str
    source: str
    below: bool = False
    least: float | None = None
    raw: bool = False


_ALL: Final = (
    Notice(
        "signal.mean_ic",
        "The score predicts better than the best forecasters do: look for returns that were known when it was made.",
        "mean_ic",
        0.15,
        "ratio",
        "absolute mean of the weekly ic, where it lies three standard errors from zero",
        f"{_GRINOLD}, ch. 11: 0.15 is world class, more than 0.20 usually a faulty backtest",
    ),
    Notice(
        "signal.icir",
        "The score is right more steadily than any known signal.",
        "icir",
        3.0,
        "ratio",
        "absolute mean / sample standard deviation (ddof 1) of the weekly ic x sqrt(52), annualised as the interface "
        "defines icir, where the mean lies three standard errors from zero",
        f"three times what is called exceptional of an information ratio; {_GRINOLD}, ch. 5",
    ),
    Notice(
        "signal.newey_west_t",
        "The mean IC lies further from zero than that of any published predictor.",
        "newey_west_t",
        10.0,
        "standard_errors",
        "absolute t of the mean weekly ic with Newey-West errors, as in nwt.ic",
        "Harvey, Liu and Zhu (2016), and the Cross-Section of Expected Returns, Review of Financial Studies 29: 3 is required of a "
        "new factor, and hardly one of some 300 reaches 10",
    ),
    Notice(
        "signal.raw_mean_ic",
        "The signal before smoothing predicts better than the best forecasters do, whatever the delivered score does.",
        "raw_mean_ic",
        0.15,
        "ratio",
        "absolute mean of the weekly raw_ic, where it lies three standard errors from zero",
        "as of signal.mean_ic",
        raw=True,
    ),
    Notice(
        "signal.book_correlation",
        "The weekly IC has nothing to do with what the long_short book earned in the week: the returns that the score "
        "is measured by are not those that the book was paid.",
        "book_correlation",
        0.6,
        "correlation",
        "Pearson correlation over weeks of ic and the long_short book's return from the close of the decision to the close "
        f"of the next; noticed where two standard errors of Fisher's z above it, over {MIN_CORRELATED_WEEKS} weeks or more, do not "
        "reach the threshold",
        "measured: 0.76 to 0.88 in runs of 40 names or more over two years, -0.2 to 0.2 where forward returns were dealt out anew",
        below=True,
    ),
    Notice(
        "signal.delayed_ic",
        "A score one week old predicts next to nothing: the signal knows the very week it is measured by.",
        "delayed_ic",
        0.1,
        "ratio",
        "mean ic of the score of the week before / mean ic, where the latter lies three standard errors from zero",
        "Grinold and Kahn (2000), ch. 13: the value of information decays over its half-life; a tenth in a week is one of two days",
        below=True,
    ),
    Notice(
        "signal.forward_returns_proven",
        "Hardly any forward return can be compared with prices that the run traded at: its IC rests on its own word.",
        "forward_returns_proven",
        0.05,
        "ratio",
        f"rows whose forward_return the rule decisions.forward_return compared with fills / rows with a forward_return, of "
        f"{MIN_PROVABLE_RETURNS} rows or more; fills of raw books aside",
        "measured: 0.39 to 0.63 in runs that trade every week",
        below=True,
    ),
    Notice(
        "signal.skipped_weeks",
        "The run did not trade many of its weeks: see whether it would have lost in them.",
        "skipped_share",
        0.05,
        "ratio",
        f"weeks with another status than traded / weeks since the first traded one, of {MIN_TRADED_WEEKS} or more; up to {MAX_OPEN_WEEKS} "
        "pending ones at the end aside",
        "a universe of some hundred listed names can be traded in every week; measured: 0 in runs on the S&P 500",
    ),
    Notice(
        "signal.copied_scores",
        "Weeks have the scores of an earlier week: the signal was not computed anew, or weeks were added.",
        "copied_score_weeks",
        0.0,
        "weeks",
        f"weeks of which at least {COPIED_SHARE:.0%} of up to 32 names have the score of one earlier week, to a millionth; zeros aside",
        "two weeks of prices give no two equal vectors of scores",
    ),
    Notice(
        "signal.copied_forward_returns",
        "Weeks have the forward returns of an earlier week.",
        "copied_return_weeks",
        0.0,
        "weeks",
        f"weeks of which at least {COPIED_SHARE:.0%} of up to 32 names have the forward_return of one earlier week, to a millionth, zeros "
        f"aside; or that have a rank correlation of {NEAR_COPY:g} or more with one, over {MIN_RANKED_NAMES} names or more",
        "no two weeks of a market are equal; measured: correlations of 0.76 at most",
    ),
    Notice(
        "signal.outlying_weeks",
        "Some weeks have an IC that lies far from that of all others: see what was known when they were scored.",
        "outlying_share",
        0.02,
        "ratio",
        f"weeks whose ic lies more than {OUTLYING_DEVIATIONS:g} x 1.4826 median absolute deviations from the median / weeks, of "
        f"{MIN_OUTLYING_WEEKS} or more with {MIN_OUTLYING_NAMES} names each",
        "one in 2,000 of a normal distribution; measured: 0 to 0.01 in honest runs, 0.05 to 0.10 where a week in 20 or in 10 was scored "
        "with knowledge of its returns",
    ),
    Notice(
        "signal.flipped_weeks",
        "The order of the scores is turned round from one week to the next, in a signal that is steady otherwise.",
        "flipped_weeks",
        0.0,
        "weeks",
        f"times that scores of neighbouring weeks have a rank correlation below {FLIPPED_CORRELATION:g}, over up to 32 names, where its "
        f"median is {STEADY_CORRELATION:g} or more",
        "measured: the lowest correlation is -0.2 to 0.98 in honest runs with such a median",
    ),
    Notice(
        "signal.weight_ic",
        "Within each side of the book the larger weights earned more, beyond what the score knows: sizes may have been chosen by returns, "
        "or names passed over.",
        "weight_ic",
        0.15,
        "ratio",
        "mean rank correlation, week by week and side by side of long_short, of the size of the target weight with forward_return in the "
        "side's favour, less that of the score, over up to 64 names, where it lies three standard errors from zero; a name with a "
        "stronger score than one that is held has the size 0 where it is not held itself",
        "as of signal.mean_ic; measured: -0.07 to 0.05 in honest runs, whose weights follow their scores",
    ),
    Notice(
        "signal.chained_returns",
        "Forward returns do not compound to the price changes between the fills of a name, in weeks of which no two fills prove the return.",
        "contradicted_spans",
        0.01,
        "ratio",
        f"spans of several weeks between two fills of a name over which its forward returns do not compound to the ratio of the mids, to "
        f"1e-6 a week / all such spans, of {MIN_NAME_SPANS} or more, of up to 64 names; raw books aside",
        "an identity where each return begins as the one before ends; a split between two holdings may break it for single names",
    ),
    Notice(
        "signal.unproven_weeks",
        "In some weeks fills prove no forward return, although they do in others: the returns may begin or end at instants of their own.",
        "unproven_weeks",
        0.05,
        "ratio",
        f"weeks with forward returns of which two fills prove none / weeks with forward returns, of {MIN_CORRELATED_WEEKS} or more, of up "
        "to 64 names; raw books aside",
        "measured: 0 to 0.02 in runs that trade every week",
    ),
    Notice(
        "signal.returns_beyond_marks",
        "The score predicts what forward returns have beyond the marks of the same names, which no book earned.",
        "beyond_marks_ic",
        0.1,
        "ratio",
        "mean weekly rank correlation of the score with forward_return less the return of the marks from one rebalance date to the next, "
        "over up to 64 names with both, where it lies three standard errors from zero",
        "measured: -0.03 to 0.05 in honest runs of a year or more; what differs is a night at each end",
    ),
    Notice(
        "book.sharpe",
        "The book earns more for its risk than any fund has over years.",
        "information_ratio",
        4.0,
        "ratio",
        "highest information_ratio of a book, annualised with sqrt(252), where it lies three standard errors from zero",
        f"four times what is called exceptional; {_GRINOLD}, ch. 5",
    ),
    Notice(
        "book.drawdown",
        "The book hardly ever loses.",
        "max_drawdown_pct",
        1.0,
        "percentage_points",
        "lowest max_drawdown_pct of a book that held positions for 126 sessions or more",
        "Magdon-Ismail and Atiya (2004), Maximum Drawdown, Risk 17: with a volatility of 5 % a year and a Sharpe ratio of 1 "
        "some 4 % are to be expected within a year",
        below=True,
    ),
    Notice(
        "book.leverage",
        "The book holds more for its equity than most lenders allow.",
        "leverage",
        2.5,
        "ratio",
        "highest 90th percentile of gross_notional / ending_equity of a book, over sessions that end with equity above 0",
        "Federal Reserve, Regulation T (12 CFR 220): positions of at most twice the equity; measured: 2.0 to 2.3 in dollar-neutral "
        "runs",
    ),
    Notice(
        "book.execution_cost",
        "Trading costs next to nothing.",
        "execution_cost_bp",
        0.5,
        "basis_points",
        "lowest sum of execution_cost / sum of turnover_notional of a book, x 10,000",
        "Frazzini, Israel and Moskowitz (2018), Trading Costs: several basis points for a large institution in large stocks",
        below=True,
    ),
    Notice(
        "book.borrow",
        "Short positions cost nothing to borrow, or pay.",
        "borrow_rate",
        0.0005,
        "per_year",
        "lowest sum of borrow_cashflow / sum of the short notional at the closes, x -252, of a book with short positions",
        "D'Avolio (2002), The Market for Borrowing Stock, Journal of Financial Economics 66: 0.25 % a year on average, 0.17 % for "
        "stocks that are easy to borrow",
        below=True,
    ),
    Notice(
        "book.carry",
        "Much of what the book was paid is interest on cash.",
        "carry_share",
        0.05,
        "ratio",
        "highest absolute sum of cash_carry / sum of the absolute daily market_pnl of a book",
        "a dollar-neutral book with a volatility of 10 % a year reaches it at a rate of 6 %",
    ),
    Notice(
        "book.cash_adjustment",
        "Profit comes from cash that no fill and no price explains; dividends are such cash.",
        "cash_adjustment_share",
        0.05,
        "ratio",
        "highest absolute sum of cash_adjustment / absolute profit of a book over the run",
        "a twentieth of the profit is more than an omission",
    ),
    Notice(
        "book.rounding",
        "Profit comes from rounding.",
        "rounding_share",
        0.05,
        "ratio",
        "highest absolute sum of rounding_adjustment / absolute profit of a book over the run",
        "a twentieth of the profit is more than rounding",
    ),
    Notice(
        "book.timing",
        "The book was large in the weeks that paid: its size may have been chosen by their returns.",
        "timing",
        0.3,
        "correlation",
        "Pearson correlation over weeks of the exposure of long_short at the first close after the decision with the return per exposure "
        f"from there to the next decision, where it lies three standard errors from zero and exposures vary by {MIN_EXPOSURE_VARIATION:.0%} or more",
        "Henriksson (1984), Market Timing and Mutual Fund Performance, Journal of Business 57: hardly any fund can time",
    ),
    Notice(
        "book.autocorrelation",
        "Returns go on from day to day: the marks are smoother than prices, so that risk is understated.",
        "autocorrelation",
        0.25,
        "correlation",
        "highest rank correlation of a book's daily returns with those of the day before, where it lies three standard errors from zero",
        "Getmansky, Lo and Makarov (2004), An Econometric Model of Serial Correlation and Illiquidity in Hedge Fund Returns, Journal of "
        "Financial Economics 74; measured: -0.29 to 0.16 in honest runs",
    ),
    Notice(
        "book.flat_sessions",
        "The book earned exactly nothing on prices in some sessions: days on which no market was open, or days that were taken out.",
        "flat_share",
        0.01,
        "ratio",
        "highest share of the sessions of a book with positions in which market_pnl is 0",
        "measured: 0 to 0.004 in honest runs",
    ),
    Notice(
        "book.last_session",
        "Much of the profit was made at the last close, at which nothing is sold any more.",
        "last_session_share",
        0.1,
        "ratio",
        f"highest market_pnl of the last session / absolute profit of a book, where it is {LAST_DEVIATIONS:g} standard deviations of a "
        "session's",
        "Carhart, Kaniel, Musto and Reed (2002), Leaning for the Tape, Journal of Finance 57: closes at the end of a period are marked up",
    ),
    Notice(
        "book.unborrowed",
        "Some short positions cost nothing to borrow.",
        "unborrowed_share",
        0.1,
        "ratio",
        "highest share of the short positions of a book, name by name on up to 32 sessions, whose borrow_cashflow x -252 is below "
        f"{NEARLY_UNBORROWED:.2%} of their notional at the close",
        "as of book.borrow: what is easy to borrow costs something too",
    ),
    Notice(
        "book.share_adjustment",
        "Profit comes from names whose shares changed without a fill: a split changes the price as well, and earns nothing.",
        "share_adjustment_share",
        0.05,
        "ratio",
        "highest absolute sum of market_pnl on name-days with a quantity_adjustment / absolute profit of a book over the run, where it lies "
        "three standard errors from zero",
        "as of book.cash_adjustment; shares of a name that was spun off count, as the parent falls on a name-day of its own",
    ),
    Notice(
        "book.sessions",
        "The ledger has more or fewer sessions than an exchange, so that figures annualised with 252 are not those of a year.",
        "sessions_per_year",
        262.0,
        "per_year",
        f"sessions less one / years from the first to the last; {SESSIONS_ALLOWED} sessions are allowed for holidays",
        "exchanges have 240 (Shanghai) to 261 weekdays less holidays a year; New York 250 to 253",
        least=240.0,
    ),
    Notice(
        "book.risk_free_rate",
        "The rate at which cash earns was hardly ever paid on a major currency.",
        "risk_free_rate",
        0.15,
        "per_year",
        "mean risk_free_return of a book x 252, of the book in which it lies furthest outside",
        "Federal Reserve, 3-month Treasury bill: above 15 % only in months of 1981, below 10 % since 1985; Swiss National Bank: never "
        "below -0.75 %",
        least=-0.01,
    ),
    Notice(
        "fills.better_than_marks",
        "Fills are better than the closes around them: bought below and sold above both.",
        "better_share",
        0.2,
        "ratio",
        "share of fills at a mid better than the close before and the close of the day, less the share at a mid worse than both; of "
        "up to 10,000 fills",
        "measured: -0.03 to 0.09 in honest runs, 0.2 to 0.3 with mids a quarter of a percent better, 0.9 with 2 %",
    ),
    Notice(
        "fills.price_improvement",
        "Fills are better on average than the market around them: the mids are not those that were quoted.",
        "price_improvement",
        10.0,
        "basis_points",
        "mean over fills of side x (close before - mid) / mid, or of side x (close of the day - mid) / mid where that is less, x 10,000, "
        f"where it lies three standard errors from zero; of up to 10,000 fills, or of the {MIN_ADJUSTING_FILLS} or more among them that "
        "adjust a book between decisions",
        "measured: -14 to 7 in honest runs, on the S&P 500 and simulated; with mids 0.2 % better about 15",
    ),
    Notice(
        "fills.decision_close",
        "Fills are at the close that the decision was made on, which was over by then.",
        "decision_close_share",
        0.1,
        "ratio",
        "share of fills whose mid equals the close of the decision's day; of up to 10,000 fills",
        "measured: 0.01 to 0.05 of the opens of large US stocks equal the close before",
    ),
    Notice(
        "fills.stale",
        "Fills are as far from the close before them as from the one before that: the mids are older than their time stamps.",
        "staleness",
        0.8,
        "ratio",
        "mean distance of a mid from the close before, over that from the close of the session before that, of up to 10,000 fills",
        "measured: 0.31 to 0.47 in honest runs, 1 and more with the opens of the day before",
    ),
    Notice(
        "fills.without_cost",
        "Some fills of a book cost nothing, or next to nothing, while others do.",
        "costless_share",
        0.05,
        "ratio",
        f"highest share of a book's fills with an execution_cost below {NEARLY_FREE:g} bp of their notional, of up to 10,000 fills; "
        "settlements aside",
        "every fill pays some of the spread",
    ),
    Notice(
        "universe.exits",
        "Fewer names leave the universe than leave real ones: it may have been chosen from those that survived.",
        "exits_probability",
        0.05,
        "probability",
        f"probability of so few exits (Poisson) where {MIN_EXIT_RATE:.0%} of the names leave a year, over {MIN_EXIT_YEARS:g} years "
        "or more; a name left when the last cross-section lacks it",
        "the S&P 500 lost 14 names or more (2.8 %) in every year from 2006 to 2024, 4.8 % on average",
        below=True,
    ),
    Notice(
        "universe.gaps",
        "Names lack their score or their return in single weeks: see whether these would have spoken against the signal.",
        "gap_share",
        0.02,
        "ratio",
        f"cases in which a name lacks score or forward_return in a week and has both in the weeks before and after / all cases with both, "
        f"of up to 64 names, over {MIN_CORRELATED_WEEKS} weeks or more; weeks in which most names lack one aside",
        "measured: 0 to 0.011 in honest runs, halts included",
    ),
    Notice(
        "universe.twins",
        "Names have the returns of another name: one company under two symbols counts twice.",
        "twin_share",
        0.01,
        "ratio",
        "share of the names, in up to 8 weeks, whose score and forward_return another name of the week has as well, or whose "
        f"forward_return one other name has in {MIN_TWIN_WEEKS} of these weeks or more; returns of 0 aside",
        "two companies hardly ever agree to the last digit; measured: 0",
    ),
    Notice(
        "universe.frozen_marks",
        "Names are held to the end at a price that changes no more: what became of them was never booked.",
        "frozen_names",
        0.0,
        "names",
        f"names whose mark is exactly that of the session before on the last {FROZEN_SESSIONS} or more of up to 32 sessions on which they "
        "are held",
        "measured: a mark is unchanged on one session in 100 to 250, so on four by chance in one of 10 million names",
    ),
    Notice(
        "trials.volatility",
        "A trial moves much less than the run that was picked from it: its returns may have been shrunk to flatter the deflated ratio.",
        "trial_volatility",
        0.25,
        "ratio",
        "lowest standard deviation of the returns of a trial / that of long_short",
        "variants of one signal have about one risk; measured: 0.9 to 1.1 between half-lives",
        below=True,
    ),
    Notice(
        "figures.stated",
        "The run seals figures that none of its tables supports: they are its own word.",
        "stated_figures",
        0.0,
        "figures",
        "number of sealed figures, overall and by period, that no sealed table determines",
        "every figure of a complete seal follows from its tables",
    ),
    Notice(
        "catalogue.prices",
        "Other runs have other prices for the same names and sessions.",
        "contradicted_prices",
        0.05,
        "ratio",
        "share of shared names and sessions whose return from close to close, or to the mid of a fill, differs by more than "
        f"{CELL_TOLERANCE:g} from the median of at least {MIN_OTHER_RUNS} other runs, most of which agree",
        "splits and dividends that are adjusted for in another way concern one session in 50",
    ),
    Notice(
        "catalogue.one_name",
        "Other runs have other prices of one name in most sessions, whatever its other names say.",
        "contradicted_prices_of_a_name",
        0.5,
        "ratio",
        f"largest share, of the names with {MIN_NAME_CELLS} shared sessions or more, of returns that other runs contradict, as in "
        "catalogue.prices",
        "another adjustment for dividends or splits concerns some sessions of a name, a forged price or another company most",
    ),
    Notice(
        "catalogue.forward_returns",
        "Other runs have other forward returns for the same names and weeks.",
        "contradicted_forward_returns",
        0.05,
        "ratio",
        "share of shared names and weeks whose forward_return differs by more than "
        f"{CELL_TOLERANCE:g} from the median of at least {MIN_OTHER_RUNS} other runs, most of which agree",
        "as of prices",
    ),
    Notice(
        "history.restated",
        "The seal says other things of weeks than an earlier seal of the alpha said: its past was made anew.",
        "restated_weeks",
        0.0,
        "weeks",
        "most weeks whose scores, targets, forward returns or fills an earlier seal had otherwise, of any earlier seal; the last one or "
        "two weeks, which were not over, aside",
        "what a live signal said does not change; corrected data and another method do it",
    ),
)

NOTICES: Final[dict[str, Notice]] = {notice.id: notice for notice in _ALL}
"""Notice id -> declaration, in the order in which they are recorded."""

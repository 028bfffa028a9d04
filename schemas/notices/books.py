"""Notices on books: their ledgers, positions and fills."""

from __future__ import annotations

from typing import Final

import numpy as np

from schemas.notices.notice import (
    CHANCE,
    GRINOLD,
    MIN_CORRELATED_WEEKS,
    Notice,
)
from schemas.notices.signal import MIN_COPIED_NAMES

MIN_FILLS: Final = 50
"""Minimum number of fills with comparable prices for a judgement."""
LARGEST_GAPS: Final = {0.1: 0.42, 0.02: 0.6}
"""Share of the fills that are furthest from the close of their decision -> threshold of those better than it less those worse."""
MIN_ADJUSTING_FILLS: Final = 20
"""Minimum number of fills between decisions for judging these separately."""
NEARLY_FREE: Final = 0.05
"""Cost below which a fill counts as free, in basis points of its notional: a tenth of the threshold for a book's average."""
NEARLY_UNBORROWED: Final = 0.0005
"""Annual borrow rate below which a short position counts as free: the threshold for a book's average."""
MIN_TAX: Final = 5.0
"""Difference between purchases and sales, in basis points, that a tax on one of them explains."""
MIN_EXPOSURE_VARIATION: Final = 0.1
"""Minimum coefficient of variation of the weekly exposure for judging its timing."""
MIN_NET_VARIATION: Final = 0.01
"""Minimum standard deviation of the net target weight, relative to the gross one, for judging its timing."""
TIMED_PERIODS: Final = {"month": 1, "quarter": 3}
"""Calendar periods, in months, for which a size may have been chosen."""
MAX_PERIOD_TIMING: Final = 0.5
"""Correlation of the size at the first decision of a period with the return of the period that sizes by past risk may have: 0.44 over 13
years of momentum on the S&P 500 that is sized by the volatility of the market."""
MIN_PERIODS: Final = 10
"""Minimum number of periods for judging it: the correlation of fewer lies within three standard errors of zero in any order."""
LAST_DEVIATIONS: Final = 4.0
"""Minimum earnings of the last session for a judgement, in standard deviations of daily earnings."""
MIN_RECEIPTS: Final = 20
"""Minimum number of cash adjustments in a book's favour, such as dividends on long positions, for a judgement."""
MAX_YIELD: Final = 0.05
"""Annual yield of dividends that large stocks may pay on the net value of a book."""
MAX_CASH_SIZE: Final = 0.25
"""Maximum sum of cash adjustments without sign, as a share of the absolute daily market_pnl: dividends are a tenth of it or less."""
MAX_INTEREST: Final = 0.1
"""Annual rate of interest that an invested book may earn on its cash, which is half the gross notional if it is dollar-neutral: Treasury
bills have paid less since 1985."""
MIN_SHORT_SHARE: Final = 0.2
"""Minimum short notional, as a share of the long notional, at which short positions must pay cash too."""
FLAT: Final = 1e-9
"""Profit and loss on prices below which a session is flat, as a share of the positions: adjusted prices that stay differ in their last digits."""
FLAT_BY_CHANCE: Final = 2
"""Sessions in which most names keep their mark that single days without prices explain."""
LOWEST_RATE: Final = 0.0001
"""Rate of a year below which no half year of Treasury bills was paid, for runs whose rate is 0 in every session."""
ZERO_RATES: Final = tuple(
    (np.datetime64(first), np.datetime64(last))
    for first, last in (("2008-12-01", "2016-01-31"), ("2020-04-01", "2022-03-31"))
)
"""First and last days of the times in which the daily rates of French's data library are 0 for years, rounded to a thousandth of a percent."""
SESSIONS_ALLOWED: Final = 6
"""Sessions allowed for the uneven spread of holidays over part of a year."""

_ZERO_TIMES: Final = " or ".join(f"{first} to {last}" for first, last in ZERO_RATES)
_RELATIVE_TO_PROFIT: Final = "/ absolute profit of a book over the run"

BOOK_NOTICES: Final = (
    Notice(
        "book.sharpe",
        "The Sharpe ratio of the book is higher than that of any fund over years.",
        4.0,
        "highest information_ratio of a book with positions, annualised with sqrt(252), if significantly above 1, an exceptional ratio",
        f"four times an exceptional information ratio; {GRINOLD}, ch. 5",
        figure="information_ratio",
    ),
    Notice(
        "book.drawdown",
        "The book has almost no drawdown.",
        1.0,
        "lowest max_drawdown_pct of a book that held positions for 126 sessions or more",
        "Magdon-Ismail and Atiya (2004), Maximum Drawdown, Risk 17: some 4% are to be expected within a year at a volatility of 5% a year and a Sharpe "
        "ratio of 1",
        "percentage_points",
        below=True,
        figure="max_drawdown_pct",
    ),
    Notice(
        "book.leverage",
        "The book is more levered than most lenders allow.",
        2.5,
        "highest 90th percentile of gross_notional / ending_equity of a book, over sessions that end with equity above 0",
        "Federal Reserve, Regulation T (12 CFR 220): positions of at most twice the equity; measured: 2.0 to 2.3 in dollar-neutral runs",
    ),
    Notice(
        "book.target_size",
        "Target weights are larger or smaller than the book that follows them: they are in another unit, or were scaled afterwards.",
        1.25,
        "median over weeks of the sum of absolute long_short_target_weight / the median of the gross exposure of long_short (gross_notional / "
        f"ending_equity) at the close after the decision; over {MIN_CORRELATED_WEEKS} weeks with both or more",
        "the rule decisions.target allows smaller positions in weeks with untradeable names; measured: 0.99 to 1.01 in honest runs",
        least=0.8,
    ),
    Notice(
        "book.tilt",
        "Positions are larger than their target weights where they pay: the book deviates from its decisions in hindsight.",
        0.15,
        "mean over weeks and both sides of long_short of the rank correlation between position / target weight at the close after the decision and "
        "forward_return in the side's favour; over sampled names, if significant",
        "as for signal.weight_ic; measured: -0.05 to 0.1 in honest runs, simulated and on the S&P 500, 0.38 if one position in three is up to a tenth "
        "larger or smaller by its return, 0.98 if all are",
    ),
    Notice(
        "book.execution_cost",
        "Trading is almost free.",
        0.5,
        "lowest sum of execution_cost / sum of turnover_notional of a book, x 10,000",
        "Frazzini, Israel and Moskowitz (2018), Trading Costs: several basis points for a large institution in large stocks",
        "basis_points",
        below=True,
        figure="execution_cost_bp",
    ),
    Notice(
        "book.borrow",
        "Borrowing for short positions is free or pays.",
        0.0005,
        "lowest sum of borrow_cashflow / sum of the short notional at the closes, x -252, of a book with short positions",
        "D'Avolio (2002), The Market for Borrowing Stock, Journal of Financial Economics 66: 0.25% a year on average, 0.17% for stocks that are easy "
        "to borrow",
        "per_year",
        below=True,
        figure="borrow_rate",
    ),
    Notice(
        "book.carry",
        "Much of what the book earned is interest on cash.",
        0.05,
        "highest sum of the absolute daily cash_carry / sum of the absolute daily market_pnl of a book, if the carry is also more than "
        f"{MAX_INTEREST:.0%} a year of half the book's gross notional",
        "a twentieth is more than a by-product, and a calm dollar-neutral book of many names exceeds it at a rate of 3%; Federal Reserve, 3-month "
        "Treasury bill: below 10% since 1985",
        figure="carry_share",
    ),
    Notice(
        "book.cash_adjustment",
        "Profit comes from cash that neither fills nor prices explain, such as dividends, or such cash offsets losses and gains.",
        0.05,
        f"highest absolute sum of cash_adjustment {_RELATIVE_TO_PROFIT}, if it is more than {MAX_YIELD:.0%} a year of the book's absolute net notional "
        f"and {CHANCE:g} times the root of the sum of its squares; or the sum of the absolute cash adjustments / sum of the absolute daily market_pnl "
        f"of a book, if that is above {MAX_CASH_SIZE:g}",
        "a twentieth of the profit is more than an omission; the dividend yield of the S&P 500 was 1 to 4% in every year since 1985",
        figure="cash_adjustment_share",
    ),
    Notice(
        "book.unpaid_cash",
        "Long positions receive cash, such as dividends, and short positions pay none.",
        0.1,
        "lowest cash paid / cash received in cash_adjustment, each relative to the sum of the short or long notional at the closes, of a book with "
        f"{MIN_RECEIPTS} receipts or more and a short notional of at least {MIN_SHORT_SHARE:.0%} of the long one",
        "a short seller owes the dividends of the borrowed shares; among large stocks a quintile by yield still pays a fifth of the mean",
        below=True,
    ),
    Notice(
        "book.rounding",
        "Profit comes from rounding.",
        0.05,
        f"highest absolute sum of rounding_adjustment {_RELATIVE_TO_PROFIT}",
        "a twentieth of the profit is more than rounding",
        figure="rounding_share",
    ),
    Notice(
        "book.timing",
        "The book was larger in weeks that paid: its size may have been chosen by their returns.",
        0.3,
        "Pearson correlation over weeks between the exposure of long_short at the first close after the decision and the return per unit of exposure "
        f"from there to the next decision, if significant and exposures vary by {MIN_EXPOSURE_VARIATION:.0%} or more. If they vary less, the sum of "
        f"absolute target weights takes their place, if that varies by {MIN_NET_VARIATION:.0%} or more. Or, over {MIN_PERIODS} calendar "
        f"{'s or '.join(TIMED_PERIODS)}s or more, the correlation between the size at the first decision of each and the mean of its weekly returns per "
        f"unit of exposure, if that is above {MAX_PERIOD_TIMING:g} and {CHANCE:g} / sqrt(periods - 1), its standard error in any order of the periods",
        "Henriksson (1984), Market Timing and Mutual Fund Performance, Journal of Business 57: hardly any fund can time; measured by week: 0.65 to "
        "0.77 if the book is 8% larger in weeks in which it earns, and 8% smaller in the others; by quarter: 0.44 at most (against a threshold of 0.5) "
        "in 540 runs that are sized by past risk, past returns or chance, 0.7 to 0.95 if each quarter is sized by what it earned; by month: 0.65 "
        "(against 0.9) in 1,347 such runs, 0.78 at the median if each month has one of two sizes by what it earned",
        "correlation",
    ),
    Notice(
        "book.risk_timing",
        "The book was smaller before wild weeks than after them: its size may have been chosen by the risk to come.",
        0.3,
        "correlation over weeks between the exposure, as in book.timing, and the size of the return per unit of exposure of the week before, less that "
        f"with the size of its own week's return; if exposures vary by {MIN_EXPOSURE_VARIATION:.0%} or more, if significant",
        "Moreira and Muir (2017), Volatility-Managed Portfolios, Journal of Finance 72: a size can only follow past risk",
        "correlation",
    ),
    Notice(
        "book.net_timing",
        "The book was long in weeks in which names rose, and short in those in which they fell: its balance, or its beta, may have been chosen by "
        "returns.",
        0.3,
        "Pearson correlation over weeks between the net target weight of long_short, or its beta (the sum of target weight x beta of the name), "
        f"relative to its gross target weight, and the mean forward_return of sampled names; over {MIN_CORRELATED_WEEKS} weeks or more, if significant "
        f"and the first varies by {MIN_NET_VARIATION:.0%} or more. The beta of a name is the slope of its forward returns on that mean",
        "as for book.timing; in a dollar-neutral book the net weight does not vary; measured: -0.2 to 0.2 in honest runs that vary it, and with betas; "
        "0.75 to 0.99 if the balance follows the returns to come, 0.24 to 0.53 if a score leans towards the betas that four weeks of five will pay",
        "correlation",
    ),
    Notice(
        "book.autocorrelation",
        "Daily returns are autocorrelated: the marks are smoother than prices, so risk is understated.",
        0.25,
        "highest rank correlation of a book's daily returns with those of the day before, in sessions with positions, if significant",
        "Getmansky, Lo and Makarov (2004), An Econometric Model of Serial Correlation and Illiquidity in Hedge Fund Returns, Journal of Financial "
        "Economics 74; measured: -0.29 to 0.16 in honest runs",
        "correlation",
    ),
    Notice(
        "book.flat_sessions",
        "The book has sessions with a market P&L of 0, or in which most marks do not change: the market was closed, or these days were removed.",
        0.01,
        f"highest share of a book's sessions with positions in which the size of market_pnl is below {FLAT:g} of the gross notional. Or the share of "
        f"sessions in which more than half of the sampled names that long_short holds at both closes, {MIN_COPIED_NAMES} or more, move by less than "
        f"that, if they are {FLAT_BY_CHANCE + 1} or more",
        "measured: 0 to 0.004 in honest runs, also by names; by names 0.03 in all of 9 runs in which the names that a book holds keep their mark in "
        "its worst 3% of the sessions, though purchases and sales move its P&L",
        figure="flat_share",
    ),
    Notice(
        "book.last_session",
        "Much of the profit was made at the last close, after which nothing was sold.",
        0.1,
        f"highest market_pnl of the last session / absolute profit of a book, if it is at least {LAST_DEVIATIONS:g} standard deviations of the "
        "market_pnl of sessions with positions",
        "Carhart, Kaniel, Musto and Reed (2002), Leaning for the Tape, Journal of Finance 57: closes at the end of a period are marked up",
        figure="last_session_share",
    ),
    Notice(
        "book.unborrowed",
        "Borrowing is free for some short positions.",
        0.1,
        "highest share of the positions of a book that are short at a close and at the close before, name by name on up to 32 sessions, whose "
        f"borrow_cashflow x -252 is below {NEARLY_UNBORROWED:.2%} of their notional at the close",
        "as for book.borrow: stocks that are easy to borrow cost something too",
        figure="unborrowed_share",
    ),
    Notice(
        "book.share_adjustment",
        "Profit comes from names whose shares changed without a fill; a split changes the price as well, and earns nothing.",
        0.05,
        f"highest absolute sum of market_pnl on name-days with a quantity_adjustment {_RELATIVE_TO_PROFIT}, if significant",
        "as for book.cash_adjustment; shares of a spin-off count, since the parent falls on a name-day of its own",
        figure="share_adjustment_share",
    ),
    Notice(
        "book.sessions",
        "The ledger has more or fewer sessions than an exchange, so figures annualised with 252 are not those of a year.",
        262.0,
        f"sessions less one / years from the first to the last, with {SESSIONS_ALLOWED} sessions allowed for holidays",
        "exchanges have 240 (Shanghai) to 261 weekdays less holidays a year; New York 250 to 253",
        "per_year",
        least=240.0,
        figure="sessions_per_year",
    ),
    Notice(
        "book.gap",
        "The ledger has no session for longer than exchanges close: days were left out.",
        14.0,
        "longest time from one session of a book to the next",
        "Shanghai was closed for 11 days in 2020, Tokyo for 11 in 2019, New York for 7 in 2001; measured: 4 in honest runs",
        "days",
        figure="longest_gap",
    ),
    Notice(
        "book.early_seal",
        "The seal is dated before the end of its own data: a backdated backtest would pass for a forecast.",
        0.0,
        "number of days from sealed_at to the last session of the ledger",
        "a run cannot hold what had not happened when it was sealed; measured: 0",
        "days",
        figure="days_before_end",
    ),
    Notice(
        "book.risk_free_rate",
        "Cash earns a rate that hardly any major currency ever paid, or 0, so that excess_sharpe deducts nothing.",
        0.15,
        "mean risk_free_return x 252 of the book where it lies furthest outside the bounds. If it is 0 in all of 126 sessions or more, the lower bound "
        f"is {LOWEST_RATE:g}, unless the run lies within {_ZERO_TIMES}. A run without a rate leaves it null",
        "Federal Reserve, 3-month Treasury bill: above 15% only in months of 1981, below 10% since 1985, 0.01% in the lowest months of 2011 and 0.02% "
        "in those of 2021, which Kenneth French's data library rounds to 0; Swiss National Bank: never below -0.75%",
        "per_year",
        least=-0.01,
    ),
    Notice(
        "fills.better_than_marks",
        "Fills are better than both closes around them: bought below and sold above.",
        0.2,
        "share of fills at a mid better than the close before and the close of the day, less the share at a mid worse than both; over sampled fills, "
        "if significantly above half the threshold, by session. Or, of the gaps from the close of the decision to the mids of the next session, "
        "the share in favour of the fills less the share against them, if above "
        f"{' or '.join(f'{limit:g} for the largest {share:.0%}' for share, limit in LARGEST_GAPS.items())} of the gaps and significant, by session; "
        "without adjustments and settlements",
        "measured: -0.03 to 0.09 in honest runs, 0.2 to 0.3 with mids a quarter of a percent better, 0.9 with 2%; of the largest gaps "
        "at most 0.25 and 0.46 in 480 honest runs, simulated and on the S&P 500, 0.36 and 0.45 if shares of constant weights are computed from the "
        "closes that fill them, 0.6 to 1 if the worst 3 to 9% of them are filled at the close before",
        figure="better_share",
    ),
    Notice(
        "fills.price_improvement",
        "Fills are better on average than the market around them, so the mids were not quoted.",
        10.0,
        "mean over fills of side x (close before - mid) / mid, or of side x (close of the day - mid) / mid if that is less, x 10,000, if significant "
        f"by session; over sampled fills, or over the {MIN_ADJUSTING_FILLS} or more among them that adjust a book between decisions",
        "measured: -14 to 7 in honest runs, on the S&P 500 and simulated; with mids 0.2% better about 15",
        "basis_points",
    ),
    Notice(
        "fills.decision_close",
        "Fills are at the close on which the decision was based, which was over by then.",
        0.1,
        "share of fills whose mid equals the close of the decision's day; over sampled fills, if significantly above half the threshold",
        "measured: 0.01 to 0.05 of the opens of large US stocks equal the close before",
        figure="decision_close_share",
    ),
    Notice(
        "fills.foresight",
        "Fills between decisions come before the price moves: positions may have been closed once their losses were known.",
        150.0,
        "mean, over fills on a later day than the first ones of their decision and fills of a variant _adjustments, of side x (later price - mid) / "
        f"mid, limited to 0.1, x 10,000; over all days and sampled names, {MIN_ADJUSTING_FILLS} fills or more, if significant by session; without "
        "settlements. The later price is the mid at entry_at, or else the mark at the decision, x (1 + forward_return)",
        "fills between decisions respond to what has happened, not to what is to come; measured: -76 to 135 in honest runs, simulated and on the S&P "
        "500, and 165 against a threshold of 244; 347 to 678 if positions are trimmed on the day, or closed in the week, in which they lose",
        "basis_points",
    ),
    Notice(
        "fills.stale",
        "Fills reverse the move of the session before: the mids are older than their timestamps.",
        0.5,
        "slope of the least-squares line, over fills, of log(previous close / mid) on log(previous close / close of the session before that), each "
        "limited to 0.1 of either sign, if significant; over sampled fills, without settlements",
        "Roll (1984), A Simple Implicit Measure of the Effective Bid-Ask Spread, Journal of Finance 39: the distance of a close from the middle of bid "
        "and ask is reversed, which is at most half of the move; measured: -0.05 to 0.12 in honest runs filled at the open or the close, 0.2 where "
        "prices bounce by 1%, 0.69 with the opens of the day before",
        figure="staleness",
    ),
    Notice(
        "fills.without_cost",
        "Some fills of a book are free or almost free while others are not.",
        0.05,
        f"highest share of a book's fills with an execution_cost below {NEARLY_FREE:g} bp of their notional; over sampled fills, without settlements",
        "every fill pays some of the spread",
        figure="costless_share",
    ),
    Notice(
        "fills.uneven_cost",
        "Some fills cost less than others of the same names and sizes: costs may be booked on one side or in one book alone.",
        0.7,
        "lowest mean execution_cost of the fills of a book, of its long or its short positions, or of all purchases or sales, in basis points of their "
        "notional / that of other fills of the same names within a factor of 1.4 of their notional; sales and purchases only if they differ by less "
        f"than {MIN_TAX:g} bp, which many taxes exceed; over sampled fills, without settlements and adjustments between decisions",
        "measured: 0.97 to 1 in honest runs, 0.5 if the costs of one side or book are halved",
        below=True,
        figure="cost_ratio",
    ),
    Notice(
        "fills.outside_turnover",
        "The turnover omits much of the trading, so capacity looks larger and costs lower than they are.",
        0.25,
        "highest share of the notional of a book's fills that belongs to variants declared outside_turnover in seal.json; over sampled fills",
        "adjustments between decisions and settlements are small compared with rebalances; measured: 0 to 0.13 in honest runs, 0.67 if exits and "
        "changes of weight are booked as adjustments",
        figure="share_outside_turnover",
    ),
)

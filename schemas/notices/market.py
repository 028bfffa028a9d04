"""Notices from comparing a run with market prices provided by the operator."""

from __future__ import annotations

from typing import Final

from schemas.notices.catalogue import CELL_TOLERANCE
from schemas.notices.notice import BASIS_POINTS, Notice

TAIL_SHARE: Final = 0.01
"""Share of the largest falls, and of the largest rises, that are also judged separately."""
TAIL_TOLERANCE: Final = 0.01
"""Difference of returns that counts as a contradiction among these; few dividends are larger."""
MIN_TAIL: Final = 20
"""Minimum number of such falls or rises."""
FORWARD_TOLERANCE: Final = 0.005
"""Difference of forward returns that opens from different vendors explain; opens differ more than closes."""
MIN_NAME_SESSIONS: Final = 40
"""Minimum number of sessions for judging a name."""
LIMIT: Final = 0.001
"""Differences of returns are clipped here before averaging, so that single sessions and unknown dividends hardly count."""
JUMP: Final = 0.2
"""Logarithm of the smallest ratio of a split, 5 for 4, less rounding."""
BETTER_SETTLEMENT: Final = 0.05
"""Share by which a settlement may be better than the last price of the market, as in a takeover at a higher price."""
MAX_MID_GAP: Final = 0.005
"""Maximum median distance between mids and a market price for comparing them; open and close differ by twice that or more. Closes
alone are compared up to CELL_TOLERANCE, because those of calm names are nearer to their opens."""
WITHIN_DAY: Final = 1 / 3
"""Median distance of mids from the open and from the close, relative to that of the two from each other, above which fills are at neither."""
BEYOND_DAY: Final = 0.5
"""Distance by which prices of a day go beyond its open and close on each side, relative to that of these: the range of a random walk is
twice as long on average (Feller, 1951)."""
DIVIDENDS: Final = (0.001, 0.05)
"""Smallest dividend, as a share of the price, that stands out from noise, and largest that is an ordinary one, and no split."""
MAX_CONTAINED: Final = 3.0
"""Parts of a dividend in a mark are clipped here."""
DIVIDEND_SESSIONS: Final = 5
"""Sessions of a period in which the dividends of long positions are compared with those of short ones."""
MAX_LEFT_OUT: Final = 0.1
"""Maximum share of the names without a score in a week that is judged."""

WINDOWS: Final = (1, 5, 10, 21, 42, 63, 126, 252)
"""Sessions over which changes of prices, and the sum of their sizes, may explain a score."""
EXPLAINED_SCORE: Final = 0.7
"""Minimum correlation of the scores' ranks with what they explain of them for expecting scores of further names."""
MIN_UNSCORED: Final = 4
"""Minimum number of names without a score, and with one, for a comparison."""
MAX_PRICED: Final = 1_000
"""Maximum names that are compared, those that come first by digest."""

_TAILS: Final = (
    f"or by more than {TAIL_TOLERANCE:g} in the {TAIL_SHARE:.0%} of them, {MIN_TAIL} or more, in which the market fell most, or rose "
    "most, whichever share is highest"
)
_CONTRADICTED: Final = "differs by more than {:g} from that of the market, with and without dividends"
MARKET_NOTICES: Final = (
    Notice(
        "market.prices",
        "The marks are not those of the market.",
        0.05,
        f"share of names and sessions whose return from close to close {_CONTRADICTED.format(CELL_TOLERANCE)}, {_TAILS}",
        "measured: 0 in honest runs on the S&P 500 and simulated ones, 0.01 against total-return prices alone; 0.6 and 0.8 if a month is cut out and "
        "the later days are moved up",
        figure="contradicted_marks",
    ),
    Notice(
        "market.one_name",
        "The marks of one name are not those of the market.",
        0.1,
        f"largest share, of the names with {MIN_NAME_SESSIONS} sessions or more, of returns that the market contradicts, as in market.prices",
        "dividends that the prices lack affect a session in 63, or in 21; measured: 0 in honest runs, 0.05 against total-return prices alone, 0.5 if "
        "one price path is lifted by 0.2% a session",
        figure="contradicted_marks_of_a_name",
    ),
    Notice(
        "market.drift",
        "The marks of one name drift away from the market, a little each session.",
        1.0,
        f"largest absolute mean, for a name over {MIN_NAME_SESSIONS} sessions or more, of the difference of its return from that of the market, limited "
        f"to {LIMIT:g}, x {BASIS_POINTS:,}",
        "2.5% a year; measured: 0 in honest runs, 0.1 against another vendor's prices with 3 bp of noise, 0.5 against total-return prices alone",
        "basis_points",
    ),
    Notice(
        "market.ratio",
        "At market prices the book would have had a lower Sharpe ratio: its marks are a little better, or calmer.",
        0.2,
        "higher gain of long_short and long_only: the information_ratio of the book less that at market prices, which deducts from its returns the "
        "sum, over the names held at both closes, of the weight at the close before x the difference of the name's return from that of the market, "
        f"limited to {LIMIT:g}",
        "2% a year at a volatility of 10%",
        figure="ratio_gain",
    ),
    Notice(
        "market.dividends",
        "Marks contain the dividends of long positions more often than those of short ones, or twice.",
        0.25,
        f"mean part of a dividend that is in the return of the mark of long positions, less that of short ones (over periods of {DIVIDEND_SESSIONS} "
        f"sessions with both), or less 1 (over dividends); of dividends of {DIVIDENDS[0]:.1%} to {DIVIDENDS[1]:.0%} of the price, by close and "
        "adj_close, of positions of long_short or long_only held at the close before; if significant",
        "marks are adjusted for the dividends of all names or of none; measured: 0 in honest runs on the S&P 500, with total returns or without; 1 if "
        "only long positions have total returns, or have each dividend twice",
        figure="dividends_earned",
    ),
    Notice(
        "market.jumps",
        "Marks jump where the market does not, without a sealed split: a position gained or lost value that it never had.",
        0.0,
        "number of names and sessions whose mark rises or falls by more than a fifth against the market, without a quantity_adjustment",
        "as for market.prices; the market may fall or rise as much, but not the marks alone",
        "marks",
    ),
    Notice(
        "market.forward_returns",
        "The forward returns, of names held or not, are not those of the market.",
        0.05,
        f"share of names and weeks whose forward_return {_CONTRADICTED.format(FORWARD_TOLERANCE)}, {_TAILS}; compared from open to open or from close "
        "to close, whichever contradicts less. If fills are at neither, a forward return must be one from a price of the first day to a price of the "
        f"last; the prices of a day go beyond its open and close by {BEYOND_DAY:g} of their distance",
        "measured: 0 in honest runs, 0.01 in those filled at averages of a day, 0.03 against total-return prices alone; 0.1 to 0.5 if losses of names "
        "not held are cut off at 20 to 5%, 0.5 and 0.6 if their returns are shuffled",
        figure="contradicted_forward_returns",
    ),
    Notice(
        "market.forward_bias",
        "Forward returns are a little higher than those of the market where the score is high, and lower where it is low.",
        1.0,
        f"mean over names and weeks of the difference of forward_return from the return of the market, limited to {LIMIT:g}, x 1 above the median score "
        f"of the week or x -1 below it, x {BASIS_POINTS:,}, if significant",
        "measured: 0 in honest runs, 0.03 against total-return prices alone, 1.1 and 1.2 if returns of names not held are shifted by 2 bp towards the "
        "score",
        "basis_points",
    ),
    Notice(
        "market.forward_drift",
        "All forward returns are a little higher, or lower, than those of the market: they are shifted, or logarithmic.",
        2.0,
        f"absolute mean over names and weeks of the difference of forward_return from the return of the market, limited to {LIMIT:g}, x "
        f"{BASIS_POINTS:,}, if significant",
        "measured: 0 in honest runs, 0.2 against another vendor's prices with 10 bp of noise in opens, 0.6 against total-return prices alone; 4.4 if "
        "returns are logarithmic, 10 if all are lifted by 20 bp",
        "basis_points",
    ),
    Notice(
        "market.fills",
        "Fills are better than the market prices of their time.",
        2.0,
        "mean over fills of side x (market - mid) / market x 10,000 at the open or the close of the market, whichever is nearer to the mids, if "
        "significant by session; over all fills, and over those between decisions alone, without settlements; not checked if fills are at neither",
        "measured: 0 in honest runs, 0.05 against another vendor's opens with 10 bp of noise, 3 with mids 0.03% better",
        "basis_points",
        figure="price_improvement",
    ),
    Notice(
        "market.foresight",
        "Fills between decisions come before the price moves on the same day: positions may have been closed once their losses were known.",
        100.0,
        f"mean over the fills of a variant _adjustments of side x (close of the market - mid) / mid, limited to {JUMP:g}, x {BASIS_POINTS:,}, if "
        "significant by session",
        "as for fills.foresight; measured: -94 to 45 in honest runs, simulated and on the S&P 500, and 117 against a threshold of 189; 198 to 317 if "
        "positions are closed before losses of 3 or 5% on the day",
        "basis_points",
    ),
    Notice(
        "market.settlements",
        "Positions are settled although the name still has a market, or at a better price than its last one.",
        0.0,
        "number of names that a settlement closes although the market has a price in the 7 days after it, or at a mid more than "
        f"{BETTER_SETTLEMENT:.0%} better for the position than the market's last price in the 7 days up to it",
        "a name that is settled was delisted or bought; measured: 0 in honest runs, of 59 names settled on the S&P 500 and of all simulated ones",
        "names",
        figure="contradicted_settlements",
    ),
    Notice(
        "market.left_out",
        "Names that the run stopped scoring would have lost, by market prices, in the first week without a score: they may have been left out in "
        "hindsight.",
        0.3,
        "mean over weeks, and over names that had a score the week before and now lack it or a row, of the rank of the return of the market, from the "
        "close after the decision to the one after the next, against the side of that score, from -1 to 1 among the names of the week; of weeks in "
        f"which they are {MAX_LEFT_OUT:.0%} of the names or fewer, if significant",
        "whether a name is scored has nothing to do with its later return; measured: -0.31 to 0.27 in honest runs, and 0.29 against a threshold of "
        "0.38; 0.54 to 0.85 if names are left out of a steady signal before they lose",
        figure="avoided_losses",
    ),
    Notice(
        "market.unscored",
        "Names that the run never scored, though the market has prices of them, would have lost: losers may have been left out of the universe, as in "
        "a universe of survivors.",
        0.8,
        "mean normal score, by gain over the run, of the names that the run scored less that of the others, if significant, and only if names could "
        "have been left out. The gain of a name is the sum over weeks of its market return less the mean of the names, x the cube of the rank of its "
        "expected score, from -1 to 1. The expected score is a least-squares fit on the changes of the price, and the sums of their sizes, over "
        f"{', '.join(map(str, WINDOWS[:-1]))} and {WINDOWS[-1]} sessions, of up to {MAX_PRICED:,} names with prices, whose correlation with the ranks "
        f"of the scores must be {EXPLAINED_SCORE:g}",
        "whether a name is scored has nothing to do with its gain; measured: -0.6 to 0.7 in honest runs, also on universes by volatility, price, "
        "listing or index membership, but 1.4 on one of survivors; 1.2 to 1.8 if a tenth or a twentieth of 60 or 100 names, on which the book would "
        "lose most, is left out",
        "standard_deviations",
        figure="advantage",
    ),
    Notice(
        "market.sessions",
        "The ledger lacks sessions of the market, or has days that were not sessions: days were left out, inserted or moved.",
        0.0,
        "number of sessions of the market between the first and the last day of the ledger that it lacks, and of its days that are not sessions of the "
        "market; a session is a day with prices of the run's names, a tenth of the usual number or more",
        "the calendar of an exchange is public; a day that the prices lack by mistake counts as well",
        "sessions",
        figure="differing_sessions",
    ),
)

"""Notices on the moves of the marks of held names, from session to session."""

from __future__ import annotations

from typing import Final

from schemas.notices.notice import MIN_CORRELATED_WEEKS, Notice

MIN_MOVED_NAMES: Final = 8
"""Minimum number of names with a move in both sessions for comparing two sessions."""
MIN_MOVES: Final = 1_000
"""Minimum number of moves for judging the most common loss."""
MAX_DEVIATIONS: Final = 3.0
"""Moves are clipped at this many standard deviations of their session, so that no single name dominates."""
LOSING_SHARE: Final = 0.1
"""Share of the session pairs searched for deferred losses: those with the largest losses of the book."""
MIN_LOSING_PAIRS: Final = 40
"""Minimum number of these pairs for a judgement: some 400 sessions."""
MAX_DELAY: Final = 3
"""Maximum delay, in sessions, at which a late loss is searched for."""
CLIPPED_FROM: Final = 0.02
"""Minimum size of a move to be counted: smaller ones repeat by chance, since prices are multiples of a tick."""
MIN_CLIPPED: Final = 4
"""Number of equal gains that chance explains."""
LARGEST_OF_WEEK: Final = 0.05
"""Share of the weekly returns of names that are judged as the largest."""
LARGEST_SHARES: Final = (0.03, 0.01, 0.003)
"""Shares of the moves of names that are judged as the largest: losses may be missing above any size."""
LOSSES_OF_NAMES: Final = 0.2
"""Threshold for these."""
LARGEST_OF_BOOK: Final = {0.05: 0.15, 0.03: 0.12, 0.02: 0.12, 0.01: 0.12}
"""Share of the returns of the book that are judged as its largest -> threshold: at an information ratio of 4 a quarter of the largest twentieth
are losses, and fewer of the largest hundredth."""
MIN_LARGEST_SESSIONS: Final = 20
"""Minimum number of sessions, or weeks, with such moves."""
STALE_SHARE: Final = 0.2
"""Share of unchanged marks above which a name's marks count as stale."""
MIN_NAME_MOVES: Final = 40
"""Minimum number of moves of a name for judging its marks."""
MIN_STALE_NAMES: Final = 2
"""Number of names with stale marks that long trading halts no longer explain."""
SPLIT_RATIOS: Final = (2.0, 3.0, 4.0, 5.0, 10.0, 20.0)
"""Ratios of common splits (new shares per old share) and reverse splits (old shares per new share)."""
SPLIT_TOLERANCE: Final = 0.03
"""Log return of a mark that is allowed along with a split in the same session."""
MIN_TICKS: Final = 10
"""Minimum price after a split in ticks: one of a few ticks doubles or halves by one or two."""
MAX_TRADED: Final = 0.25
"""Log change of a holding that is allowed in the session of a split: by rounding to shares, and by trading if no splits are sealed."""

MIN_PAYMENTS: Final = 50
"""Minimum number of cash adjustments for judging the fall of the marks."""
MAX_PAYMENT: Final = 0.05
"""Maximum cash, as a share of the value of the position, that counts as an ordinary dividend."""
USUAL_FALL: Final = 0.8
"""Usual fall of a price on the day of a dividend, as a share of the dividend."""


MOVE_NOTICES: Final = (
    Notice(
        "book.lagged_marks",
        "Names continue the move of the session before: a part of each move is booked late, so risk is understated.",
        0.1,
        f"mean over sessions of the correlation between the moves of the marks, less the mean of their side and limited to {MAX_DEVIATIONS:g} standard "
        "deviations of the session, and those of the session before; of sampled names of long_short, if significant",
        "Lo and MacKinlay (1990), When Are Contrarian Profits Due to Stock Market Overreaction?, Review of Financial Studies 3: single "
        "stocks have slightly negative autocorrelations; measured: -0.07 to 0.03 in honest runs of a year or more, 0.2 to 0.26 if a fifth or a quarter of each move is late",
        "correlation",
    ),
    Notice(
        "book.deferred_losses",
        "Where the book lost most, names repeat the move of the session before: a part of the losses is booked later.",
        0.25,
        f"highest mean correlation, as in book.lagged_marks, with the moves 1 to {MAX_DELAY} sessions before, over the {LOSING_SHARE:.0%} of the pairs "
        f"of sessions in which the book lost most, {MIN_LOSING_PAIRS} pairs or more, if significant",
        "measured: -0.07 to 0.14 in honest runs, simulated and on the S&P 500; on the latter 0.27 to 0.41 if a third or half of the moves of the worst "
        "tenth of the sessions are booked a session or two later",
        "correlation",
    ),
    Notice(
        "book.copied_sessions",
        "Names repeat the moves of an earlier session: a session counts twice.",
        0.0,
        "number of sessions in which at least 90% of sampled names of long_short that have a move in both, 5 or more, move as in one earlier session, "
        "to a millionth; not counting moves of 0",
        "names never all repeat the moves of a session; measured: 0",
        "sessions",
    ),
    Notice(
        "book.clipped_losses",
        "Many losses on single names are equal and no gains are: losses were cut off at a bound.",
        5.0,
        f"number of occurrences of the most common loss of a name in a session beyond {CLIPPED_FROM:.0%} / that of the most common gain, or / "
        f"{MIN_CLIPPED} if that is more; also of falls and rises of marks; of sampled names of long_short",
        "measured: 0.2 to 1.8 in honest runs, 11 to 190 with losses cut off at 3 to 6%; the price limits of an exchange cut off both",
    ),
    Notice(
        "book.missing_losses",
        "Losses are rare among the largest moves of single names in a session or week, or among the largest returns of the book: large losses were "
        "left out, or known before they came.",
        0.3,
        f"share of losses among the largest {LARGEST_OF_WEEK:.0%} of the forward returns of names with a target weight, less the mean of the week; or, "
        f"if below {LOSSES_OF_NAMES:g}, among the largest {', '.join(f'{share:.1%}' for share in LARGEST_SHARES[:-1])} or {LARGEST_SHARES[-1]:.1%} of "
        "the moves of names between two closes at which they are held; or, if below "
        f"{', or '.join(f'{limit:g} among the largest {share:.0%}' for share, limit in LARGEST_OF_BOOK.items())}, of the returns of the book; over "
        f"{MIN_LARGEST_SESSIONS} weeks or sessions or more, with {MIN_MOVES:,} moves or more of sampled names of long_short, if significantly below a "
        "half, by week or session",
        "gains and losses of a name in a session or week are equally likely; measured: 0.3 to 0.7 in honest runs, simulated and on the S&P 500, 0.02 "
        "to 0.19 if losses beyond 4 to 6% are erased or cut off; by week 0.32 to 0.8 in 563 honest runs, and 0.24 against a threshold of 0.16, 0.1 to "
        "0.3 in most runs that know a half or a third of the large returns, or leave out what would lose most; of the book 0.12 to 0.8, 0 to 0.14 if "
        "moves of names shrink by a third in the worst tenth of its sessions, or by more in the worst twentieth",
        below=True,
        figure="loss_share",
    ),
    Notice(
        "book.stale_losses",
        "After unchanged marks, names move against the book: old prices may have stood in for losses, which are booked later.",
        0.5,
        f"mean, over the marks that equal that of the session before, of the largest move against its side of the name in the {MAX_DELAY} sessions "
        f"after, / the root of the mean square of its moves, limited to {MAX_DEVIATIONS:g} of either sign; of {MIN_CORRELATED_WEEKS} such marks or more "
        "of sampled names of long_short, if significant by session",
        "rounding leaves a price unchanged before gains and losses alike; measured: -0.75 to 0.45 in 1,119 honest runs, simulated and on the S&P 500, "
        "and 0.79 against a threshold of 0.79; 0.4 to 1.9 if losses beyond 4% are booked one to three sessions later, above the threshold in 99% of "
        "such runs",
        "standard_deviations",
    ),
    Notice(
        "book.stale_marks",
        "Some names often have an unchanged mark: positions are valued at old prices.",
        0.03,
        f"share of the names whose mark equals that of the session before in more than {STALE_SHARE:.0%} of {MIN_NAME_MOVES} moves or more, and of "
        f"those that normal moves rounded to the smallest change of the mark leave unchanged; of sampled names of long_short, and at least {MIN_STALE_NAMES} names",
        "measured: 0; in single names at most 0.01 to 0.1 of the marks in honest runs",
        figure="stale_names",
    ),
    Notice(
        "book.split_moves",
        "Marks jump as after splits while the shares stay the same: splits are missing, and their jumps count as profit or loss.",
        1.0,
        f"number of moves of a mark from one session to the next by a factor of {', '.join(f'{ratio:g}' for ratio in SPLIT_RATIOS)}, or the inverse, to "
        f"{SPLIT_TOLERANCE:.0%}, in which the quantity_adjustment, or the fills too if none is sealed, does not change the shares by the inverse, to "
        f"{MAX_TRADED:.0%}, and whose lower mark is above {MIN_TICKS} times the smallest change of the mark; {MIN_MOVES:,} moves or more of sampled names of long_short",
        "a large stock hardly ever halves or doubles in a session, and even less often to within a few percent; measured: 0",
        "moves",
    ),
    Notice(
        "book.marks_on_payment",
        "Marks do not fall when names pay cash: dividends count twice, in adjusted prices and in cash.",
        0.5,
        "slope of the least-squares line through 0, over cash adjustments, of the fall of the mark relative to the mean of the names without one on "
        f"cash_adjustment / value of the position at the close before; of {MIN_PAYMENTS} adjustments or more, each below {MAX_PAYMENT:.0%}, of sampled "
        f"names of long_short, if significantly below {USUAL_FALL:g}",
        "Elton and Gruber (1970), Marginal Stockholder Tax Rates and the Clientele Effect, Review of Economics and Statistics 52: prices fall by 0.78 "
        "of a dividend; measured: 0.7 to 1.3 in honest runs with 100 to 350 payments, 0 to 0.2 with adjusted prices",
        below=True,
        figure="fall_on_payment",
    ),
)

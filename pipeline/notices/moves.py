"""Notices on the mark returns of held names by session: late, copied, clipped or missing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from datasets.figures.series import Floats
from pipeline.maths.weekly_digests import rounded
from pipeline.notices.clipped_returns import by_frequency
from pipeline.notices.copies import repeated_values
from pipeline.notices.correlations import column_mean, correlations, judge_mean
from pipeline.notices.held_names import Holdings
from pipeline.notices.outcome import NoticeOutcome, by_chance, first_noticed, judged, not_checked, too_few
from schemas.notices import NOTICES
from schemas.notices.books import FLAT, FLAT_BY_CHANCE
from schemas.notices.moves import (
    CLIPPED_FROM,
    LARGEST_OF_BOOK,
    LARGEST_OF_WEEK,
    LARGEST_SHARES,
    LOSING_SHARE,
    LOSSES_OF_NAMES,
    MAX_DELAY,
    MAX_DEVIATIONS,
    MAX_PAYMENT,
    MAX_TRADED,
    MIN_CLIPPED,
    MIN_LARGEST_SESSIONS,
    MIN_LOSING_PAIRS,
    MIN_MOVED_NAMES,
    MIN_MOVES,
    MIN_NAME_MOVES,
    MIN_PAYMENTS,
    MIN_STALE_NAMES,
    MIN_TICKS,
    SPLIT_RATIOS,
    SPLIT_TOLERANCE,
    STALE_SHARE,
    USUAL_FALL,
)
from schemas.notices.notice import NOTICE
from schemas.notices.signal import COPIED_SHARE, MIN_COPIED_NAMES
from schemas.plurals import counted

_BOTH_MOVED: Final = f"{MIN_MOVED_NAMES} names with a move in both sessions"


def judge_moves(holdings: Holdings, returns: Floats, weekly: Floats) -> Iterator[NoticeOutcome]:
    """Judge the close-to-close moves of names that are held at both closes.

    Parameters
    ----------
    holdings
        Sampled names of a book.
    returns
        Return of the book in each session of the holdings, NaN where it has none, shape (sessions,).
    weekly
        What names earned in each week on the side of the book, shape (names, weeks); NaN where they are not on one.
    """
    moves = holdings.marks[:, 1:] / holdings.marks[:, :-1] - 1
    sides = np.sign(holdings.quantities[:, :-1])
    own = _without_side_means(moves, sides)
    by_session = correlations(own[:, 1:], own[:, :-1], MIN_MOVED_NAMES)
    message = "Moves of marks have a correlation of {mean:.3f} with those of the session before over {number} sessions."
    yield judge_mean("book.lagged_marks", by_session, message, _BOTH_MOVED, period="session")
    yield _judge_deferred_losses(own, returns[1:])
    yield _judge_copied_sessions(moves)
    flat = _judge_flat_sessions(moves)
    if flat.outcome == NOTICE:  # in place of what the P&L of the book says
        yield flat
    yield _judge_clipped_losses(moves, sides)
    yield _judge_missing_losses(sides * moves, returns, weekly)
    yield _judge_stale_losses(moves, sides)
    ticks = _ticks(holdings.marks)
    yield _judge_stale_marks(moves, ticks / holdings.marks[:, :-1])
    yield _judge_split_moves(holdings, ticks)
    yield _judge_payments(holdings, moves)


def _without_side_means(moves: Floats, sides: Floats) -> Floats:
    """Subtract the mean move of each side from the moves of its names, and clip the largest.

    A move that all names of a side share would look like repetition whenever the book loses twice in a row.
    """
    own = np.full(moves.shape, np.nan)
    for side in (1, -1):
        members = np.where(sides == side, moves, np.nan)
        number = np.isfinite(members).sum(axis=0)
        mean = np.nansum(members, axis=0) / np.maximum(number, 1)
        own = np.where((sides == side) & (number > 1), moves - mean, own)
    deviation = np.sqrt(np.nansum(own**2, axis=0) / np.maximum(np.isfinite(own).sum(axis=0), 1))
    limited: Floats = np.clip(own, -MAX_DEVIATIONS * deviation, MAX_DEVIATIONS * deviation)
    return limited


def _judge_deferred_losses(own: Floats, returns: Floats) -> NoticeOutcome:
    """Judge the delay at which the moves of losing sessions repeat most."""
    outcomes = []
    for delay in range(1, MAX_DELAY + 1):
        together = returns[:-delay] + returns[delay:]
        known = np.flatnonzero(np.isfinite(together))
        # A loss split over two sessions lowers their sum, but not always either of them.
        order = known[np.argsort(together[known], kind="stable")]
        first = order[: int(np.ceil(LOSING_SHARE * known.size))]
        after = "the session after" if delay == 1 else f"{delay} sessions later"
        outcomes.append(
            judge_mean(
                "book.deferred_losses",
                correlations(own[:, first + delay], own[:, first], MIN_MOVED_NAMES),
                "In {number} pairs of sessions in which the book lost most, moves of marks have a correlation of {mean:.3f} with "
                f"those {after}.",
                _BOTH_MOVED,
                period="pair",
                fewest=MIN_LOSING_PAIRS,
            )
        )
    return max(outcomes, key=lambda x: (x.outcome == NOTICE, -1.0 if x.value is None else x.value))


def _judge_copied_sessions(moves: Floats) -> NoticeOutcome:
    notice, known = "book.copied_sessions", np.isfinite(moves) & (moves != 0)
    number = int((known.sum(axis=0) >= MIN_COPIED_NAMES).sum())
    if number < 2:
        return too_few(notice, number, "session", f"{MIN_COPIED_NAMES} names that move", 2)
    session, earlier, shared = repeated_values(rounded(moves))
    common = (known[:, session] & known[:, earlier]).sum(axis=0)
    copied = (common >= MIN_COPIED_NAMES) & (shared >= COPIED_SHARE * common)
    copies = int(np.unique(session[copied]).size)
    message = f"In {copies} of {counted(number, 'session')} the names move as in an earlier session."
    return judged(notice, float(copies), message, sessions=number)


def _judge_flat_sessions(moves: Floats) -> NoticeOutcome:
    """Judge in how many sessions most names stay at their mark, while those that were bought or sold since may move."""
    notice, known = "book.flat_sessions", np.isfinite(moves)
    measured = known.sum(axis=0) >= MIN_COPIED_NAMES
    sessions = int(measured.sum())
    if not sessions:
        return too_few(notice, sessions, "session", f"{MIN_COPIED_NAMES} names with two marks", 1)
    unmoved = (known & (np.abs(moves) < FLAT)).sum(axis=0)
    flat = int((measured & (2 * unmoved > known.sum(axis=0))).sum())
    message = f"In {flat} of {sessions} sessions most names stay at the mark of the session before."
    return judged(notice, flat / sessions, message, chance=FLAT_BY_CHANCE / sessions, sessions=sessions)


def _judge_clipped_losses(moves: Floats, sides: Floats) -> NoticeOutcome:
    notice, known = "book.clipped_losses", np.isfinite(moves)
    number = int(known.sum())
    if number < MIN_MOVES:
        return _too_few_moves(notice, number)
    price = moves[known]
    # Either the prices of all names were clipped, or the profit of the book on each name it held.
    counts = [(*_most_common(-values), _most_common(values)[0]) for values in (price, sides[known] * price)]
    losses, size, gains = max(counts, key=lambda count: count[0] / max(count[2], MIN_CLIPPED))
    message = f"{losses} losses on single names in a session are of {size:.4%} each; at most {gains} gains are of one size."
    return judged(notice, losses / max(gains, MIN_CLIPPED), message, losses=losses, gains=gains)


def _judge_missing_losses(earned: Floats, returns: Floats, weekly: Floats) -> NoticeOutcome:
    """Judge the share of losses among the largest moves of names in a session or a week, and among those of the book.

    The moves of a session may have a common cause, so the error is that of sessions.
    """
    notice, number = "book.missing_losses", int(np.isfinite(earned).sum())
    if number < MIN_MOVES:
        return _too_few_moves(notice, number)
    compared = [
        *((earned, share, LOSSES_OF_NAMES, "names") for share in LARGEST_SHARES),
        *((returns[np.newaxis], share, limit, "the book") for share, limit in LARGEST_OF_BOOK.items()),
        (weekly, LARGEST_OF_WEEK, NOTICES[notice].threshold, "names in a week"),
    ]
    outcomes = []
    for values, share, limit, noun in compared:
        size = np.abs(values)
        known = size[np.isfinite(size)]
        largest = size > (np.quantile(known, 1 - share) if known.size else np.inf)
        losses, gains = (np.sum(largest & (sign * values > 0), axis=0) for sign in (-1, 1))
        sessions = int((losses + gains > 0).sum())
        # If many moves are as large as the largest one, none is larger.
        if sessions < MIN_LARGEST_SESSIONS:
            continue
        lost, moved = int(losses.sum()), int((losses + gains).sum())
        error = float(np.sqrt(((losses - gains) ** 2).sum())) / (2 * moved)
        outcomes.append(
            judged(
                notice,
                lost / moved,
                f"{lost} of the {moved} largest moves of {noun} are losses.",
                chance=min(limit, 1 / 2 - by_chance(sessions) * error),
                losses=lost,
                moves=moved,
            )
        )
    if not outcomes:
        return not_checked(notice, f"the largest moves are in fewer than {MIN_LARGEST_SESSIONS} sessions")
    return first_noticed(*outcomes)


def _judge_stale_losses(moves: Floats, sides: Floats) -> NoticeOutcome:
    """Judge whether names move against the book once their mark changes again: an old price may have hidden a loss.

    A price that rounding alone leaves unchanged says nothing about the moves to come.
    """
    later = np.hstack([moves[:, 1:], np.full((len(moves), MAX_DELAY), np.nan)])
    windows = np.lib.stride_tricks.sliding_window_view(later, MAX_DELAY, axis=1)
    highest, lowest = np.fmax.reduce(windows, axis=-1), np.fmin.reduce(windows, axis=-1)
    deviation = np.sqrt(column_mean(moves.T**2))[:, np.newaxis]
    against = -sides * np.where(highest > -lowest, highest, lowest) / deviation
    name, session = np.nonzero((np.abs(moves) < FLAT) & np.isfinite(against))
    return judge_mean(
        "book.stale_losses",
        np.clip(against[name, session], -MAX_DEVIATIONS, MAX_DEVIATIONS),
        "After {number} marks that did not change, names moved against the book by {mean:.2f} standard deviations on average.",
        "no change and a later move",
        period="mark",
        groups=session,
    )


def _too_few_moves(notice: str, number: int) -> NoticeOutcome:
    known = counted(number, "move of a name is", "moves of names are")
    return not_checked(notice, f"{known} known; {MIN_MOVES} are needed")


def _most_common(values: Floats) -> tuple[int, float]:
    """Return the count of the most common value above a bound, and the value."""
    counts, sizes = by_frequency(values[values > CLIPPED_FROM])
    return (int(counts[0]), float(sizes[0])) if counts.size else (0, 0.0)


def _ticks(marks: Floats) -> Floats:
    """Return the smallest change of the mark of each name, shape (names, 1); 0 for a name with few moves."""
    changes = np.abs(np.diff(marks, axis=1))
    smallest = np.fmin.reduce(np.where(changes > 0, changes, np.nan), axis=1, initial=np.inf)
    many = np.isfinite(changes).sum(axis=1) >= MIN_NAME_MOVES
    return np.where(many & np.isfinite(smallest), smallest, 0.0)[:, np.newaxis]


def _judge_stale_marks(moves: Floats, ticks: Floats) -> NoticeOutcome:
    """Judge how many names have marks that often do not change; `ticks` are the smallest changes as a share of the mark before."""
    notice, number = "book.stale_marks", np.isfinite(moves).sum(axis=1)
    long = number >= MIN_NAME_MOVES
    names = int(long.sum())
    if names < MIN_STALE_NAMES:
        return too_few(notice, names, "name", f"{MIN_NAME_MOVES} moves", MIN_STALE_NAMES)
    # A normal move is rounded away with a probability of tick / (deviation x sqrt(2 pi)): in cents, prices below a dollar often stay.
    deviation = np.sqrt(np.nansum(moves**2, axis=1) / np.maximum(number, 1))[:, np.newaxis]
    rounded_away = np.minimum(ticks / (deviation * math.sqrt(2 * math.pi)), 1.0)
    allowed = STALE_SHARE * number + np.nansum(np.where(np.isfinite(moves), rounded_away, 0.0), axis=1)
    stale = int(((moves == 0).sum(axis=1) > allowed)[long].sum())
    return judged(
        notice,
        stale / names if stale >= MIN_STALE_NAMES else 0.0,
        f"Marks of {stale} of {names} names are unchanged in more than {STALE_SHARE:.0%} of the sessions.",
        names=names,
        stale=stale,
    )


def _judge_split_moves(holdings: Holdings, ticks: Floats) -> NoticeOutcome:
    """Count moves like splits; `ticks` are the smallest changes of the marks, few of which double a price of few ticks."""
    notice = "book.split_moves"
    ratio, shares = (x[:, 1:] / x[:, :-1] for x in (holdings.marks, holdings.quantities))
    if holdings.received is not None:
        # The fills of a session may change a holding as much as a split does.
        shares = 1 + holdings.received[:, 1:] / holdings.quantities[:, :-1]
    lower = np.minimum(holdings.marks[:, 1:], holdings.marks[:, :-1])
    known = np.isfinite(ratio) & (ratio > 0) & (lower > MIN_TICKS * ticks)
    number = int(known.sum())
    if number < MIN_MOVES:
        return _too_few_moves(notice, number)
    size = np.abs(np.log(np.where(known, ratio, 1.0)))
    like_a_split = np.abs(size[..., np.newaxis] - np.log(SPLIT_RATIOS)).min(axis=-1) < SPLIT_TOLERANCE
    # A split also changes the number of shares.
    undeclared = like_a_split & (np.abs(np.log(np.abs(ratio * shares))) > SPLIT_TOLERANCE + MAX_TRADED)
    moves = int(undeclared.sum())
    name, session = np.unravel_index(int(undeclared.argmax()), undeclared.shape)
    day = np.datetime64(int(holdings.days[session + 1]), "D")
    return judged(
        notice,
        float(moves),
        f"{moves} moves of marks look like splits that did not change the shares, one of them from {holdings.marks[name, session]:g} to "
        f"{holdings.marks[name, session + 1]:g} on {day}.",
        moves=moves,
    )


def _judge_payments(holdings: Holdings, moves: Floats) -> NoticeOutcome:
    """Judge by how much marks fall, relative to the other names of the session, when a name pays cash; by least squares through 0."""
    notice = "book.marks_on_payment"
    if holdings.paid is None:
        return not_checked(notice, "the run sealed no cash_adjustment")
    yields = holdings.paid[:, 1:] / (holdings.quantities[:, :-1] * holdings.marks[:, :-1])
    known = np.isfinite(moves)
    others = known & (yields == 0)
    own = moves - column_mean(np.where(others, moves, np.nan))
    paying = np.isfinite(own) & (yields > 0) & (yields < MAX_PAYMENT)
    payments = int(paying.sum())
    if payments < MIN_PAYMENTS:
        return too_few(notice, payments, "position", "received or paid cash", MIN_PAYMENTS)
    # A split in the same session would dominate.
    size, fall = yields[paying], np.clip(-own[paying], -2 * MAX_PAYMENT, 2 * MAX_PAYMENT)
    share = float((size * fall).sum() / (size**2).sum())
    error = float(np.sqrt((size**2 * (fall - share * size) ** 2).sum()) / (size**2).sum())
    message = f"When names pay cash, marks fall by {share:.0%} of it on average, of {payments} payments."
    return judged(notice, share, message, chance=USUAL_FALL - by_chance(payments) * error, payments=payments)

"""Notices on weeks in which a score is reversed, or takes in returns with the opposite sign, and earns by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from datasets.figures.series import Flags, Floats
from pipeline.notices.correlations import (
    centred_ranks,
    column_mean,
    judge_mean,
    rank_correlations,
    relative_ranks,
)
from pipeline.notices.outcome import NoticeOutcome, uncorrelated
from schemas.notices.notice import MIN_CORRELATED_WEEKS
from schemas.notices.signal import (
    FLIPPED_CORRELATION,
    MAX_DELAY_WEEKS,
    MIN_OUTLYING,
    MIN_RANKED_NAMES,
    MIN_SPELLS,
    MIN_TAKEN_IN,
    OPPOSED_CORRELATION,
    STEADY_CORRELATION,
)

_MIN_NAMES: Final = 32
"""Minimum names for relating the changes of a score to earlier returns."""


def judge_turned_weeks(scores: Floats, returns: Floats) -> Iterator[NoticeOutcome]:
    """Judge what the score earned in weeks in which it is reversed, or whose returns it takes in with the opposite sign.

    A score may turn round by what was known, such as a trend of the market or of its own returns. It then earns no more in these weeks
    than in others, and loses until it turns again as often as any. One that was turned where it lost, or whose prices were, earns in all
    of them what it would have lost.
    """
    by_rank = column_mean(relative_ranks(np.where(np.isfinite(returns), scores, np.nan)) * returns)
    sizes = relative_ranks(np.abs(by_rank)[:, np.newaxis])[:, 0]
    earned = np.sign(by_rank) * (1 + sizes) / 2
    sides = _sides(scores)
    yield _judge("signal.flipped_weeks", earned, sides < 0, "scores in reversed order")
    spells = np.cumsum(np.append(False, np.diff(sides) != 0))
    by_spell = np.sign(np.bincount(spells, np.nan_to_num(by_rank)))
    yield judge_mean(
        "signal.flipped_spells",
        np.where(by_spell == 0, np.nan, by_spell),
        "Between one reversal of its ranking and the next, the score earns in almost every one of {number} spells: the mean of their signs is {mean:.2f}.",
        "scores in one order, and returns",
        period="spell",
        fewest=MIN_SPELLS,
    )
    notice = "signal.opposed_weeks"
    taken_in = _taken_in(sides * centred_ranks(scores), returns)
    usual = float(np.nanmedian(taken_in))
    if abs(usual) < MIN_TAKEN_IN:
        yield uncorrelated(notice, "changes of the score and earlier returns", usual, MIN_TAKEN_IN)
        return
    opposed = np.sign(usual) * taken_in < OPPOSED_CORRELATION
    yield _judge(notice, earned, opposed, "returns that the score takes in with the opposite sign")


def _judge(notice: str, earned: Floats, turned: Flags, which: str) -> NoticeOutcome:
    return judge_mean(
        notice,
        np.where(turned, earned, np.nan),
        f"Between the worst week of the score (-1) and the best (1), {{number}} weeks with {which} lie at {{mean:.2f}} on average.",
        which,
        fewest=MIN_OUTLYING,
    )


def _sides(scores: Floats) -> Floats:
    """Return -1 for the weeks in which the order of a steady score is reversed, and 1 for the others, which are more."""
    weekly = rank_correlations(scores[:, :-1], scores[:, 1:], MIN_RANKED_NAMES)
    known = np.isfinite(weekly)
    if not known.any() or np.median(weekly[known]) < STEADY_CORRELATION:
        return np.ones(scores.shape[1])
    turns = np.append(1.0, weekly) < FLIPPED_CORRELATION
    sides: Floats = np.cumprod(np.where(turns, -1.0, 1.0), dtype=np.float64)
    return sides if sides[np.isfinite(scores).any(axis=0)].sum() >= 0 else np.negative(sides)


def _taken_in(ranks: Floats, returns: Floats) -> Floats:
    """Return the rank correlation of the returns of each week with the change of the score some weeks later, at the delay with the largest median."""
    changes, weeks = np.diff(ranks, axis=1), ranks.shape[1]
    by_delay = [
        rank_correlations(changes[:, delay - 1 :], returns[:, : weeks - delay], _MIN_NAMES)
        for delay in range(1, min(MAX_DELAY_WEEKS + 1, weeks))
    ]
    long = [weekly for weekly in by_delay if np.isfinite(weekly).sum() >= MIN_CORRELATED_WEEKS]
    strongest = max(long, key=lambda weekly: abs(np.nanmedian(weekly)), default=np.zeros(weeks))
    return np.append(strongest, np.full(weeks - strongest.size, np.nan))

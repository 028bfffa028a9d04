"""Notices on weights within a side of a book: whether they follow returns that the score does not explain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from datasets.figures.series import Floats
from pipeline.notices.correlations import centred_ranks, column_mean, judge_mean, rank_correlations
from pipeline.notices.outcome import NoticeOutcome, first_noticed, not_checked
from schemas.notices.books import MIN_NET_VARIATION
from schemas.notices.notice import NOTICE
from schemas.notices.signal import MIN_SIZED_WEEKS

_TOLERANCE: Final = 1e-6
"""Relative tolerance between equal weights, and between equal orders."""


def judge_weights(weights: Mapping[str, Floats], scores: Floats, returns: Floats) -> Iterator[NoticeOutcome]:
    """Judge whether weights within a side follow returns beyond what the score explains; `weights` are by book."""
    for notice, judge in (("signal.weight_ic", _judge_weights), ("signal.name_sizes", _judge_name_sizes)):
        outcomes = [judge(book, own, scores, returns) for book, own in weights.items()]
        yield max(
            outcomes,
            key=lambda x: (x.outcome == NOTICE, x.value is not None),
            default=not_checked(notice, "the run sealed no target weights"),
        )


def _judge_weights(book: str, weights: Floats, scores: Floats, returns: Floats) -> NoticeOutcome:
    """Judge one book: what its weights earn beyond the score, and what they earn where the score is the same.

    A side has the names with a weight, and those without one whose score is stronger than the weakest score with a weight. The partial
    correlation shows returns that move a weight by less than its distance to the next one.
    """
    beyond, partial = [], []
    for sign in (1, -1):
        strength, weight = sign * scores, sign * weights
        weakest = np.fmin.reduce(np.where(weight > 0, strength, np.nan), axis=0)
        size = np.where((weight > 0) | (strength > weakest), np.maximum(weight, 0.0), np.nan)
        # Equal weights, as in many books, cannot be ranked.
        differing = np.flatnonzero(
            np.fmax.reduce(size, axis=0) > np.fmin.reduce(size, axis=0) * (1 + _TOLERANCE)
        )
        size, strength, earned = (
            np.where(np.isfinite(size + returns), values, np.nan)[:, differing]
            for values in (size, strength, sign * returns)
        )
        by_size = rank_correlations(size, earned)
        by_score, alike = (np.nan_to_num(rank_correlations(strength, own)) for own in (earned, size))
        beyond.append(by_size - by_score)
        # Weights in the order of the scores leave nothing to explain.
        unexplained = np.where(np.abs(alike) < 1 - _TOLERANCE, 1 - alike**2, np.nan)
        partial.append((by_size - by_score * alike) / np.sqrt(unexplained * (1 - by_score**2)))
    return first_noticed(
        *(
            judge_mean(
                "signal.weight_ic",
                np.concatenate(sides),
                f"Within the sides of {book}, weights have a rank correlation with forward returns {text}.",
                "different weights",
                period="side",
            )
            for sides, text in (
                (beyond, "that exceeds that of the score by {mean:.3f}"),
                (partial, "of {mean:.3f} at a given score"),
            )
        ),
        _judge_concentration(book, weights, scores, returns),
    )


def _judge_concentration(book: str, weights: Floats, scores: Floats, returns: Floats) -> NoticeOutcome:
    """Judge whether the sides of a book had fewer names, or less equal weights, in weeks in which their strongest names paid more.

    That is the rank correlation of score and return among as many of the strongest names as the side holds in its broadest weeks. What
    the concentration of their scores explains of that of the weights is left out: weights may follow scores that stand out.
    """
    products = []
    for sign in (1, -1):
        weight = np.maximum(np.nan_to_num(sign * weights), 0.0)
        held = (weight > 0).sum(axis=0)
        broadest = np.quantile(held[held > 0], 0.9) if held.any() else 0
        strength = np.where(np.isfinite(returns), sign * scores, np.nan)
        place = np.argsort(np.argsort(np.where(np.isfinite(strength), -strength, np.inf), axis=0), axis=0)
        strongest = np.where(place < broadest, strength - column_mean(strength), np.nan)
        paid = rank_correlations(strongest, sign * returns)
        of_weights, of_scores = (
            np.sum(size**2, axis=0) / np.sum(size, axis=0) ** 2 for size in (weight, np.nan_to_num(strongest))
        )
        both = np.isfinite(of_weights + of_scores + paid)
        product = np.full(both.shape, np.nan)
        if both.any() and of_weights[both].std() > MIN_NET_VARIATION * of_weights[both].mean():
            ranks, explaining = centred_ranks(np.column_stack([of_weights[both], of_scores[both]])).T
            unexplained = ranks - explaining * (explaining @ ranks) / (explaining @ explaining)
            earned = paid[both] - paid[both].mean()
            product[both] = unexplained * earned / (unexplained.std() * earned.std())
        products.append(product)
    return judge_mean(
        "signal.weight_ic",
        np.concatenate(products),
        f"The concentration of the sides of {book} has a correlation of {{mean:.3f}} with the rank correlation of score and return among "
        "their strongest names.",
        "weights of varying concentration",
        period="side",
        groups=np.tile(np.arange(weights.shape[1]), len(products)),
    )


def _judge_name_sizes(book: str, weights: Floats, scores: Floats, returns: Floats) -> NoticeOutcome:
    """Judge whether names that paid late in the run had larger weights early in it than their scores explain.

    A size tuned by name hardly shows against the returns of its own weeks. One that has learned from the past follows what was
    earned before it, not what is earned after it.
    """
    third = weights.shape[1] // 3
    sides = [(1, weights > 0), (-1, weights < 0)] if (weights < 0).any() else [(1, weights > 0)]
    larger, number = np.zeros(len(weights)), np.zeros(len(weights))
    for sign, held in sides:
        side = (held & np.isfinite(scores))[:, :third]
        size, strength = (
            centred_ranks(np.where(side, sign * values[:, :third], np.nan)) for values in (weights, scores)
        )
        larger += np.nansum(size - strength, axis=1)
        number += side.sum(axis=1)
    early = np.where(number >= MIN_SIZED_WEEKS, larger / number, np.nan)[:, np.newaxis]
    correlations = [
        rank_correlations(np.where(held, early, np.nan), sign * returns)[third:] for sign, held in sides
    ]
    return judge_mean(
        "signal.name_sizes",
        np.mean(correlations, axis=0),
        f"In {{number}} weeks after the first third of the run, what names of {book} earned has a rank correlation of {{mean:.3f}} with their "
        "weights in that third beyond what the scores explain.",
        "weights on each side whose order differs from that of the scores",
    )


def judge_tilt(weights: Floats | None, positions: Floats | None, returns: Floats) -> NoticeOutcome:
    """Judge whether positions are larger than their target weights where they pay.

    The move of the first day adds to a long position what it takes from the gain of a short one, so that it cancels over both.
    """
    notice = "book.tilt"
    if weights is None or positions is None:
        return not_checked(notice, "the run did not seal target weights and positions of long_short")
    sides = [
        rank_correlations(np.where(sign * weights > 0, positions / weights, np.nan), sign * returns)
        for sign in (1, -1)
    ]
    message = "Within the sides of long_short, positions relative to their target weights have a rank correlation of {mean:.3f} with what the names earned."
    return judge_mean(notice, np.mean(sides, axis=0), message, "positions on both sides")

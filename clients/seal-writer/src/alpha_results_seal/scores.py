"""Books from scores: the equally weighted tails of each week's cross-section."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from alpha_results_seal.costs import is_finite
from alpha_results_seal.errors import SealError
from alpha_results_seal.frames import Floats, Matrix
from alpha_results_seal.market import Market
from alpha_results_seal.plurals import counted
from alpha_results_seal.weeks import last_sessions, week_numbers


@dataclass(frozen=True)
class Tails:
    """Weekly decisions from scores.

    Attributes
    ----------
    scores
        Scores of the decision days, one per week.
    weights
        Book -> target weights of the same days.
    notes
        Notes on omissions, one sentence each.
    """

    scores: Matrix
    weights: dict[str, Matrix]
    notes: tuple[str, ...]


def select_tails(scores: Matrix, market: Market, tails: float) -> Tails:
    """Decide once per week, on the week's last scores, among the names with a close on that day.

    Parameters
    ----------
    scores
        Scores by day and name; higher is better.
    market
        Prices and sessions; its names include those of the scores.
    tails
        Share of the names in each tail.

    Raises
    ------
    SealError
        If `tails` is not above 0 and at most 0.5, or no week has two names with a score and a close.
    """
    if not (is_finite(tails) and 0.0 < tails <= 0.5):
        raise SealError(
            f"tails is {tails!r}: give the share of the names in each tail, above 0 and at most 0.5."
        )
    weekly, notes = _weekly(scores, market)
    place = np.searchsorted(market.sessions, last_sessions(weekly.days, market.sessions))
    closes = np.isfinite(market.closes[:, np.searchsorted(market.symbols, weekly.symbols)])
    priced = closes[place]
    unpriced = [weekly.symbols[at] for at in np.flatnonzero(~closes.any(axis=0))]
    if unpriced:
        names = counted(len(unpriced), "name with scores has", "names with scores have")
        notes.append(f"{names} no prices, the first: {unpriced[0]}")
    selectable = np.where(priced, weekly.values, np.nan)
    has_tails = np.isfinite(selectable).sum(axis=1) >= 2
    if not has_tails.any():
        example = f" ({notes[-1]})" if unpriced else ""
        raise SealError(
            f"no week has two names with a score and a close on its day{example}: compare the names and days of both frames."
        )
    if not has_tails.all():
        first = weekly.days[~has_tails][0]
        omitted = counted(int((~has_tails).sum()), "week")
        notes.append(
            f"{omitted} left out, as fewer than two names have a score and a close, the first: {first}"
        )
    weekly = weekly.rows(has_tails)
    book = np.array([tail_weights(row, tails) for row in selectable[has_tails]])
    weights = {
        name: Matrix(weekly.days, weekly.symbols, values)
        for name, values in (("long_short", book), ("long_only", _fully_invested(book)))
    }
    return Tails(weekly, weights, tuple(notes))


def tail_weights(scores: Floats, tails: float) -> Floats:
    """Return equal weights for the two tails of one cross-section: the long side sums to 1, the short side to -1.

    Each tail has ``floor(tails * N)`` places of the N scored names, at least one. Names tied at the edge of a tail share
    its remaining places, so that the order of names does not matter; if all tie, every weight is 0.

    Parameters
    ----------
    scores : numpy.ndarray, shape (N,)
        NaN for names that cannot be selected.
    tails : float
        Share of the names in each tail.

    Returns
    -------
    numpy.ndarray, shape (N,)
        Fractions of equity; 0 outside the tails.
    """
    scored = np.isfinite(scores)
    places = max(1, int(np.floor(tails * scored.sum() + 1e-9)))
    _, group, size = np.unique(scores[scored], return_inverse=True, return_counts=True)
    below = np.cumsum(size) - size
    above = size[::-1].cumsum()[::-1] - size
    share = np.clip((places - above) / size, 0.0, 1.0) - np.clip((places - below) / size, 0.0, 1.0)
    weights = np.zeros(len(scores))
    weights[scored] = share[group.reshape(-1)] / places
    return weights


def _weekly(scores: Matrix, market: Market) -> tuple[Matrix, list[str]]:
    """Return the scores of the last day of each week that has scores and prices, with notes on omitted days."""
    notes = []
    has_scores = np.isfinite(scores.values).any(axis=1)
    sessions = market.sessions[: market.observed]
    before_first = scores.days < sessions[0]
    after_last = week_numbers(scores.days) > week_numbers(sessions[-1:])
    for where, omitted in (
        ("before the first", has_scores & before_first),
        ("after the week of the last", has_scores & after_last),
    ):
        if omitted.any():
            notes.append(f"{counted(int(omitted.sum()), 'day')} of scores left out, {where} price")
    days = np.flatnonzero(has_scores & ~before_first & ~after_last)
    if not has_scores.any():
        raise SealError("scores have no value: every score is missing.")
    if not days.size:
        raise SealError("scores and prices have no day in common.")
    dated = last_sessions(scores.days[days], market.sessions)
    last = np.append(np.diff(week_numbers(dated)) != 0, [True])
    if not last.all():
        weeks = counted(int(last.sum()), "week")
        notes.append(
            f"{days.size} days have scores, but decisions are weekly: only the last day of each of {weeks} is used"
        )
    return scores.rows(days[last]), notes


def _fully_invested(book: Floats) -> Floats:
    longs = np.maximum(book, 0.0)
    total = longs.sum(axis=1, keepdims=True)
    scaled: Floats = np.divide(longs, total, out=np.zeros_like(longs), where=total > 0)
    return scaled

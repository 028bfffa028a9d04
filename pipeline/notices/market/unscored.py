"""Notice on names with market prices that a run never scores."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats
from pipeline.notices.correlations import centred_ranks, column_mean, relative_ranks
from pipeline.notices.market.price_file import MarketPrices
from pipeline.notices.outcome import NoticeOutcome, judged, too_few, uncorrelated
from pipeline.notices.probe import name_digest
from pipeline.notices.rows import place_in, to_days
from schemas.notices.market import EXPLAINED_SCORE, MAX_PRICED, MIN_UNSCORED, WINDOWS
from schemas.notices.notice import CHANCE, MIN_CORRELATED_WEEKS

_TAILS: Final = 3
"""Power of the expected rank, from -1 to 1, at which a name counts: like a book, the two ends of the score far more than its middle."""


def judge_unscored(scored: pl.DataFrame, market: MarketPrices) -> NoticeOutcome:
    """Judge whether names that the run never scores would have lost, by the scores that other names have after like price changes.

    Parameters
    ----------
    scored
        ``symbol``, ``date`` and ``score``, without nulls.
    market
        Prices of the market.
    """
    notice, symbols = "market.unscored", market.names.categories.to_list()
    chosen = np.array(sorted(range(len(symbols)), key=lambda code: name_digest(symbols[code]))[:MAX_PRICED])
    weeks, week = np.unique(to_days(scored["date"]), return_inverse=True)
    name, among = place_in(scored["symbol"].to_physical().to_numpy().astype(np.int64), chosen)
    scores = np.full((chosen.size, weeks.size), np.nan)
    scores[name[among], week[among]] = scored["score"].to_numpy()[among]
    prices = np.log((market.closes * np.nan_to_num(market.adjustments, nan=1.0))[:-1, chosen].T)
    at = np.searchsorted(market.days, weeks, side="right") - 1
    expected, explained = _expected_ranks(relative_ranks(scores), prices, at)
    if not explained >= EXPLAINED_SCORE:
        return uncorrelated(notice, "scores and changes of prices", explained, EXPLAINED_SCORE)
    moves = np.diff(prices[:, at], append=np.nan)
    gains = expected**_TAILS * (moves - column_mean(moves))
    known = np.isfinite(gains).sum(axis=1) >= MIN_CORRELATED_WEEKS
    earned = centred_ranks(np.nansum(gains[known], axis=1, keepdims=True))[:, 0]
    out = np.isnan(scores[known]).all(axis=1)
    number, others = int(out.sum()), int((~out).sum())
    if min(number, others) < MIN_UNSCORED:
        return too_few(notice, number, "name", "prices of the market and no score", MIN_UNSCORED)
    # Normal scores (van der Waerden, 1952): any of the names may be those without a score.
    normal = np.array([NormalDist().inv_cdf(x) for x in (1 + earned / (earned.size + 1)) / 2])
    difference = float(normal[~out].mean() - normal[out].mean())
    return judged(
        notice,
        difference,
        f"{number} names with prices of the market and no score would have lost in the run: by the scores that {others} others have after like "
        f"changes of prices, they rank {difference:.1f} standard deviations below these.",
        chance=CHANCE * float(normal.std(ddof=1)) * math.sqrt(1 / number + 1 / others),
        names=number,
    )


def _expected_ranks(ranks: Floats, prices: Floats, at: Integers) -> tuple[Floats, float]:
    """Expect the rank of every name from the changes of its price and their sizes, as they explain the known ranks by least squares.

    Parameters
    ----------
    ranks
        Ranks of the scores, shape (names, weeks); NaN where there is none.
    prices
        Logarithms of the prices, shape (names, days).
    at
        Last day of each week, -1 before the first.

    Returns
    -------
    expected : Floats, shape (names, weeks)
        NaN where a name has no price.
    explained : float
        Correlation of the known ranks with those that are explained; NaN without any.
    """
    sizes = np.nancumsum(np.abs(np.diff(prices, prepend=prices[:, :1])), axis=1)
    priced = np.isfinite(prices[:, at]) & (at >= 0)
    changes = (
        np.where(priced & (at >= window), path[:, at] - path[:, np.maximum(at - window, 0)], np.nan)
        for path in (prices, sizes)
        for window in WINDOWS
    )
    # What is unknown, such as changes before the first price, counts as usual.
    explaining = np.stack([np.nan_to_num(relative_ranks(each)) for each in changes], axis=-1)
    known = np.isfinite(ranks) & priced
    shares = np.linalg.lstsq(explaining[known], ranks[known], rcond=None)[0]
    fitted = explaining @ shares
    unexplained = ((ranks - fitted)[known] ** 2).sum() / (ranks[known] ** 2).sum()
    return relative_ranks(np.where(priced, fitted, np.nan)), math.sqrt(1 - float(unexplained))

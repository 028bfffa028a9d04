"""Probability of backtest overfitting, and the effective number of trials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from datasets.figures.series import ROUNDING, Floats, Matrix
from datasets.figures.sharpe import MIN_OBSERVATIONS, expected_maximum_sharpe, sharpe_deviation
from datasets.figures.unavailable import Unavailable, no_variation, too_few
from schemas.objects.luck import CLUSTERS, DISTINCT

BLOCKS: Final = 16
"""Blocks of days, as in the paper; there are 12,870 ways to choose half of them."""
MIN_BLOCK: Final = 5
"""Minimum days per block; with fewer, the halves would be noise."""
_MAX_ELEMENTS: Final = 2**15
"""Maximum elements of an intermediate array, so that it fits a core's cache."""


def overfitting(returns: Matrix, blocks: int = BLOCKS) -> dict[str, float] | Unavailable:
    """Estimate the probability of backtest overfitting from the returns of every trial.

    The days are cut into blocks. For every choice of half of the blocks, the trial with the highest Sharpe ratio in them (the
    first of equal ones) is ranked, ties averaged, among all trials in the other half. The probability is the share of choices
    where this rank over the number of trials plus one is at most one half.

    Parameters
    ----------
    returns : Matrix, shape (n_days, n_trials)
        Daily returns, fractions in order of date, without NaN.
    blocks : int
        Number of blocks, even, at least 2. The last days beyond a multiple of it are dropped.

    Returns
    -------
    dict or Unavailable
        ``probability``, and the numbers of ``trials``, ``blocks`` and ``splits``. ``insufficient_data`` with fewer than two
        trials or five days per block; ``nonpositive_variance`` when a trial is constant over one half.

    References
    ----------
    Bailey, Borwein, López de Prado and Zhu (2017), "The Probability of Backtest Overfitting", Journal of
    Computational Finance 20(4).
    """
    days, trials = returns.shape
    if trials < 2:
        return too_few(trials, 2, "sealed trials")
    length = days // blocks
    if length < MIN_BLOCK:
        return too_few(days, MIN_BLOCK * blocks, "days with the returns of every trial")
    # Centre by each trial's mean, so that the sums of squares lose no digits; the mean is added back below.
    centre = returns.mean(axis=0)
    cut = (returns[: length * blocks] - centre).reshape(blocks, length, trials)
    sums, squares = cut.sum(axis=1), np.square(cut).sum(axis=1)
    halves = _halves(blocks)
    below = 0
    step = max(1, _MAX_ELEMENTS // trials)
    # The second half of the choices are the complements of the first half.
    chosen = halves[: len(halves) // 2]
    for start in range(0, len(chosen), step):
        inside = chosen[start : start + step]
        first, second = (_ratios(half, sums, squares, centre, length) for half in (inside, 1.0 - inside))
        if first is None or second is None:
            return no_variation("returns of a trial over one half of the days")
        below += _below_median(first, second) + _below_median(second, first)
    probability, splits = below / len(halves), len(halves)
    return {"probability": probability, "trials": trials, "blocks": blocks, "splits": splits}


@lru_cache(maxsize=4)
def _halves(blocks: int) -> Matrix:
    """Return every choice of half of the blocks, one row each, 1 for a chosen block."""
    chosen = np.array(list(combinations(range(blocks), blocks // 2)))
    halves = np.zeros((len(chosen), blocks))
    np.put_along_axis(halves, chosen, 1.0, axis=1)
    return halves


def _below_median(fitted: Matrix, tested: Matrix) -> int:
    """Count the splits in which the best trial in sample is at most the median out of sample."""
    picked = np.take_along_axis(tested, fitted.argmax(axis=1)[:, None], axis=1)
    # Twice the average rank: twice the number below, plus the number of equal ones (including the trial), plus one.
    twice_rank = np.count_nonzero(tested < picked, axis=1) + np.count_nonzero(tested <= picked, axis=1) + 1
    return int(np.count_nonzero(twice_rank <= tested.shape[1] + 1))


def _ratios(half: Matrix, sums: Matrix, squares: Matrix, centre: Floats, length: int) -> Matrix | None:
    """Return the Sharpe ratio of each trial over each choice of blocks; None if a trial is constant."""
    days = length * half.shape[1] // 2
    mean = half @ sums / days
    variance = (half @ squares - days * mean**2) / (days - 1)
    if (variance <= ROUNDING**2).any():
        return None
    ratios: Matrix = (mean + centre) / np.sqrt(variance)
    return ratios


COPY: Final = 0.95
"""Correlation above which trials count as copies: they share nine tenths of their variance."""
ALIKE: Final = 0.5
"""Minimum mean correlation of a cluster."""


@dataclass(frozen=True, slots=True)
class TrialGroups:
    """Portfolios of trials that count as one: copies of a trial, and clusters of similar ones.

    Attributes
    ----------
    distinct : Matrix, shape (n_trials, n_distinct)
        Weight of each trial in the series of each distinct trial; columns sum to 1.
    clusters : Matrix, shape (n_trials, n_clusters)
        Weight of each trial in the series of each cluster of distinct trials; columns sum to 1.
    """

    distinct: Matrix
    clusters: Matrix


@dataclass(frozen=True, slots=True)
class EffectiveTrials:
    """The effective number of trials, and the dispersion of their Sharpe ratios.

    Attributes
    ----------
    count : int
        Number of groups, at least 2.
    deviation : float
        Sample deviation (ddof 1) of the groups' Sharpe ratios, per observation.
    counted_by : str
        ``distinct`` or ``clusters``.
    """

    count: int
    deviation: float
    counted_by: str


def cluster_trials(returns: Matrix) -> TrialGroups | None:
    """Group trials by the correlation of their returns.

    Copies are combined first, by complete linkage at a correlation of :data:`COPY`; a group's series halves the weight at
    every branch of the tree, so that further copies add no weight. The groups are then clustered as López de Prado and Lewis
    (2019) cluster trials: by the distance ``sqrt((1 - correlation) / 2)``, into the number of clusters whose silhouettes
    have the highest mean over deviation. In place of their randomly started k-means, the clusters come from average linkage,
    which does not depend on the order of the trials, and merge only down to the mean correlation :data:`ALIKE`, because
    silhouettes alone find clusters in pure noise. Every series is standardised before it is combined with others.

    Parameters
    ----------
    returns : Matrix, shape (n_days, n_trials)
        Daily returns, fractions, without NaN.

    Returns
    -------
    TrialGroups or None
        None without trials, with fewer than ten days, or if a trial is constant.

    References
    ----------
    López de Prado and Lewis (2019), "Detection of false investment strategies using unsupervised learning methods",
    Quantitative Finance 19(9). Rousseeuw (1987), "Silhouettes", Journal of Computational and Applied Mathematics 20.
    """
    days, trials = returns.shape
    deviations = returns.std(axis=0, ddof=1) if days >= MIN_OBSERVATIONS else np.zeros(trials)
    if not trials or (deviations <= ROUNDING).any():
        return None
    scaled = (returns - returns.mean(axis=0)) / deviations
    correlations = scaled.T @ scaled / (days - 1)
    groups = _join_copies(correlations)
    # Deviation of each group's series, from the correlations.
    spread = np.sqrt(np.einsum("ig,ij,jg->g", groups, correlations, groups, optimize=True))
    between = groups.T @ correlations @ groups / np.outer(spread, spread)
    labels = _best_clusters(_distances(between))
    chosen = np.eye(int(labels.max()) + 1)[labels] / spread[:, None]
    return TrialGroups(_weights(groups, deviations), _weights(groups @ chosen, deviations))


def effective_trials(returns: Matrix, groups: TrialGroups) -> EffectiveTrials | None:
    """Count distinct trials or clusters, whichever gives the higher expected maximum Sharpe ratio.

    Each count underestimates the expected maximum for some searches. If most distinct trials are similar, the dispersion of
    their ratios is small and hides the few that differ. Clusters ignore the selection of the best trial within each: the
    best of sixty trials in six equal clusters is expected to be two thirds higher than the best of six.

    Parameters
    ----------
    returns : Matrix, shape (n_days, n_trials)
        Daily returns of the grouped trials, or their excess over a common rate; fractions, without NaN.
    groups : TrialGroups
        Result of :func:`cluster_trials` for these trials.

    Returns
    -------
    EffectiveTrials or None
        None with fewer than two groups or ten days, or when a series is constant.
    """
    candidates = []
    for name, weights in ((DISTINCT, groups.distinct), (CLUSTERS, groups.clusters)):
        deviation = sharpe_deviation(returns @ weights)
        if deviation is not None:
            candidates.append(EffectiveTrials(weights.shape[1], deviation, name))
    return max(candidates, key=lambda x: expected_maximum_sharpe(x.count, x.deviation), default=None)


def _join_copies(correlations: Matrix) -> Matrix:
    """Return the weight of each trial (row) in each group of copies (column)."""
    trials = len(correlations)
    members = {trial: [trial] for trial in range(trials)}
    share = np.ones(trials)
    limit = math.sqrt((1 - COPY) / 2)
    for node, (left, right, height, _) in enumerate(_tree(_distances(correlations), "complete"), trials):
        if height > limit:
            break
        members[node] = members.pop(int(left)) + members.pop(int(right))
        share[members[node]] /= 2
    groups = np.zeros((trials, len(members)))
    for column, group in enumerate(members.values()):
        groups[group, column] = share[group]
    return groups


def _best_clusters(distances: Matrix) -> npt.NDArray[np.intp]:
    """Return the cluster of each item, numbered from 0; items are only joined if this improves the silhouettes."""
    items = len(distances)
    labels = np.arange(items)
    best, highest = labels.copy(), 0.0
    size, column = np.ones(items), dict(enumerate(range(items)))
    # Mean distance of each item to the others of its cluster.
    inside = np.zeros(items)
    # Mean distance of each item to each other cluster; infinite for its own cluster and in columns of merged clusters.
    outside = distances.copy()
    np.fill_diagonal(outside, np.inf)
    nearest = outside.argmin(axis=1)
    limit = math.sqrt((1 - ALIKE) / 2)
    for node, (left, right, height, _) in enumerate(_tree(distances, "average")[:-1], items):
        if height > limit:
            break
        kept, gone = column.pop(int(left)), column.pop(int(right))
        column[node] = kept
        for one, other in ((kept, gone), (gone, kept)):
            of_one = labels == one
            total = inside[of_one] * (size[one] - 1) + outside[of_one, other] * size[other]
            inside[of_one] = total / (size[one] + size[other] - 1)
        joined = (labels == kept) | (labels == gone)
        merged_size = size[kept] + size[gone]
        outside[:, kept] = (outside[:, kept] * size[kept] + outside[:, gone] * size[gone]) / merged_size
        outside[:, gone] = np.inf
        labels[joined], size[kept] = kept, merged_size
        # A mean is at least the smaller distance, so only items whose nearest cluster was one of the two are updated.
        stale = joined | (nearest == kept) | (nearest == gone)
        nearest[stale] = outside[stale].argmin(axis=1)
        silhouettes = _silhouettes(inside, outside[np.arange(items), nearest], size[labels] > 1)
        spread = float(silhouettes.std())
        quality = float(silhouettes.mean()) / max(spread, ROUNDING)
        if quality > highest:
            best, highest = labels.copy(), quality
    return np.unique(best, return_inverse=True)[1]


def _silhouettes(inside: Floats, outside: Floats, shared: npt.NDArray[np.bool_]) -> Floats:
    """Return the silhouette of each item; 0 for singletons."""
    farther = np.maximum(inside, outside)
    silhouettes = np.zeros(inside.size)
    np.divide(outside - inside, farther, out=silhouettes, where=shared & (farther > 0))
    return silhouettes


def _weights(shares: Matrix, deviations: Floats) -> Matrix:
    """Return the weight of each trial in each series, from shares in standardised trials."""
    weights: Matrix = shares / deviations[:, None]
    weights /= weights.sum(axis=0)
    return weights


def _distances(correlations: Matrix) -> Matrix:
    distances = np.sqrt(np.clip((1 - correlations) / 2, 0.0, 1.0))
    np.fill_diagonal(distances, 0.0)
    return distances


def _tree(distances: Matrix, method: Any) -> Any:
    """Return the linkage matrix of items in SciPy's format; empty for a single item."""
    if len(distances) < 2:
        return np.empty((0, 4))
    from scipy.cluster.hierarchy import linkage  # noqa: PLC0415 - slow to load: programs start without it
    from scipy.spatial.distance import squareform  # noqa: PLC0415 - as above

    return linkage(squareform(distances, checks=False), method)

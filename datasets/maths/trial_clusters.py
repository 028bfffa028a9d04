"""How many different trials a search made, whose trials are partly copies of one another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from datasets.maths.series import ROUNDING, Floats
from datasets.maths.sharpe import MIN_OBSERVATIONS, expected_maximum_sharpe, sharpe_deviation
from schemas.objects.luck import CLUSTERS, DISTINCT

Matrix: TypeAlias = npt.NDArray[np.float64]
COPY: Final = 0.95
"""Correlation from which trials are copies of one another: nine tenths of their variance is common."""
ALIKE: Final = 0.5
"""Mean correlation below which trials are no cluster, however far others lie from them."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Two ways to count the trials of a search.

    Attributes
    ----------
    distinct
        A row a trial, a column a distinct trial: the weights by which copies are combined to one series. Each column
        adds up to 1, and is 1 at a trial that has no copy.
    clusters
        The same for clusters of distinct trials.
    """

    distinct: Matrix
    clusters: Matrix


@dataclass(frozen=True, slots=True)
class EffectiveTrials:
    """How many trials count, and how far they lie apart.

    Attributes
    ----------
    count
        At least 2.
    deviation
        Sample deviation (ddof 1) of their Sharpe ratios, per observation.
    counted_by
        ``distinct`` or ``clusters``.
    """

    count: int
    deviation: float
    counted_by: str


def cluster_trials(returns: Matrix) -> Cuts | None:
    """Group trials by the correlation of their returns.

    Copies are put together first: groups of which every two trials correlate at :data:`COPY` or more, by complete
    linkage, so that a further copy of a trial moves no other group. Their series is the mean along the tree, half of
    each branch: copies add no weight to what they copy. The groups are then clustered as López de Prado and Lewis
    (2019) cluster trials: by the distance ``sqrt((1 - correlation) / 2)``, into the number of clusters whose
    silhouettes have the highest mean over deviation. Their k-means starts at random places; here the clusters are those
    of a tree by average linkage, the same for any order of the trials, and its branches are joined while their mean
    correlation is at least :data:`ALIKE`: silhouettes alone find clusters in pure noise.

    Parameters
    ----------
    returns : Matrix, shape (days, trials)
        Ratios, no NaN.

    Returns
    -------
    Cuts or None
        None with fewer than ten days or when a trial does not vary, so that it correlates with nothing. Trials of other
        scale count alike: every series is divided by its deviation before it is combined with others.

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
    # Deviation of each group's series, from the correlations alone.
    spread = np.sqrt(np.einsum("ig,ij,jg->g", groups, correlations, groups, optimize=True))
    between = groups.T @ correlations @ groups / np.outer(spread, spread)
    labels = _best_clusters(_distances(between))
    chosen = np.eye(int(labels.max()) + 1)[labels] / spread[:, None]
    return Cuts(_weights(groups, deviations), _weights(groups @ chosen, deviations))


def effective_trials(returns: Matrix, cuts: Cuts) -> EffectiveTrials | None:
    """Count the trials in the way that leaves more to luck.

    Neither count is right for every search. Distinct trials that are mostly alike lie close together, so that few of
    another kind are drowned among them. Clusters leave out that the best inside each was picked as well: of sixty
    trials in six equal clusters the best is expected at two thirds more than the best of six. Each of the two expects
    too little of the best where it is not made for the search, so the one that expects more is taken.

    Parameters
    ----------
    returns : Matrix, shape (days, trials)
        Of the trials that were clustered, or the same less a rate that all of them share; no NaN.
    cuts
        Of these trials.

    Returns
    -------
    EffectiveTrials or None
        None when fewer than two trials are distinct, or one of the series does not vary.
    """
    candidates = []
    for name, weights in ((DISTINCT, cuts.distinct), (CLUSTERS, cuts.clusters)):
        deviation = sharpe_deviation(returns @ weights)
        if deviation is not None:
            candidates.append(EffectiveTrials(weights.shape[1], deviation, name))
    return max(candidates, key=lambda x: expected_maximum_sharpe(x.count, x.deviation), default=None)


def _join_copies(correlations: Matrix) -> Matrix:
    """Return the share of each trial (a row) in each group of copies (a column)."""
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
    """Return the cluster of each item, from 0: every item by itself unless joining some makes better silhouettes."""
    items = len(distances)
    labels = np.arange(items)
    best, highest = labels.copy(), 0.0
    size, column = np.ones(items), dict(enumerate(range(items)))
    inside = np.zeros(items)
    """Mean distance of each item to the others of its cluster."""
    outside = distances.copy()
    """Mean distance of each item to each other cluster; infinite to its own, and where a cluster was joined to another."""
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
        both = size[kept] + size[gone]
        outside[:, kept] = (outside[:, kept] * size[kept] + outside[:, gone] * size[gone]) / both
        outside[:, gone] = np.inf
        labels[joined], size[kept] = kept, both
        # The mean of two distances is no less than either: only items whose nearest was one of the two look again.
        again = joined | (nearest == kept) | (nearest == gone)
        nearest[again] = outside[again].argmin(axis=1)
        silhouettes = _silhouettes(inside, outside[np.arange(items), nearest], size[labels] > 1)
        spread = float(silhouettes.std())
        quality = float(silhouettes.mean()) / max(spread, ROUNDING)
        if quality > highest:
            best, highest = labels.copy(), quality
    return np.unique(best, return_inverse=True)[1]


def _silhouettes(inside: Floats, outside: Floats, shared: npt.NDArray[np.bool_]) -> Floats:
    """Return how much nearer each item is to its cluster than to the next one; 0 of one that is alone."""
    farther = np.maximum(inside, outside)
    silhouettes = np.zeros(inside.size)
    np.divide(outside - inside, farther, out=silhouettes, where=shared & (farther > 0))
    return silhouettes


def _weights(shares: Matrix, deviations: Floats) -> Matrix:
    """Return what each trial weighs in each series, of shares in trials of deviation 1."""
    weights: Matrix = shares / deviations[:, None]
    weights /= weights.sum(axis=0)
    return weights


def _distances(correlations: Matrix) -> Matrix:
    distances = np.sqrt(np.clip((1 - correlations) / 2, 0.0, 1.0))
    np.fill_diagonal(distances, 0.0)
    return distances


def _tree(distances: Matrix, method: Any) -> Any:
    """Return the steps in which items are joined, as SciPy has them; none of a single item."""
    if len(distances) < 2:
        return np.empty((0, 4))
    from scipy.cluster.hierarchy import linkage  # noqa: PLC0415 - slow to load: programs start without it
    from scipy.spatial.distance import squareform  # noqa: PLC0415 - as above

    return linkage(squareform(distances, checks=False), method)

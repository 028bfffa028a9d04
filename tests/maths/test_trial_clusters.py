"""Effective number of trials: copies count once, clusters as published, noise fully."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import silhouette_samples

from datasets.figures.overfitting import (
    ALIKE,
    COPY,
    EffectiveTrials,
    TrialGroups,
    cluster_trials,
    effective_trials,
)
from datasets.figures.series import Matrix
from datasets.figures.sharpe import expected_maximum_sharpe, sharpe_deviation
from tests.maths.panels import check, seeds

DAYS = 1000


def blocks(seed: int, sizes: list[int], correlation: float, days: int = DAYS) -> Matrix:
    """Draw skill-less trials in equicorrelated blocks."""
    draw = np.random.default_rng(seed)
    parts = [
        math.sqrt(correlation) * draw.normal(size=(days, 1))
        + math.sqrt(1 - correlation) * draw.normal(size=(days, size))
        for size in sizes
    ]
    return 0.01 * np.concatenate(parts, axis=1)


def group_trials(returns: Matrix) -> TrialGroups:
    groups = cluster_trials(returns)
    assert groups is not None
    return groups


def counted(returns: Matrix) -> EffectiveTrials:
    effective = effective_trials(returns, group_trials(returns))
    assert effective is not None
    return effective


def expected(returns: Matrix) -> float:
    """Return the expected maximum of the trials; 0 if only one counts."""
    effective = effective_trials(returns, group_trials(returns))
    return 0.0 if effective is None else expected_maximum_sharpe(effective.count, effective.deviation)


def groups(weights: Matrix) -> list[list[int]]:
    return sorted(np.flatnonzero(column).tolist() for column in weights.T)


@pytest.mark.parametrize("sizes", [[4, 4, 4], [2] * 5, [10, 3, 7, 1], [20] * 6, [3, 8, 5, 12, 2, 9]])
@pytest.mark.parametrize("correlation", [0.65, 0.8, 0.9])
def test_the_blocks_of_a_correlation_are_its_clusters(sizes: list[int], correlation: float) -> None:
    """As in López de Prado and Lewis (2019), the algorithm finds random correlation blocks."""
    ends = np.cumsum(sizes).tolist()
    expected_groups = [list(range(start, end)) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    assert groups(group_trials(blocks(3, sizes, correlation)).clusters) == expected_groups


@check
@given(seeds, st.integers(2, 30), st.integers(200, 600))
def test_uncorrelated_trials_count_one_each(seed: int, trials: int, days: int) -> None:
    returns = blocks(seed, [1] * trials, 0.5, days)
    effective = counted(returns)
    assert effective.count == trials
    assert effective.deviation == sharpe_deviation(returns), "to the last digit"


@check
@given(seeds, st.integers(2, 8), st.integers(1, 40), st.floats(1e-3, 1e3))
def test_a_copy_of_a_trial_changes_nothing(seed: int, trials: int, copies: int, scale: float) -> None:
    returns = blocks(seed, [2] * trials, 0.7, 300)
    draw = np.random.default_rng(seed)
    places = draw.integers(0, returns.shape[1], copies)
    with_copies = np.concatenate([returns, scale * returns[:, places]], axis=1)
    one, other = counted(returns), counted(with_copies)
    assert (other.count, other.counted_by) == (one.count, one.counted_by)
    assert other.deviation == pytest.approx(one.deviation, rel=1e-6)


@pytest.mark.parametrize("correlation", [0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.9999])
@pytest.mark.parametrize("seed", range(2))
def test_near_copies_of_a_trial_do_not_lower_the_expected_maximum(seed: int, correlation: float) -> None:
    honest = blocks(seed, [1] * 13, 0.5)
    noise = 0.01 * np.random.default_rng(seed + 100).normal(size=(DAYS, 60))
    copies = correlation * honest[:, :1] + math.sqrt(1 - correlation**2) * noise
    with_copies = np.concatenate([honest, copies], axis=1)
    assert expected(with_copies) > 0.9 * expected(honest)
    if correlation > 0.95:
        assert counted(with_copies).count == 13


def test_without_clustering_near_copies_lower_the_expected_maximum() -> None:
    honest = blocks(1, [1] * 13, 0.5)
    middle = np.argsort(honest.mean(axis=0))[6]
    copies = honest[:, [middle] * 60] + 0.001 * np.random.default_rng(1).normal(size=(DAYS, 60))
    with_copies = np.concatenate([honest, copies], axis=1)
    nominal = sharpe_deviation(with_copies)
    assert nominal is not None
    assert expected_maximum_sharpe(73, nominal) < 0.8 * expected(honest)
    assert expected(with_copies) == pytest.approx(expected(honest), rel=0.01)


@check
@given(seeds, st.integers(2, 5), st.integers(2, 6))
def test_the_order_of_the_trials_changes_nothing(seed: int, clusters: int, size: int) -> None:
    returns = blocks(seed, [size] * clusters + [1], 0.75, 250)
    shuffled = returns[:, np.random.default_rng(seed).permutation(returns.shape[1])]
    one, other = counted(returns), counted(shuffled)
    assert (other.count, other.counted_by) == (one.count, one.counted_by)
    assert other.deviation == pytest.approx(one.deviation, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_clusters_match_scikit_learns_best_silhouettes(seed: int) -> None:
    """Oracle: every number of clusters cut from SciPy's tree, silhouettes by scikit-learn."""
    draw = np.random.default_rng(seed)
    walk = np.cumsum(0.4 * draw.normal(size=(300, 14)), axis=1) + draw.normal(size=(300, 1))
    returns = np.concatenate([walk, draw.normal(size=(300, 5))], axis=1)
    trial_groups = group_trials(returns)
    series = returns @ trial_groups.distinct
    distances = np.sqrt(np.clip((1 - np.corrcoef(series.T)) / 2, 0, 1))
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform(distances, checks=False), "average")
    best, highest = list(range(len(distances))), 0.0
    for count in range(len(distances) - 1, 1, -1):
        if tree[len(distances) - count - 1, 2] > math.sqrt((1 - ALIKE) / 2):
            break
        labels = fcluster(tree, count, "maxclust")
        silhouettes = silhouette_samples(distances, labels, metric="precomputed")
        if silhouettes.mean() / silhouettes.std() > highest:
            best, highest = labels.tolist(), silhouettes.mean() / silhouettes.std()
    members = [
        np.flatnonzero(trial_groups.distinct[:, np.array(best) == label].any(axis=1)).tolist()
        for label in set(best)
    ]
    assert groups(trial_groups.clusters) == sorted(members)


@pytest.mark.parametrize("seed", range(2))
def test_copies_correlate_as_copies(seed: int) -> None:
    draw = np.random.default_rng(seed)
    returns = np.cumsum(0.15 * draw.normal(size=(300, 20)), axis=1) + draw.normal(size=(300, 1))
    correlations: Matrix = np.atleast_2d(np.corrcoef(returns.T))
    for group in groups(group_trials(returns).distinct):
        assert correlations[np.ix_(group, group)].min() >= COPY - 1e-12


@pytest.mark.parametrize(
    ("sizes", "correlation"),
    [
        ([1] * 13, 0.5),
        ([61, *[1] * 12], 0.99),
        ([61, *[1] * 12], 0.9),
        ([61, *[1] * 12], 0.7),
        ([10] * 6, 0.6),
    ],
)
def test_the_expected_best_of_skill_less_trials_matches_simulation(
    sizes: list[int], correlation: float
) -> None:
    drawn = [blocks(seed, sizes, correlation, 250) for seed in range(150)]
    best = np.array([(x.mean(axis=0) / x.std(axis=0, ddof=1)).max() for x in drawn])
    reported = np.array([expected(x) for x in drawn])
    assert reported.mean() == pytest.approx(best.mean(), rel=0.13)


def test_a_common_rate_does_not_change_the_number_of_trials() -> None:
    returns = blocks(5, [4, 4, 1], 0.8)
    groups = group_trials(returns)
    above = effective_trials(returns - 0.0001, groups)
    assert above is not None
    weights = groups.distinct if above.counted_by == "distinct" else groups.clusters
    assert weights.sum(axis=0) == pytest.approx(np.ones(above.count))
    assert above.deviation == pytest.approx(sharpe_deviation(returns @ weights - 0.0001), rel=1e-12)


def test_indistinguishable_trials_are_not_counted() -> None:
    returns = blocks(1, [1] * 3, 0.5)
    assert cluster_trials(returns[:9]) is None
    assert cluster_trials(returns[:, :0]) is None
    assert cluster_trials(np.concatenate([returns, np.full((DAYS, 1), 0.001)], axis=1)) is None
    for few in (returns[:, :1], returns[:, [0] * 60]):
        assert group_trials(few).distinct.shape[1] == 1
        assert effective_trials(few, group_trials(few)) is None

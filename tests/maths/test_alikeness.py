from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from datasets.figures.series import Floats
from datasets.figures.similarity import overlaps, rank_correlations
from tests.maths.panels import check, seeds


def scores(seed: int, alphas: int, names: int, share: float) -> Floats:
    """Draw scores with ties and names missing for some alphas."""
    draw = np.random.default_rng(seed)
    result = np.round(draw.normal(size=(alphas, names)), 1)
    result[draw.random(result.shape) < share] = np.nan
    return result


def slow_rank_correlation(one: Floats, other: Floats) -> float:
    both = ~(np.isnan(one) | np.isnan(other))
    left, right = (stats.rankdata(side, nan_policy="omit")[both] for side in (one, other))
    if left.size < 2 or len(set(left)) < 2 or len(set(right)) < 2:
        return np.nan
    return float(stats.pearsonr(left, right).statistic)


def slow_overlap(one: Floats, other: Floats) -> float:
    gross = [sum(abs(x) for x in side) for side in (one, other)]
    if not all(gross):
        return np.nan
    return math.fsum(
        min(abs(a) / gross[0], abs(b) / gross[1]) for a, b in zip(one, other, strict=True) if a * b > 0
    )


@check
@given(seeds, st.integers(1, 5), st.integers(1, 30), st.sampled_from([0.0, 0.2, 0.8]))
def test_ranks_of_each_alpha_are_correlated_over_names_scored_by_both(
    seed: int, alphas: int, names: int, share: float
) -> None:
    table = scores(seed, alphas, names, share)
    actual = rank_correlations(table[np.newaxis])[0]
    expected = [[slow_rank_correlation(a, b) for b in table] for a in table]
    assert actual == pytest.approx(np.array(expected), abs=1e-12, nan_ok=True)
    assert rank_correlations(table[np.newaxis], first_only=True)[0] == pytest.approx(
        actual[:1], abs=0, nan_ok=True
    )


@check
@given(seeds, st.integers(2, 200))
def test_alphas_that_score_the_same_names_have_spearmans_correlation(seed: int, names: int) -> None:
    table = scores(seed, 2, names, 0.0)
    table[:, np.random.default_rng(seed).random(names) < 0.2] = np.nan
    one, other = table[:, ~np.isnan(table[0])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.ConstantInputWarning)
        expected = stats.spearmanr(one, other).statistic if one.size > 1 else np.nan
    assert rank_correlations(table[np.newaxis])[0, 0, 1] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@check
@given(seeds, st.integers(1, 5), st.integers(1, 30))
def test_overlap_sums_the_smaller_weights_on_the_same_side(seed: int, books: int, names: int) -> None:
    draw = np.random.default_rng(seed)
    weights = draw.normal(size=(books, names)) * (draw.random((books, names)) < 0.6)
    actual = overlaps(weights[np.newaxis])[0]
    expected = [[slow_overlap(a, b) for b in weights] for a in weights]
    assert actual == pytest.approx(np.array(expected), abs=1e-12, nan_ok=True)
    assert overlaps(weights[np.newaxis], first_only=True)[0] == pytest.approx(actual[:1], abs=0, nan_ok=True)


@check
@given(seeds, st.permutations(range(12)))
def test_the_order_of_the_names_does_not_matter(seed: int, order: list[int]) -> None:
    table = scores(seed, 3, 12, 0.2)
    assert rank_correlations(table[np.newaxis][..., order]) == pytest.approx(
        rank_correlations(table[np.newaxis]), abs=1e-12, nan_ok=True
    )
    weights = np.nan_to_num(table)
    assert overlaps(weights[np.newaxis][..., order]) == pytest.approx(
        overlaps(weights[np.newaxis]), abs=1e-12, nan_ok=True
    )


def test_books_of_equal_proportions_overlap_fully_at_any_gross() -> None:
    book = np.array([0.5, -0.25, 0.25, 0.0])
    table = np.array([book, book * 3, -book, [0.0, 0.0, 0.0, 1.0], np.zeros(4)])
    assert overlaps(table[np.newaxis])[0, 0].tolist() == pytest.approx(
        [1.0, 1.0, 0.0, 0.0, np.nan], nan_ok=True
    )


@check
@given(seeds, st.integers(1, 40))
def test_books_without_a_common_name_on_one_side_do_not_overlap_at_all(seed: int, names: int) -> None:
    book = np.random.default_rng(seed).normal(size=names)
    apart = np.zeros((2, 2 * names))
    apart[0, :names], apart[1, names:] = book, book[::-1]
    for table in (apart, np.stack([book, -book])):
        assert overlaps(table[np.newaxis])[0, 0, 1] == 0.0


@check
@given(seeds, st.integers(1, 4), st.integers(1, 12))
def test_days_are_compared_independently(seed: int, alphas: int, names: int) -> None:
    days = np.stack([scores(seed + day, alphas, names, share) for day, share in enumerate((0.0, 0.3, 1.0))])
    for figure, table in ((rank_correlations, days), (overlaps, np.nan_to_num(days))):
        each = np.concatenate([figure(day[np.newaxis]) for day in table])
        assert figure(table) == pytest.approx(each, abs=0, nan_ok=True)

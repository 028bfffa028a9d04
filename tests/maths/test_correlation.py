from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from datasets.figures.daily_returns import common_days, correlate_rows, correlation
from datasets.figures.series import Floats
from datasets.figures.unavailable import Unavailable
from tests.maths.panels import check, seeds

lengths = st.integers(10, 400)


def pair(seed: int, n: int) -> tuple[Floats, Floats]:
    draw = np.random.default_rng(seed)
    one = draw.normal(0.0005, 0.01, n)
    return one, draw.uniform(-2, 2) * one + draw.normal(0, 0.01, n)


def measured(one: Floats, other: Floats) -> float:
    result = correlation(one, other)
    assert isinstance(result, float)
    return result


@check
@given(seeds, lengths)
def test_correlation_matches_numpy_and_scipy(seed: int, n: int) -> None:
    one, other = pair(seed, n)
    assert measured(one, other) == pytest.approx(np.corrcoef(one, other)[0, 1], abs=1e-12)
    assert measured(one, other) == pytest.approx(stats.pearsonr(one, other).statistic, abs=1e-12)


@check
@given(seeds, lengths)
def test_correlation_ignores_order_and_scale(seed: int, n: int) -> None:
    one, other = pair(seed, n)
    expected = measured(one, other)
    order = np.random.default_rng(seed).permutation(n)
    assert measured(one[order], other[order]) == pytest.approx(expected, abs=1e-12)
    assert measured(other, one) == pytest.approx(expected, abs=1e-15)
    assert measured(one * 3.7 + 0.2, other * -0.01) == pytest.approx(-expected, abs=1e-10)


@check
@given(seeds, st.integers(0, 80), st.integers(0, 80))
def test_pairs_are_days_known_to_both(seed: int, n: int, m: int) -> None:
    draw = np.random.default_rng(seed)
    sides = []
    for size in (n, m):
        days = np.sort(draw.choice(100, size, replace=False)).astype(np.int32)
        values = draw.normal(size=size)
        values[draw.random(size) < 0.2] = np.nan
        sides.append((days, values))
    left, right = common_days(*sides[0], *sides[1])
    known = [{day: x for day, x in zip(*side, strict=True) if not np.isnan(x)} for side in sides]
    both = sorted(known[0].keys() & known[1].keys())
    assert left.tolist() == [known[0][day] for day in both]
    assert right.tolist() == [known[1][day] for day in both]


@pytest.mark.parametrize("n", [0, 1, 9])
def test_fewer_than_ten_common_sessions_withhold_the_correlation(n: int) -> None:
    result = correlation(np.arange(n, dtype=float), np.arange(n, dtype=float))
    assert isinstance(result, Unavailable)
    assert result.code == "insufficient_data"
    assert str(n) in result.text


@pytest.mark.parametrize("flat", [np.zeros(30), np.full(30, 0.1), 1e-3 + np.arange(30) % 2 * 2e-16])
def test_a_series_constant_up_to_rounding_has_no_correlation(flat: Floats) -> None:
    moving = np.sin(np.arange(30.0))
    for one, other in ((flat, moving), (moving, flat), (flat, flat)):
        result = correlation(one, other)
        assert isinstance(result, Unavailable)
        assert result.code == "nonpositive_variance"


def test_a_series_has_correlation_one_with_itself() -> None:
    one, _ = pair(3, 250)
    result = correlate_rows(one, np.array([one, -one, one * 1e-3]))
    assert result == pytest.approx([1.0, -1.0, 1.0], abs=1e-15)
    assert (np.abs(result) <= 1).all()

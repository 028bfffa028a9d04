"""q-values, haircuts and required lengths compared with statsmodels, pandas and the papers; false discoveries of catalogues."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from datasets.figures.false_discoveries import (
    Block,
    benjamini_hochberg,
    benjamini_yekutieli,
    effective_number,
    hac_degrees,
    haircut_sharpe,
    mean_p_values,
    minimum_backtest_length,
    squared_correlations,
)
from datasets.figures.newey_west import NeweyWest, newey_west
from datasets.figures.series import Floats, Matrix
from tests.maths.panels import check
from tests.support.catalogues import draw_catalogue, share_of_false_discoveries

p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@check
@given(p_lists, st.integers(0, 3))
def test_q_values_match_statsmodels(values: list[float], untested: int) -> None:
    family = np.array(values)
    with_gaps = np.concatenate([[math.nan] * untested, family])
    for ours, method in ((benjamini_hochberg, "fdr_bh"), (benjamini_yekutieli, "fdr_by")):
        theirs = multipletests(family, method=method)[1]
        assert ours(family) == pytest.approx(theirs, rel=1e-12, abs=1e-300)
        assert np.isnan(ours(with_gaps)[:untested]).all()
        assert ours(with_gaps)[untested:] == pytest.approx(theirs, rel=1e-12, abs=1e-300)


@check
@given(p_lists)
def test_more_tests_never_lower_a_q_value(values: list[float]) -> None:
    family = np.array(values)
    q = benjamini_hochberg(family)
    assert (q >= family * (1 - 1e-12)).all()
    assert (benjamini_yekutieli(family) >= q * (1 - 1e-12)).all()
    assert (benjamini_hochberg(np.append(family, 1.0))[:-1] >= q * (1 - 1e-12)).all()


def test_p_values_match_a_t_test_of_the_mean() -> None:
    draw = np.random.default_rng(2)
    rows = draw.normal(0.05, 1.0, (5, 80))
    theirs = stats.ttest_1samp(rows, 0.0, axis=1)
    t_stats = np.asarray(theirs.statistic)
    assert mean_p_values(t_stats, np.full(5, 79.0)) == pytest.approx(np.asarray(theirs.pvalue), rel=1e-9)


def one(value: float) -> Floats:
    return np.array([value])


def test_the_haircut_matches_the_papers_example() -> None:
    """Harvey and Liu: 120 months, ratio 1 before and 0.912 after autocorrelation of 0.1, 100 tests, Bonferroni."""
    q = 12
    sharpe = (1 + 2 * 0.1 / 0.9 * (1 - (1 - 0.1**q) / (q * 0.9))) ** -0.5
    t = sharpe * math.sqrt(120 / q)
    adjusted = np.minimum(100 * mean_p_values(one(t), one(119)), 1.0)
    assert adjusted[0] == pytest.approx(0.465, abs=5e-4)
    assert haircut_sharpe(one(sharpe), one(t), one(119), adjusted)[0] == pytest.approx(0.232, abs=5e-4)


@check
@given(st.floats(-12, 12), st.integers(20, 3000), st.floats(1, 1e4))
def test_a_haircut_is_the_ratio_of_two_quantiles(t: float, n: int, tests: float) -> None:
    sharpe = t / math.sqrt(n)
    p = 2 * stats.t.sf(abs(t), n - 1)
    result = haircut_sharpe(one(sharpe), one(t), one(n - 1), one(min(1.0, p * tests)))[0]
    wanted = math.copysign(max(0.0, stats.t.isf(min(1.0, p * tests) / 2, n - 1)), t) / math.sqrt(n)
    assert result == pytest.approx(wanted if t else 0.0, rel=1e-6, abs=1e-9)
    assert abs(result) <= abs(sharpe)


def test_an_extreme_ratio_has_no_haircut() -> None:
    result = haircut_sharpe(
        np.array([3.0, 3.0, math.nan]),
        np.array([90.0, 2.0, 1.0]),
        np.full(3, 1000.0),
        np.array([0.0, 1.0, 0.5]),
    )
    assert result.tolist() == pytest.approx([3.0, 0.0, math.nan], nan_ok=True)


def test_forty_five_trials_need_five_years() -> None:
    assert minimum_backtest_length(45, 1.0) / 252 == pytest.approx(5.0, abs=0.05)
    assert minimum_backtest_length(1, 1.0) == 0
    assert minimum_backtest_length(45, 2.0) == pytest.approx(minimum_backtest_length(45, 1.0) / 4)


@pytest.mark.parametrize("calendars", ["holes", "first and last days"])
def test_squared_correlations_match_pandas(calendars: str) -> None:
    draw = np.random.default_rng(4)
    values = draw.normal(size=(12, 90)) + draw.normal(size=90)
    gone = draw.random((12, 90)) < 0.2
    if calendars == "first and last days":
        day = np.arange(90)
        gone = (day < draw.integers(0, 30, (12, 1))) | (day >= draw.integers(60, 91, (12, 1)))
    gone[0, 5:] = True
    values[3] = 0.0
    frame = pd.DataFrame(np.where(gone, np.nan, values).T)
    left, right = frame.iloc[:, :5], frame.iloc[:, 5:]
    r = frame.corr(min_periods=10).to_numpy()[:5, 5:]
    n = (~gone).astype(int) @ (~gone).astype(int).T
    n = n[:5, 5:]
    adjusted = 1 - (1 - r**2) * (n - 1) / (n - 2)
    blocks = [block_of(x.to_numpy().T) for x in (left, right)]
    squares = squared_correlations(*blocks)
    assert np.isnan(squares).tolist() == np.isnan(adjusted).tolist()
    assert squares == pytest.approx(adjusted, rel=1e-3, abs=1e-5, nan_ok=True)


def block_of(values: Matrix) -> Block:
    """Return series whose NaN are days without a session."""
    known = ~np.isnan(values)
    calendars, calendar = np.unique(known, axis=0, return_inverse=True)
    series = np.where(known, values, 0.0).astype(np.float32)
    return Block(series, calendars.astype(np.float32), calendar if len(calendars) > 1 else calendar[:1])


def test_constant_or_short_series_have_no_correlation() -> None:
    draw = np.random.default_rng(5)
    values = draw.normal(size=(60, 40)) + draw.normal(size=40)
    values[7], values[8, :20] = 0.3, -0.05
    squares = squared_correlations(block_of(values), block_of(values))
    assert np.isnan(squares[7]).all()
    assert np.count_nonzero(~np.isnan(squares)) == 59 * 59
    values[8, 20:] = np.nan
    assert np.isnan(squared_correlations(block_of(values), block_of(values))[8]).all()
    assert np.isnan(squared_correlations(block_of(values[:, :9]), block_of(values[:, :9]))).all()


@pytest.mark.parametrize(("common", "wanted"), [(0.0, 200.0), (1.0, 200**2 / (200 + 200 * 199 * 0.25))])
def test_the_effective_number_separates_noise_from_a_common_factor(common: float, wanted: float) -> None:
    draw = np.random.default_rng(6)
    values = common * draw.normal(size=1000) + draw.normal(size=(200, 1000))
    values = (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)
    squares = squared_correlations(block_of(values), block_of(values))
    assert effective_number(200, float(squares.sum()) - 200) == pytest.approx(wanted, rel=0.05)


def test_the_share_of_false_discoveries_stays_within_its_level() -> None:
    """Forty catalogues of a twentieth of the size in benchmarks/false_discoveries.py."""
    catalogues = [draw_catalogue(seed, noise=475, real=25, sessions=252 * 3) for seed in range(40)]
    for level in (0.05, 0.1, 0.2):
        shares = [share_of_false_discoveries(catalogue, level) for catalogue in catalogues]
        assert np.mean(shares) == pytest.approx(level, abs=0.02)


def test_the_fast_catalogue_statistic_matches_the_test_of_the_mean() -> None:
    catalogue = draw_catalogue(1, noise=3, real=2, sessions=400)
    for row, t in zip(catalogue.returns, catalogue.t_stats, strict=True):
        result = newey_west(row)
        assert isinstance(result, NeweyWest)
        assert t == pytest.approx(result.t_stat, rel=1e-9)


def test_degrees_of_freedom_follow_the_bartlett_kernel() -> None:
    result = hac_degrees(np.array([1260.0, math.nan, 12.0, 1260.0]))
    assert result.tolist() == pytest.approx([1.5 * 1260 / 8, math.nan, 6.0, 236.25], nan_ok=True)

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.newey_west import Regression, regress
from datasets.figures.series import Floats
from datasets.figures.unavailable import Unavailable
from tests.maths.panels import check, seeds


def drawn(seed: int, n: int, k: int) -> tuple[Floats, Floats]:
    draw = np.random.default_rng(seed)
    regressors = draw.normal(0.0003, 0.01, (n, k)) + draw.normal(0, 0.005, (n, 1))
    noise = draw.normal(0, 0.008, n)
    noise[1:] += 0.4 * noise[:-1]
    return 0.0002 + regressors @ draw.normal(0, 0.5, k) + noise, regressors


def fitted(outcome: Floats, regressors: Floats) -> Regression:
    result = regress(outcome, regressors)
    assert isinstance(result, Regression)
    return result


@check
@given(seeds, st.integers(20, 500), st.integers(1, 6))
def test_regression_matches_statsmodels_with_hac_errors(seed: int, n: int, k: int) -> None:
    outcome, regressors = drawn(seed, n, k)
    ours = fitted(outcome, regressors)
    theirs = sm.OLS(outcome, sm.add_constant(regressors)).fit(
        cov_type="HAC", cov_kwds={"maxlags": ours.lags, "use_correction": False}, use_t=True
    )
    coefficients = (ours.intercept, *ours.slopes)
    assert [x.value for x in coefficients] == pytest.approx(theirs.params.tolist(), rel=1e-9, abs=1e-12)
    assert [x.t_stat for x in coefficients] == pytest.approx(theirs.tvalues.tolist(), rel=1e-8, abs=1e-9)
    assert [x.p_value for x in coefficients] == pytest.approx(theirs.pvalues.tolist(), rel=1e-7, abs=1e-12)
    assert ours.r_squared == pytest.approx(theirs.rsquared, abs=1e-12)
    assert ours.observations == n


@check
@given(seeds, st.integers(30, 200), st.permutations(range(4)))
def test_the_order_of_the_regressors_does_not_matter(seed: int, n: int, order: list[int]) -> None:
    outcome, regressors = drawn(seed, n, 4)
    one, other = fitted(outcome, regressors), fitted(outcome, regressors[:, order])
    assert other.intercept.t_stat == pytest.approx(one.intercept.t_stat, rel=1e-9, abs=1e-9)
    assert [x.value for x in other.slopes] == pytest.approx([one.slopes[k].value for k in order], rel=1e-9)


def test_units_scale_coefficients_and_not_the_test() -> None:
    outcome, regressors = drawn(5, 300, 2)
    one, other = fitted(outcome, regressors), fitted(outcome * 100, regressors * [10.0, 1e-3])
    assert other.intercept.value == pytest.approx(one.intercept.value * 100, rel=1e-9)
    assert other.intercept.t_stat == pytest.approx(one.intercept.t_stat, rel=1e-9)
    assert other.slopes[1].value == pytest.approx(one.slopes[1].value * 1e5, rel=1e-9)


def test_collinear_regressors_are_withheld() -> None:
    outcome, regressors = drawn(6, 300, 2)
    double = np.column_stack([regressors, regressors[:, 0] * 2 - regressors[:, 1]])
    result = regress(outcome, double)
    assert isinstance(result, Unavailable)
    assert result.code == "nonpositive_variance"


def test_a_perfect_fit_has_no_standard_error() -> None:
    _, regressors = drawn(7, 100, 2)
    result = fitted(regressors @ [0.5, 0.5], regressors)
    assert result.r_squared == pytest.approx(1.0)
    assert [x.value for x in result.slopes] == pytest.approx([0.5, 0.5])
    assert {x.t_stat for x in (result.intercept, *result.slopes)} == {None}
    assert {x.p_value for x in (result.intercept, *result.slopes)} == {None}


@pytest.mark.parametrize(("n", "k"), [(0, 1), (10, 1), (12, 3)])
def test_too_few_observations_are_withheld(n: int, k: int) -> None:
    outcome, regressors = drawn(8, 40, k)
    result = regress(outcome[:n], regressors[:n])
    assert isinstance(result, Unavailable)
    assert result.code == "insufficient_data"


def test_a_constant_series_is_withheld() -> None:
    outcome, regressors = drawn(9, 60, 2)
    for broken in ((np.zeros(60), regressors), (outcome, np.column_stack([regressors, np.full(60, 0.1)]))):
        result = regress(*broken)
        assert isinstance(result, Unavailable)
        assert result.code == "nonpositive_variance"

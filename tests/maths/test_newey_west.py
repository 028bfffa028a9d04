from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.newey_west import NeweyWest, bandwidth, long_run_variance, newey_west
from datasets.figures.series import Floats
from datasets.figures.unavailable import Unavailable
from tests.maths.panels import check, seeds


def drawn(seed: int, n: int, persistence: float = 0.0) -> Floats:
    """Draw an autoregressive series."""
    shocks = np.random.default_rng(seed).normal(0.1, 1.0, n)
    values = np.empty(n)
    values[0] = shocks[0]
    for t in range(1, n):
        values[t] = persistence * values[t - 1] + shocks[t]
    return values


def measured(series: Floats) -> NeweyWest:
    result = newey_west(series)
    assert isinstance(result, NeweyWest)
    return result


lengths = st.integers(10, 700)
persistences = st.sampled_from([-0.8, 0.0, 0.5, 0.95])


@check
@given(seeds, lengths, persistences)
def test_the_test_matches_statsmodels_hac(seed: int, n: int, persistence: float) -> None:
    series = drawn(seed, n, persistence)
    ours = measured(series)
    theirs = sm.OLS(series, np.ones(n)).fit(
        cov_type="HAC", cov_kwds={"maxlags": ours.lag, "use_correction": False}, use_t=True
    )
    assert ours.mean == pytest.approx(theirs.params[0], rel=1e-10, abs=1e-12)
    assert ours.standard_error == pytest.approx(theirs.bse[0], rel=1e-10)
    assert ours.t_stat == pytest.approx(theirs.tvalues[0], rel=1e-10, abs=1e-10)
    assert ours.p_value == pytest.approx(theirs.pvalues[0], rel=1e-8, abs=1e-10)
    assert ours.n == n


@check
@given(seeds, lengths, st.integers(0, 12))
def test_the_long_run_variance_equals_the_weighted_sum_of_autocovariances(
    seed: int, n: int, lag: int
) -> None:
    series = drawn(seed, n, 0.5)
    residuals = (series - series.mean()).tolist()
    total = sum(e * e for e in residuals) / n
    for step in range(1, lag + 1):
        covariance = sum(residuals[t] * residuals[t - step] for t in range(step, n)) / n
        total += 2 * (1 - step / (lag + 1)) * covariance
    assert long_run_variance(np.array(residuals), lag) == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize(
    ("n", "lag"),
    [(1, 1), (10, 2), (99, 3), (100, 4), (101, 4), (297, 5), (1425, 7), (51_199, 15), (51_200, 16)],
)
def test_the_lag_follows_the_rule_at_integer_values(n: int, lag: int) -> None:
    assert bandwidth(n) == lag


@check
@given(st.integers(1, 10**6))
def test_the_lag_is_the_integer_part_of_the_rule(n: int) -> None:
    rule = 4 * (n / 100) ** (2 / 9)
    assert bandwidth(n) == int(rule) or abs(rule - round(rule)) < 1e-9


@check
@given(seeds, lengths, st.sampled_from([-3.0, 0.01, 1e3]))
def test_the_test_is_scale_invariant(seed: int, n: int, unit: float) -> None:
    one, other = measured(drawn(seed, n)), measured(drawn(seed, n) * unit)
    assert other.t_stat == pytest.approx(np.sign(unit) * one.t_stat, rel=1e-9)
    assert other.p_value == pytest.approx(one.p_value, rel=1e-7)
    assert other.standard_error == pytest.approx(abs(unit) * one.standard_error, rel=1e-9)


@check
@given(seeds, lengths)
def test_the_test_is_invariant_to_time_reversal(seed: int, n: int) -> None:
    series = drawn(seed, n, 0.5)
    assert measured(series[::-1]).t_stat == pytest.approx(measured(series).t_stat, rel=1e-9)


def test_nulls_are_dropped_before_counting() -> None:
    series = drawn(1, 40)
    gaps = np.insert(series, [0, 7, 7, 40], np.nan)
    assert newey_west(gaps) == newey_west(series)


@pytest.mark.parametrize("n", [0, 1, 9])
def test_fewer_than_ten_observations_are_withheld(n: int) -> None:
    for series in (drawn(2, n + 1)[:n], np.append(drawn(2, n + 1)[:n], [np.nan] * 20)):
        result = newey_west(series)
        assert isinstance(result, Unavailable)
        assert result.code == "insufficient_data"
        assert str(n) in result.text


@pytest.mark.parametrize("series", [np.zeros(10), np.full(297, 0.1), 1e-3 + np.arange(50) % 2 * 2e-16])
def test_a_series_constant_up_to_rounding_has_no_test(series: Floats) -> None:
    result = newey_west(series)
    assert isinstance(result, Unavailable)
    assert result.code == "nonpositive_variance"


def influence(design: Floats, outcome: Floats) -> tuple[Floats, Floats]:
    """Series whose long-run variance over n is the HAC variance of each least-squares coefficient."""
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ outcome
    residuals = outcome - design @ coefficients
    return coefficients, len(outcome) * (design @ inverse) * residuals[:, None]


def published_errors(design: Floats, outcome: Floats, lag: int) -> list[float]:
    _, series = influence(design, outcome)
    return [float(np.sqrt(long_run_variance(column, lag) / len(outcome))) for column in series.T]


def test_standard_errors_published_by_stata(shared: Path) -> None:
    data = pl.read_csv(shared / "data/oracles/us_macro_newey.csv")
    n = data.height
    design = np.column_stack([data["g_realgdp"], data["L_realint"], np.ones(n)])
    errors = published_errors(design, data["g_realinv"].to_numpy(), lag=4)
    # ivreg2, bw(5), without a small-sample factor; then newey, lag(4), which multiplies by n / (n - k)
    assert errors == pytest.approx([0.32878742225811, 0.29361854972141, 1.1770944273439], rel=1e-10)
    corrected = np.array(errors) * np.sqrt(n / (n - 3))
    assert corrected == pytest.approx([0.33125644884286, 0.29582347593197, 1.1859338087713], rel=1e-10)


def test_standard_errors_published_by_r(shared: Path) -> None:
    data = pl.read_csv(shared / "data/oracles/greene_investment.csv").drop_nulls("RealInt")
    design = np.column_stack([np.ones(data.height), data["RealGNP"], data["RealInt"]])
    # sandwich::NeweyWest(fm, lag = 4, prewhite = FALSE), no adjustment
    errors = published_errors(design, data["RealInv"].to_numpy(), lag=4)
    assert errors == pytest.approx([18.958298, 0.016751, 3.342375], abs=5e-7)

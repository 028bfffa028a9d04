"""Inference on Sharpe ratios: the papers' examples, ffn, and properties of any series."""

from __future__ import annotations

import math
from typing import Any

import ffn
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from datasets.figures.series import Floats
from datasets.figures.sharpe import (
    SharpeMoments,
    deflated_sharpe,
    expected_maximum_sharpe,
    minimum_track_record,
    probabilistic_sharpe,
    sharpe_moments,
)
from datasets.figures.unavailable import Unavailable
from tests.maths.panels import check, seeds

lengths = st.integers(10, 800)
YEAR = 250
"""Sessions in a year, as the papers count them."""


def drawn(seed: int, n: int, drift: float = 0.0005) -> Floats:
    """Draw returns with fat tails and a skew."""
    draw = np.random.default_rng(seed)
    returns: Floats = drift + 0.01 * draw.standard_t(4, n) - 0.002 * (draw.random(n) < 0.1)
    return returns


def moments(returns: Floats) -> SharpeMoments:
    result = sharpe_moments(returns)
    assert isinstance(result, SharpeMoments)
    return result


def reason(figure: object) -> str:
    assert isinstance(figure, Unavailable)
    assert figure.text
    return figure.code


@pytest.mark.parametrize(
    ("trials", "skewness", "kurtosis", "probability"),
    [(100, -3.0, 10.0, 0.9004), (46, -3.0, 10.0, 0.9505), (88, 0.0, 3.0, 0.9505)],
)
def test_the_numerical_example_of_the_deflated_sharpe_ratio(
    trials: int, skewness: float, kurtosis: float, probability: float
) -> None:
    """Bailey and López de Prado (2014): five years of days, a ratio of 2.5 and a variance of one half, a year."""
    deviation = math.sqrt(0.5 / YEAR)
    picked = SharpeMoments(5 * YEAR, 2.5 / math.sqrt(YEAR), skewness, kurtosis)
    assert deflated_sharpe(picked, trials, deviation) == pytest.approx(probability, abs=5e-5)
    if trials == 100:
        assert expected_maximum_sharpe(trials, deviation) == pytest.approx(0.1132, abs=5e-5)


@pytest.mark.parametrize(("a_year", "years"), [(252, 2.73), (52, 2.83), (12, 3.24)])
def test_the_numerical_example_of_the_minimum_track_record(a_year: int, years: float) -> None:
    """Bailey and López de Prado (2012): a ratio of 2 is above 1, with 95% confidence and normal returns."""
    normal = SharpeMoments(100, 2 / math.sqrt(a_year), 0.0, 3.0)
    needed = minimum_track_record(normal, 1 / math.sqrt(a_year))
    assert isinstance(needed, float)
    assert needed / a_year == pytest.approx(years, abs=0.005)


@check
@given(seeds, lengths)
def test_the_moments_match_pandas(seed: int, n: int) -> None:
    returns = drawn(seed, n)
    series, actual = pd.Series(returns), moments(returns)
    kurtosis: Any = series.kurt()
    assert actual.observations == n
    assert actual.sharpe == pytest.approx(series.mean() / series.std(), rel=1e-12, abs=1e-14)
    assert actual.skewness == pytest.approx(series.skew(), rel=1e-9, abs=1e-11)
    assert actual.kurtosis == pytest.approx(kurtosis + 3, rel=1e-9, abs=1e-11)


@check
@given(seeds, lengths, st.integers(2, 400))
def test_the_deflated_sharpe_ratio_matches_ffn(seed: int, n: int, trials: int) -> None:
    returns = drawn(seed, n)
    ratios = np.random.default_rng(seed + 1).normal(0.3, 0.8, trials)
    theirs = ffn.calc_deflated_sharpe_ratio(pd.Series(returns), ratios, nperiods=252)
    ours = deflated_sharpe(moments(returns), trials, float(ratios.std(ddof=1)) / math.sqrt(252))
    if isinstance(ours, Unavailable):
        assert math.isnan(theirs)
    else:
        assert ours == pytest.approx(theirs, abs=1e-9)


@check
@given(st.integers(1, 10**9), st.floats(0, 5))
def test_the_expected_maximum_matches_ffn(trials: int, deviation: float) -> None:
    ours = expected_maximum_sharpe(trials, deviation)
    # ffn takes the quantile of 1 - 1 / n, which loses its digits for very many trials.
    assert ours == pytest.approx(ffn.calc_expected_max_sharpe(trials, deviation), rel=1e-7, abs=1e-12)
    if trials <= 10_000:
        assert ours == pytest.approx(ffn.calc_expected_max_sharpe(trials, deviation), rel=1e-11, abs=1e-12)


def test_the_expected_maximum_matches_simulation() -> None:
    draws = np.random.default_rng(4).normal(0, 0.5, (20_000, 100)).max(axis=1)
    error = draws.std() / math.sqrt(draws.size)
    # The formula is an approximation, accurate to a per cent at a hundred trials.
    assert expected_maximum_sharpe(100, 0.5) == pytest.approx(draws.mean(), rel=0.01, abs=4 * error)


def test_the_probabilistic_sharpe_ratio_matches_simulation() -> None:
    """On simulated records, measured ratios reach the benchmark as often as the probability states."""
    n, true = 500, 0.08
    draws = np.random.default_rng(6).normal(true, 1.0, (6000, n))
    ratios = draws.mean(axis=1) / draws.std(axis=1, ddof=1)
    at = SharpeMoments(n, true, 0.0, 3.0)
    for benchmark in (0.0, 0.05, 0.1):
        probability = probabilistic_sharpe(at, benchmark)
        assert isinstance(probability, float)
        assert float((ratios > benchmark).mean()) == pytest.approx(probability, abs=0.03)


@check
@given(seeds, lengths, st.floats(1e-4, 1e4))
def test_the_scale_of_the_returns_changes_nothing(seed: int, n: int, scale: float) -> None:
    returns = drawn(seed, n)
    one, other = moments(returns), moments(returns * scale)
    for name in ("sharpe", "skewness", "kurtosis"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9, abs=1e-9)
    assert deflated_sharpe(other, 7, 0.05) == pytest.approx(deflated_sharpe(one, 7, 0.05), abs=1e-9)


@check
@given(seeds, lengths)
def test_the_order_of_returns_does_not_matter_and_nulls_are_omitted(seed: int, n: int) -> None:
    returns = drawn(seed, n)
    shuffled = np.random.default_rng(seed).permutation(np.concatenate([returns, [math.nan] * 3]))
    one, other = moments(returns), moments(shuffled)
    assert other.observations == one.observations
    assert probabilistic_sharpe(other) == pytest.approx(probabilistic_sharpe(one), abs=1e-12)


@check
@given(seeds, lengths, st.integers(2, 1000), st.floats(0.001, 0.2))
def test_more_trials_and_more_dispersion_deflate_more(
    seed: int, n: int, trials: int, deviation: float
) -> None:
    result = moments(drawn(seed, n))
    alone = deflated_sharpe(result, 1, deviation)
    if isinstance(alone, Unavailable):
        return
    assert alone == probabilistic_sharpe(result)
    figures = [
        alone,
        *(deflated_sharpe(result, trials, spread) for spread in (deviation, 2 * deviation)),
        deflated_sharpe(result, 2 * trials, 2 * deviation),
    ]
    assert figures == sorted(figures, reverse=True)  # type: ignore[type-var]


@check
@given(seeds, lengths, st.floats(0.55, 0.999))
def test_after_the_minimum_track_record_the_probability_is_the_confidence(
    seed: int, n: int, confidence: float
) -> None:
    result = moments(drawn(seed, n, drift=0.002))
    needed = minimum_track_record(result, confidence=confidence)
    if isinstance(needed, Unavailable):
        assert result.sharpe <= 0 or result.dispersion <= 0
        return
    reached = stats.norm.cdf(result.sharpe * math.sqrt(needed - 1) / math.sqrt(result.dispersion))
    assert reached == pytest.approx(confidence, abs=1e-9)


def test_undetermined_ratios_are_withheld() -> None:
    assert reason(sharpe_moments(np.array([]))) == "insufficient_data"
    assert reason(sharpe_moments(drawn(1, 9))) == "insufficient_data"
    assert reason(sharpe_moments(np.full(300, 0.001))) == "nonpositive_variance"
    grown = np.cumprod(np.full(301, 1.001))
    assert reason(sharpe_moments(grown[1:] / grown[:-1] - 1)) == "nonpositive_variance", "but for rounding"
    losing = SharpeMoments(250, -0.02, 0.0, 3.0)
    assert reason(minimum_track_record(losing)) == "insufficient_data"
    impossible = SharpeMoments(250, 0.5, 4.0, 3.0)
    assert reason(probabilistic_sharpe(impossible)) == "nonpositive_variance"
    assert reason(deflated_sharpe(impossible, 3, 0.1)) == "nonpositive_variance"
    assert reason(minimum_track_record(impossible)) == "nonpositive_variance"

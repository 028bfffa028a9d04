"""Deviation of Sharpe ratios across a catalogue, compared with loops and simulated runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.series import Floats
from datasets.figures.sharpe import run_deviation
from tests.maths.panels import check, seeds

YEAR = 252


def measured_runs(seed: int, between: float, lengths: list[int]) -> Floats:
    """Draw measured Sharpe ratios whose true values have the deviation `between`."""
    draw = np.random.default_rng(seed)
    true = draw.normal(0, between, len(lengths))
    return true + draw.normal(size=len(lengths)) * np.sqrt(YEAR / np.array(lengths))


def deviation(ratios: Floats, lengths: list[float] | list[int], length: int = 1400) -> float:
    result = run_deviation(ratios, np.array(lengths, dtype=np.float64), length)
    assert result is not None
    return result


@check
@given(seeds, st.integers(2, 40), st.integers(200, 3000))
def test_runs_of_one_length_have_at_least_their_standard_error(seed: int, runs: int, length: int) -> None:
    ratios = np.random.default_rng(seed).uniform(-1.5, 1.5, runs)
    plain = max(float(ratios.std(ddof=1)), math.sqrt(YEAR / length))
    assert deviation(ratios, [length] * runs, length) <= plain * (1 + 1e-9)
    spread = 1.4826 * np.median(abs(ratios - np.median(ratios)))
    if abs(ratios - np.median(ratios)).max() <= 3 * math.hypot(spread, math.sqrt(YEAR / length)):
        assert deviation(ratios, [length] * runs, length) == pytest.approx(plain, rel=1e-9)


def test_short_runs_do_not_dominate_the_deviation() -> None:
    long = measured_runs(1, 0.7, [1400] * 12)
    alone = deviation(long, [1400] * 12)
    reported = []
    for seed in range(20):
        short = measured_runs(seed, 0.7, [10] * 12)
        beside = np.concatenate([long, short])
        assert beside.std(ddof=1) > 2.5 * alone, "as one sample they would"
        reported.append(deviation(beside, [1400] * 12 + [10] * 12))
        assert reported[-1] == pytest.approx(alone, rel=0.4)
    assert np.mean(reported) == pytest.approx(alone, rel=0.1)


@pytest.mark.parametrize("absurd", [30.0, -400.0, 1e9])
def test_one_outlier_does_not_dominate_the_deviation(absurd: float) -> None:
    ratios = measured_runs(2, 0.7, [1400] * 12)
    alone = deviation(ratios, [1400] * 12)
    assert deviation(np.append(ratios, absurd), [1400] * 13) < 1.6 * alone
    assert deviation(np.append(ratios, absurd), [1400] * 13) == deviation(
        np.append(ratios, 2 * absurd), [1400] * 13
    )


def test_the_deviation_matches_simulated_runs_of_that_length() -> None:
    lengths = [100, 250, 500, 1400, 3000] * 8
    for length in (250, 1400):
        reported = [deviation(measured_runs(seed, 0.8, lengths), lengths, length) for seed in range(300)]
        shown = measured_runs(7, 0.8, [length] * 50_000).std()
        assert np.mean(reported) == pytest.approx(shown, rel=0.03)


@check
@given(seeds, st.integers(2, 20))
def test_the_order_of_runs_does_not_matter(seed: int, runs: int) -> None:
    draw = np.random.default_rng(seed)
    lengths = draw.integers(20, 3000, runs)
    ratios, order = draw.normal(size=runs), draw.permutation(runs)
    one = run_deviation(ratios, lengths.astype(float), 500)
    assert run_deviation(ratios[order], lengths[order].astype(float), 500) == pytest.approx(one, rel=1e-9)


def test_runs_without_ratio_or_length_are_omitted() -> None:
    ratios, lengths = np.array([0.5, np.nan, 1.5, 9.0, 9.0]), np.array([300.0, 300.0, 300.0, np.nan, 0.0])
    assert run_deviation(ratios, lengths, 300) == pytest.approx(math.sqrt(max(0.5, YEAR / 300)))
    assert run_deviation(ratios[:2], lengths[:2], 300) is None
    assert run_deviation(np.array([]), np.array([]), 300) is None

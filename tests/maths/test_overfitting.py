"""The probability of backtest overfitting compared with ffn, a slow version and the paper."""

from __future__ import annotations

import itertools
import math
import statistics

import ffn
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.overfitting import overfitting
from datasets.figures.series import Matrix
from datasets.figures.unavailable import Unavailable
from tests.maths.panels import check, seeds


def drawn(seed: int, days: int, trials: int, skill: float = 0.0) -> Matrix:
    """Draw the returns of trials; the last one may have skill."""
    returns: Matrix = np.random.default_rng(seed).normal(0.0, 0.01, (days, trials))
    returns[:, -1] += skill
    return returns


def measured(returns: Matrix, blocks: int = 16) -> dict[str, float]:
    result = overfitting(returns, blocks)
    assert not isinstance(result, Unavailable)
    return result


def slow(returns: Matrix, blocks: int) -> float:
    """Oracle: split, measure and rank one combination at a time."""
    length = len(returns) // blocks
    cut = [returns[n * length : (n + 1) * length].tolist() for n in range(blocks)]
    below, splits = 0, 0
    for chosen in itertools.combinations(range(blocks), blocks // 2):
        ratios = []
        for inside in (True, False):
            days = [day for n in range(blocks) if (n in chosen) is inside for day in cut[n]]
            trials = list(zip(*days, strict=True))
            ratios.append([statistics.fmean(trial) / statistics.stdev(trial) for trial in trials])
        fitted, tested = ratios
        picked = tested[fitted.index(max(fitted))]
        rank = sum(x < picked for x in tested) + (sum(x == picked for x in tested) + 1) / 2
        share = rank / (len(tested) + 1)
        below += math.log(share / (1 - share)) <= 0
        splits += 1
    return below / splits


@check
@given(seeds, st.integers(30, 90), st.integers(2, 9), st.sampled_from([2, 4, 6]))
def test_the_probability_matches_the_slow_version(seed: int, days: int, trials: int, blocks: int) -> None:
    returns = drawn(seed, days, trials)
    result = measured(returns, blocks)
    assert result["probability"] == pytest.approx(slow(returns, blocks), abs=1e-12)
    assert (result["trials"], result["blocks"], result["splits"]) == (
        trials,
        blocks,
        math.comb(blocks, blocks // 2),
    )


@pytest.mark.parametrize(
    ("seed", "days", "trials", "blocks"), [(1, 90, 2, 4), (2, 63, 12, 6), (3, 120, 7, 8)]
)
def test_the_probability_matches_ffn(seed: int, days: int, trials: int, blocks: int) -> None:
    returns = drawn(seed, days, trials)
    theirs = ffn.calc_prob_backtest_overfitting(pd.DataFrame(returns), n_blocks=blocks)
    assert measured(returns, blocks)["probability"] == pytest.approx(theirs, abs=1e-9)


@check
@given(seeds, st.integers(2, 8))
def test_the_probability_ignores_names_and_scale_of_trials(seed: int, trials: int) -> None:
    returns = drawn(seed, 60, trials)
    draw = np.random.default_rng(seed)
    other = (returns * draw.uniform(0.1, 10, trials))[:, draw.permutation(trials)]
    assert measured(other, 6)["probability"] == measured(returns, 6)["probability"]


def test_skill_less_trials_overfit_half_of_the_time_and_skilled_ones_do_not() -> None:
    """The paper's extremes: no skill, and one highly skilled trial."""
    without = [measured(drawn(seed, 480, 20), 8)["probability"] for seed in range(40)]
    assert statistics.fmean(without) == pytest.approx(0.5, abs=0.15)
    assert max(measured(drawn(seed, 480, 20, skill=0.005), 8)["probability"] for seed in range(10)) < 0.01


def test_identical_trials_share_the_middle_rank() -> None:
    """Of two identical trials each split picks the first, whose out-of-sample rank is the mean of both."""
    returns = drawn(1, 60, 1)
    assert measured(np.hstack([returns, returns]), 4)["probability"] == 1.0


def test_many_trials_are_measured_in_chunks() -> None:
    result = measured(drawn(3, 80, 100))
    assert result["splits"] == 12_870
    assert 0 <= result["probability"] <= 1


def test_an_undetermined_probability_is_withheld() -> None:
    def reason(returns: Matrix) -> str:
        result = overfitting(returns)
        assert isinstance(result, Unavailable)
        assert result.text
        return result.code

    assert reason(drawn(1, 400, 1)) == "insufficient_data"
    assert reason(drawn(1, 79, 5)) == "insufficient_data"
    constant = drawn(1, 400, 5)
    constant[:, 2] = 0.001
    assert reason(constant) == "nonpositive_variance"

"""Reality Check and SPA compared with arch on the same samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arch.bootstrap import SPA, StationaryBootstrap
from hypothesis import assume, given
from hypothesis import strategies as st

from datasets.figures.bootstrap import Places, resample
from datasets.figures.data_snooping import _variances, data_snooping
from datasets.figures.luck import measure
from datasets.figures.luck_evidence import Evidence, LuckQuery, TrialReturns
from datasets.figures.run_figures import Ledger
from datasets.figures.series import Matrix
from datasets.figures.unavailable import Unavailable
from tests.maths.panels import check

SAMPLES = 100


def trials(seed: int, days: int, count: int, edge: float) -> Matrix:
    draw = np.random.default_rng(seed)
    common = draw.normal(0, 0.006, (days, 1))
    returns: Matrix = common + draw.normal(0, 0.008, (days, count)) + draw.normal(0, edge, count)
    return returns


def samples_of_arch(returns: Matrix, block: int, seed: int) -> Places:
    bootstrap = StationaryBootstrap(block, np.arange(len(returns)), seed=seed)
    return np.stack([result[0][0] for result in bootstrap.bootstrap(SAMPLES)])


def p_values_of_arch(losses: Matrix, block: int, seed: int) -> dict[str, float]:
    test = SPA(
        np.zeros(len(losses)), -losses, block_size=block, reps=SAMPLES, bootstrap="stationary", seed=seed
    )
    test.compute()
    return {str(name): float(value) for name, value in test.pvalues.items()}


@check
@given(
    st.integers(0, 2**31 - 1),
    st.integers(30, 200),
    st.integers(2, 8),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.0005, 0.002]),
)
def test_p_values_match_arch(seed: int, days: int, count: int, block: int, edge: float) -> None:
    returns = trials(seed, days, count, edge)
    samples = samples_of_arch(returns, block, seed)
    # A sample with every day once has the mean of the returns, so only rounding decides which is larger.
    assume(not any(np.array_equal(np.sort(sample), np.arange(days)) for sample in samples))
    result = data_snooping(returns, [samples], float(block))
    assert not isinstance(result, Unavailable)
    plain = p_values_of_arch(returns, block, seed)
    assert result["reality_check"] == pytest.approx(plain["upper"], abs=1e-12)
    # arch's statistic uses plain means; on studentised columns it equals Hansen's.
    test = SPA(np.zeros(days), -returns, block_size=block, reps=1, bootstrap="stationary")
    test.compute()
    variances = test._loss_diff_var  # noqa: SLF001 - what arch divides by is nowhere else
    assert _variances(returns - returns.mean(axis=0), float(block)) == pytest.approx(variances, rel=1e-9)
    studentised = p_values_of_arch(returns / np.sqrt(variances), block, seed)
    assert (result["spa_lower"], result["spa"], result["spa_upper"]) == pytest.approx(
        tuple(studentised[name] for name in ("lower", "consistent", "upper")), abs=1e-12
    )


def p_value(returns: Matrix, seed: int = 5) -> dict[str, float]:
    draw = np.random.default_rng(seed)
    result = data_snooping(returns, resample(draw, len(returns), 3.0), 3.0)
    assert not isinstance(result, Unavailable)
    return result


def test_one_trial_with_an_edge_is_detected_among_noise() -> None:
    returns = trials(1, 500, 20, 0.0)
    assert p_value(returns)["spa"] > 0.05
    returns[:, 7] += 0.002
    assert p_value(returns)["spa"] < 0.01


def test_bad_trials_do_not_weaken_the_consistent_test() -> None:
    returns = trials(2, 500, 4, 0.0)
    returns -= returns.mean(axis=0)
    returns[:, 0] += 0.0009
    poor = np.column_stack([returns, trials(3, 500, 30, 0.0) * 5 - 0.02])
    assert p_value(poor)["reality_check"] > 0.3
    assert p_value(poor)["spa"] < 0.1
    assert p_value(poor)["spa_lower"] <= p_value(poor)["spa"] <= p_value(poor)["spa_upper"]


@pytest.mark.parametrize(
    ("returns", "code"),
    [
        (np.ones((100, 1)), "insufficient_data"),
        (np.random.default_rng(0).normal(size=(19, 3)), "insufficient_data"),
        (np.column_stack([np.zeros(50), np.arange(50.0)]), "nonpositive_variance"),
    ],
)
def test_uninformative_returns_are_withheld(returns: Matrix, code: str) -> None:
    places = np.tile(np.arange(len(returns)), (3, 1))
    result = data_snooping(returns, [places], 1.0)
    assert isinstance(result, Unavailable)
    assert result.code == code


@pytest.mark.parametrize(
    ("ledger", "said"),
    [
        ("in debt", "equity is not above 0 at the open of 1 of 100 sessions"),
        ("flat", "the daily returns of the window do not vary"),
        ("without a rate", "the ledger states no risk-free rate"),
    ],
)
def test_trials_that_the_ledger_leaves_untested_have_its_reason(ledger: str, said: str) -> None:
    returns = trials(4, 100, 3, 0.0)
    equity: Any = np.cumprod([1.0, *(1 + returns[:, 0])])
    starting, ending, rate = equity[:-1].copy(), equity[1:].copy(), np.zeros(100)
    if ledger == "in debt":
        starting[50] = -1.0
    elif ledger == "flat":
        starting[:] = ending[:] = 1.0
    else:
        rate[:] = np.nan
    date = np.datetime64("2020-01-01", "D") + np.arange(100)
    evidence = Evidence(
        "Test_searched",
        Ledger(date, starting, ending, rate, np.zeros(100)),
        Unavailable("missing_kind", "the run holds no decisions"),
        None,
        TrialReturns(date, returns),
    )
    result = measure(evidence, LuckQuery("long_short")).data
    assert result["data_snooping"] is None
    assert result["withheld"]["data_snooping"].startswith(said)

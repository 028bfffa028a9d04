"""Bootstrap bands compared with arch, and each sample's figures with their definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from arch.bootstrap import StationaryBootstrap, optimal_block_length
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures import bands
from datasets.figures.bands import (
    LEDGER_FIGURES,
    WEEKLY_FIGURES,
    ledger_bands,
    weekly_bands,
)
from datasets.figures.bootstrap import Band, Bands, Places, mean_block_length, resample
from datasets.figures.run_figures import Ledger
from datasets.figures.series import Floats
from datasets.figures.unavailable import Unavailable
from schemas.metrics.families.family import SAMPLES
from tests.maths.panels import check, seeds
from tests.maths.test_newey_west import drawn

LEDGER = ("starting", "ending", "risk_free", "turnover")


def ledger(seed: int, n: int, persistence: float = 0.3, opening: float = 1.0) -> dict[str, Floats]:
    """Draw a daily ledger whose returns are autocorrelated."""
    returns = 0.01 * (drawn(seed, n, persistence) - 0.05)
    equity: Any = opening * np.cumprod([1.0, *(1 + returns)])
    draw = np.random.default_rng(seed + 1)
    columns = (equity[:-1], equity[1:], draw.uniform(0, 2e-4, n), draw.uniform(0, 0.1, n))
    return dict(zip(LEDGER, columns, strict=True))


def of_days(*columns: Floats) -> Ledger:
    return Ledger(np.arange(columns[0].size).astype("datetime64[D]"), *columns)


def banded(columns: dict[str, Floats], draw: np.random.Generator) -> Bands:
    return ledger_bands(of_days(*(columns[name] for name in LEDGER)), draw)


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def few_samples(seed: int, n: int, mean_block: float) -> Places:
    return next(resample(generator(seed), n, mean_block))[:5]


@check
@given(seeds, st.integers(20, 900), st.sampled_from([-0.7, 0.0, 0.4, 0.95]))
def test_block_lengths_match_arch(seed: int, n: int, persistence: float) -> None:
    series = drawn(seed, n, persistence)
    theirs = float(optimal_block_length(series)["stationary"].iloc[0])
    assert mean_block_length(series) == pytest.approx(max(theirs, 1.0), rel=1e-9)


@pytest.mark.parametrize("mean_block", [1.0, 3.5, 40.0])
def test_samples_are_consecutive_blocks_with_random_starts(mean_block: float) -> None:
    n, samples = 97, 4 * SAMPLES
    draw = generator()
    places = np.concatenate([part for _ in range(4) for part in resample(draw, n, mean_block)])
    assert places.shape == (samples, n)
    assert places.min() == 0
    assert places.max() == n - 1
    goes_on = (places[:, 1:] == (places[:, :-1] + 1) % n).mean()
    # Once in n, a new block begins where the last one would have continued.
    expected = 1 - (1 / mean_block) * (1 - 1 / n)
    assert goes_on == pytest.approx(expected, abs=5 * math.sqrt(0.25 / places.size))
    for column in (0, n // 2, n - 1):
        counts = np.bincount(places[:, column], minlength=n)
        assert counts.min() > 0
        assert counts.max() < 4 * samples / n


@check
@given(seeds, st.integers(20, 60), st.sampled_from([1.0, 250.0]))
def test_a_samples_figures_match_those_of_its_ledger(seed: int, n: int, opening: float) -> None:
    columns = ledger(seed, n, opening=opening)
    returns = columns["ending"] / columns["starting"] - 1
    places = few_samples(seed, n, 4.0)
    fast = bands._ledger_samples(  # noqa: SLF001 - the fast half of what is compared
        places, np.stack([returns, returns - columns["risk_free"], columns["turnover"]]), opening
    )
    assert set(fast) == set(LEDGER_FIGURES)
    for number, sample in enumerate(places):
        equity: Any = opening * np.cumprod([1.0, *(1 + returns[sample])])
        own = (equity[:-1], equity[1:], columns["risk_free"][sample], columns["turnover"][sample])
        for name, figure in LEDGER_FIGURES.items():
            expected = figure(of_days(*own))
            assert fast[name][number] == pytest.approx(expected, rel=1e-8, abs=1e-11), name


@check
@given(seeds, st.integers(20, 60))
def test_a_weekly_samples_figures_match_those_of_its_weeks(seed: int, n: int) -> None:
    ic = np.round(0.1 * drawn(seed, n), 3)
    places = few_samples(seed, n, 3.0)
    fast = bands._weekly_samples(places, ic)  # noqa: SLF001 - as above
    assert set(fast) == set(WEEKLY_FIGURES)
    for number, sample in enumerate(places):
        for name, figure in WEEKLY_FIGURES.items():
            assert fast[name][number] == pytest.approx(figure(ic[sample]), rel=1e-9, abs=1e-12), name


def _band(estimated: Bands, name: str) -> Band:
    band = estimated.figures[name]
    assert not isinstance(band, Unavailable)
    return band


def test_bands_match_arch_within_sampling_error() -> None:
    columns, rounds = ledger(5, 260), 3000
    result = banded(columns, generator())
    assert result.mean_block is not None
    returns = columns["ending"] / columns["starting"] - 1
    sampler = StationaryBootstrap(
        result.mean_block,  # type: ignore[arg-type] # any length does
        returns,
        columns["risk_free"],
        columns["turnover"],
        seed=np.random.default_rng(9),
    )

    def figures(sampled: Floats, risk_free: Floats, turnover: Floats) -> Floats:
        equity: Any = np.cumprod([1.0, *(1 + sampled)])
        own = (equity[:-1], equity[1:], risk_free, turnover)
        return np.array([figure(of_days(*own)) for figure in LEDGER_FIGURES.values()], dtype=np.float64)

    slow = sampler.apply(figures, rounds)
    # Share of their samples beyond each end of our band: 2.5%, up to the errors of both.
    error = math.sqrt(0.025 * 0.975 * (1 / rounds + 1 / SAMPLES))
    for values, name in zip(slow.T, LEDGER_FIGURES, strict=True):
        band = _band(result, name)
        for share in ((values < band["lower"]).mean(), (values > band["upper"]).mean()):
            assert float(share) == pytest.approx(0.025, abs=4 * error), name


def test_bands_have_their_nominal_coverage() -> None:
    inside = 0
    for seed in range(100):
        draw = np.random.default_rng(seed)
        band = _band(weekly_bands(draw.normal(0.03, 0.1, 150), draw), "ic")
        inside += band["lower"] <= 0.03 <= band["upper"]
    assert inside >= 86, "of 95 expected"


def test_equal_seeds_give_equal_bands_and_long_windows_are_measured_in_parts() -> None:
    columns = ledger(2, 1500)
    one, again = (banded(columns, generator(7)) for _ in range(2))
    other = banded(columns, generator(8))
    assert one == again
    assert one != other
    for name in LEDGER_FIGURES:
        near, far = _band(one, name), _band(other, name)
        assert near["estimate"] == far["estimate"]
        assert near["lower"] < near["upper"]
        assert abs(near["lower"] - far["lower"]) < 0.5 * (near["upper"] - near["lower"])


@check
@given(seeds, st.floats(0.01, 100))
def test_scaling_equity_changes_only_amounts(seed: int, scale: float) -> None:
    columns = ledger(seed, 60)
    scaled = columns | {name: scale * columns[name] for name in ("starting", "ending")}
    one, other = (banded(x, generator(seed)) for x in (columns, scaled))
    for name in LEDGER_FIGURES:
        factor = scale if name in ("pnl", "max_drawdown") else 1.0
        near, far = _band(one, name), _band(other, name)
        assert (far["estimate"], far["lower"], far["upper"]) == pytest.approx(
            tuple(factor * x for x in (near["estimate"], near["lower"], near["upper"])), rel=1e-6, abs=1e-9
        )


def test_bands_that_need_no_rate_use_the_sessions_without_one() -> None:
    columns = ledger(4, 200)
    partly = columns | {"risk_free": np.where(np.arange(200) < 100, np.nan, columns["risk_free"])}
    result, full = banded(partly, generator()), banded(columns, generator())
    for name in LEDGER_FIGURES:
        if name != "excess_sharpe":
            assert _band(result, name) == _band(full, name), name
    later = {name: values[100:] for name, values in columns.items()}
    excess = _band(result, "excess_sharpe")
    assert excess["estimate"] == pytest.approx(_band(banded(later, generator()), "excess_sharpe")["estimate"])
    assert excess["lower"] < excess["estimate"] < excess["upper"]


def test_undetermined_bands_are_withheld() -> None:
    def reasons(estimated: Bands) -> set[str]:
        assert estimated.mean_block is None
        assert all(isinstance(band, Unavailable) for band in estimated.figures.values())
        return {band.code for band in estimated.figures.values() if isinstance(band, Unavailable)}

    short = ledger(1, 19)
    assert reasons(banded(short, generator())) == {"insufficient_data"}
    none = np.empty(0)
    assert reasons(ledger_bands(of_days(none, none, none, none), generator())) == {"insufficient_data"}
    grown: Any = np.cumprod(np.full(301, 1.001))
    assert reasons(
        ledger_bands(of_days(grown[:-1], grown[1:], np.zeros(300), np.zeros(300)), generator())
    ) == {"nonpositive_variance"}
    starting, ending = grown[:-1].copy(), grown[1:].copy()
    starting[200:] = -1.0
    assert reasons(ledger_bands(of_days(starting, ending, np.zeros(300), np.zeros(300)), generator())) == {
        "nonpositive_equity"
    }
    assert reasons(weekly_bands(np.full(30, math.nan), generator())) == {"insufficient_data"}
    assert reasons(weekly_bands(np.full(30, 0.1), generator())) == {"nonpositive_variance"}
    missing = Unavailable("missing_kind", "the run sealed none")
    assert (
        reasons(ledger_bands(missing, generator()))
        == reasons(weekly_bands(missing, generator()))
        == {"missing_kind"}
    )


def test_a_figure_undefined_in_some_samples_has_no_band() -> None:
    returns = np.zeros(40)
    returns[3] = 0.01  # many samples lack the only day that moved
    equity: Any = np.cumprod([1.0, *(1 + returns)])
    result = ledger_bands(of_days(equity[:-1], equity[1:], np.zeros(40), np.zeros(40)), generator())
    for name in ("sharpe", "excess_sharpe"):
        band = result.figures[name]
        assert isinstance(band, Unavailable)
        assert "samples" in band.text
    assert _band(result, "volatility")["lower"] == 0.0
    ruined: Any = np.array([1.0, *np.linspace(1.0, 0.5, 30), -0.2, *np.linspace(-0.2, 0.3, 10)])
    result = ledger_bands(of_days(ruined[:-1], ruined[1:], np.zeros(41), np.zeros(41)), generator())
    band = result.figures["annualised_return"]
    assert isinstance(band, Unavailable)
    assert "equity" in band.text


def test_a_book_that_ends_in_debt_has_no_bands_of_its_equity() -> None:
    equity: Any = np.array([1.0, *np.linspace(1.01, 0.5, 40) + 0.01 * np.sin(np.arange(40)), -0.2])
    n = equity.size - 1
    result = ledger_bands(of_days(equity[:-1], equity[1:], np.zeros(n), np.full(n, 0.1)), generator())
    for name in ("pnl", "max_drawdown", "max_drawdown_pct", "annualised_return"):
        assert isinstance(result.figures[name], Unavailable), name
    for name in ("sharpe", "volatility", "turnover"):
        assert isinstance(result.figures[name], dict), name

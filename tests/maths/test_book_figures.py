from __future__ import annotations

import math

import empyrical
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.figures.ratios import FIGURES, book_figures, difference
from datasets.figures.series import Floats
from datasets.figures.unavailable import Unavailable
from tests.maths.panels import check, seeds


def returns(seed: int, alphas: int, sessions: int) -> Floats:
    return np.random.default_rng(seed).normal(0.0004, 0.01, (alphas, sessions))


@check
@given(seeds, st.integers(1, 5), st.integers(2, 600))
def test_the_figures_of_an_equal_weight_book_match_empyrical(seed: int, alphas: int, sessions: int) -> None:
    book = returns(seed, alphas, sessions).mean(axis=0)
    result = book_figures(book)
    assert result["sharpe"] == pytest.approx(empyrical.sharpe_ratio(book), rel=1e-9)
    assert result["annualised_return"] == pytest.approx(empyrical.annual_return(book), rel=1e-9, abs=1e-12)
    assert result["volatility"] == pytest.approx(empyrical.annual_volatility(book), rel=1e-9)
    assert result["max_drawdown_pct"] == pytest.approx(
        -100 * empyrical.max_drawdown(book), rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize(
    ("book", "withheld"),
    [
        ([], set(FIGURES)),
        ([0.01], {"sharpe", "volatility"}),
        ([0.01] * 20, {"sharpe"}),
        ([0.01, -1.0, 0.02], {"annualised_return"}),
    ],
)
def test_undetermined_figures_are_withheld_with_a_reason(book: list[float], withheld: set[str]) -> None:
    result = book_figures(np.array(book))
    assert tuple(result) == FIGURES
    assert {name for name, x in result.items() if isinstance(x, Unavailable)} == withheld
    assert all(math.isfinite(x) for x in result.values() if not isinstance(x, Unavailable))


def test_a_difference_is_withheld_if_either_side_is() -> None:
    good, bad = book_figures(returns(2, 1, 50)[0]), book_figures(np.array([0.01]))
    added = difference(good, good)
    assert added == dict.fromkeys(FIGURES, 0.0)
    assert isinstance(difference(good, bad)["sharpe"], Unavailable)
    assert isinstance(difference(bad, good)["sharpe"], Unavailable)

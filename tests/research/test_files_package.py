"""Comparisons of the datasets package match the API."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import datasets
from schemas.errors import SettingsError
from tests.research.conftest import Published
from tests.research.test_contribution import OTHERS
from tests.research.test_exposures import price_rows
from tests.research.test_regimes import ALPHA, marketed  # noqa: F401 - a fixture
from tests.support.client import ApiClient
from tests.support.processes import REPOSITORY

NAMED = (ALPHA, *OTHERS)


@pytest.mark.parametrize("by", ["returns", "scores", "holdings"])
def test_correlations_and_neighbours_match_the_api(
    api: ApiClient, token: str, market: Published, by: str
) -> None:
    root = datasets.open(market.root)
    served = api.json(f"/v1/correlations?alphas={','.join(NAMED)}&by={by}", token)["data"]
    matrix = root.correlations(NAMED, by=by)
    assert matrix["alpha_id"].to_list() == served["alphas"]
    expected = np.array(served["matrix"], np.float64)
    assert matrix.drop("alpha_id").to_numpy() == pytest.approx(expected, abs=1e-9, nan_ok=True)
    listed = api.json(f"/v1/alphas/{ALPHA}/neighbours?by={by}&among={','.join(OTHERS)}", token)["data"]
    nearest = root.neighbours(ALPHA, among=OTHERS, by=by).to_dicts()
    assert [row["alpha_id"] for row in nearest] == [row["alpha_id"] for row in listed]
    for row, other in zip(nearest, listed, strict=True):
        assert row == pytest.approx(other, abs=1e-9)


@pytest.mark.parametrize("by", ["scores", "holdings"])
def test_a_comparison_loads_no_pandas(market: Published, by: str) -> None:
    script = (
        "import datasets, sys\n"
        f"print(datasets.open({str(market.root)!r}).correlations({NAMED!r}, by={by!r}).height)\n"
        "assert 'pandas' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (f"{len(NAMED)}\n", "")


def test_all_alphas_are_searched_by_default(api: ApiClient, token: str, market: Published) -> None:
    listed = api.json(f"/v1/alphas/{ALPHA}/neighbours?order=strongest&limit=5", token)["data"]
    nearest = datasets.open(market.root).neighbours(ALPHA, order="strongest", limit=5)
    assert nearest["alpha_id"].to_list() == [row["alpha_id"] for row in listed]


@pytest.mark.parametrize("weights", ["equal", "volatility", "1,2,0.5,1"])
def test_contributions_match_the_interface(
    api: ApiClient, token: str, market: Published, weights: str
) -> None:
    path = f"/v1/alphas/{ALPHA}/contribution?alphas={','.join(OTHERS)}&weights={weights}"
    given = [float(part) for part in weights.split(",")] if "," in weights else weights
    assert (
        datasets.open(market.root).contribution(ALPHA, OTHERS, weights=given) == api.json(path, token)["data"]
    )


def test_repeated_alphas_and_the_alpha_itself_are_ignored_in_lists(market: Published) -> None:
    root = datasets.open(market.root)
    listed = (*OTHERS, ALPHA, OTHERS[0])
    assert root.correlations((*NAMED, ALPHA)).equals(root.correlations(NAMED))
    assert root.neighbours(ALPHA, among=listed).equals(root.neighbours(ALPHA, among=OTHERS))
    for weights in ("equal", [1.0, 2.0, 0.5, 1.0]):
        assert root.contribution(ALPHA, listed, weights=weights) == root.contribution(
            ALPHA, OTHERS, weights=weights
        )


def test_regimes_match_the_api(
    marketed: ApiClient,  # noqa: F811 - the fixture
    market: Published,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    prices = tmp_path_factory.mktemp("prices") / "prices.parquet"
    price_rows().write_parquet(prices)
    run = datasets.open(market.root)[ALPHA]
    served = marketed.json(f"/v1/alphas/{ALPHA}/regimes", marketed.key())["data"]
    assert run.regimes(prices) == served
    without = run.regimes()
    assert [group["name"] for group in without["groups"]] == ["halves"]
    assert without["withheld"]["market"] == "no market data were given"


def test_invalid_arguments_are_refused_with_the_valid_ones(market: Published) -> None:
    root = datasets.open(market.root)
    with pytest.raises(SettingsError, match="compared by returns, scores, holdings"):
        root.correlations(NAMED, by="names")
    with pytest.raises(SettingsError, match="give 4 numbers"):
        root.contribution(ALPHA, OTHERS, weights=[1.0])
    with pytest.raises(SettingsError, match="weights='inverse': give equal or volatility, or a number"):
        root.contribution(ALPHA, OTHERS, weights="inverse")
    for weights in ([1.0, 0.0, 0.0, 0.0], [1.0, -1.0, 1.0, 1.0], [1.0, float("nan"), 1.0, 1.0], [9e307] * 4):
        with pytest.raises(SettingsError, match="none below 0, and those of the others not all 0"):
            root.contribution(ALPHA, OTHERS, weights=weights)

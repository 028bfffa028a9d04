"""The catalogue luck endpoint."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from datasets.catalogue.listing import Listing
from datasets.figures.daily_returns import DailyReturns
from datasets.figures.false_discoveries import minimum_backtest_length
from schemas.endpoints import ENDPOINTS
from serve.auth.allow_list import ALL, AllowList, Mode
from serve.research import effective_number
from serve.research.effective_number import EffectiveNumbers
from serve.research.returns_matrix import ReturnsMatrix, Searchable
from tests.research.conftest import Published
from tests.support.client import ApiClient
from tests.support.conformance import data_of


def fetch(api: ApiClient, key: str) -> dict[str, Any]:
    data: dict[str, Any] = data_of(ENDPOINTS["research.luck.catalogue"], api.get("/v1/luck", key))
    return data


def effective(market: Published, names: list[str]) -> float:
    """Return the effective number from the full correlation matrix, squares adjusted by pair."""
    return adjusted_number(pd.DataFrame({name: market.returns[name] for name in names}), len(names))


def adjusted_number(frame: pd.DataFrame, alphas: int) -> float:
    frame = frame.loc[:, frame.std() > 1e-12]
    r = frame.corr(min_periods=10).to_numpy()
    present = frame.notna().to_numpy().astype(int)
    n = present.T @ present
    adjusted = 1 - (1 - r**2) * (n - 1) / (n - 2)
    pairs = adjusted[np.triu_indices(len(r), 1)]
    mean = max(0.0, float(np.nanmean(pairs)))
    return alphas**2 / (alphas + mean * alphas * (alphas - 1))


@pytest.mark.parametrize("runs", ["all", "prefix:Test_"])
def test_discoveries_and_independent_alphas_of_a_key_are_counted(
    api: ApiClient, market: Published, runs: str
) -> None:
    key = api.key(runs=runs)
    result = fetch(api, key)
    rows = api.json("/v1/screen?fields=q_value,q_value_by,t_stat", key)["data"]
    figures = [x["figures"] for x in rows if x["figures"]["t_stat"] is not None]
    names = [name for name in market.returns if runs == "all" or name.startswith("Test_")]
    assert (result["alphas"], result["tested"]) == (len(names) + 1, len(figures))
    for entry in result["discoveries"]:
        for name, figure in (("benjamini_hochberg", "q_value"), ("benjamini_yekutieli", "q_value_by")):
            assert entry[name] == sum(x[figure] <= entry["level"] for x in figures)
        assert entry["bonferroni"] <= entry["benjamini_hochberg"]
    assert result["effective_number"] == pytest.approx(effective(market, names), rel=1e-4)
    length = result["minimum_backtest_length"]
    assert length["trials"] == result["alphas"]
    assert length["sessions"] == minimum_backtest_length(result["alphas"], 1.0)
    assert result["effective_backtest_length"]["trials"] == round(result["effective_number"])
    assert result["withheld"] == {}


def test_alphas_of_different_calendars_are_counted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effective_number, "_ROWS_AT_ONCE", 16)
    draw = np.random.default_rng(8)
    common, days = draw.normal(0, 0.01, 40), np.arange(18_000, 18_040, dtype=np.int32)
    series = {}
    for number in range(100):
        values = common + draw.normal(0, 0.01, 40)
        kept = np.ones(40, np.bool_)
        if number % 3 == 0:
            kept[: draw.integers(1, 20)] = False
        if number % 9 == 0:
            kept[draw.integers(20, 40)] = False
        series[f"Test_{number}", "snapshot"] = DailyReturns(days[kept], values[kept])
    numbers = EffectiveNumbers(lambda: None)
    assert numbers.of(ALL) is None
    items = list(series.items())
    allowed = np.arange(100) != 7
    for part in (items[:90], items[:60] + items[63:], items):  # later numbers are updated by the changes
        matrices = [ReturnsMatrix.of(dict(part[:55])), ReturnsMatrix.of(dict(part[55:]))]
        chosen = allowed[: len(part)]
        listing = cast("Listing", SimpleNamespace(columns=SimpleNamespace(allowed=lambda _, x=chosen: x)))
        searchable = Searchable(listing, matrices, np.arange(len(part)))
        numbers.update(searchable, lambda: False)
        frame = pd.DataFrame({key[0]: pd.Series(x.values, x.days) for key, x in part}).drop(columns="Test_7")
        assert numbers.of(ALL) == pytest.approx(adjusted_number(frame, len(part) - 1), rel=1e-4)


def test_repeated_requests_do_not_shorten_the_pause_after_a_failure() -> None:
    updates: list[str] = []
    numbers = EffectiveNumbers(lambda: updates.append("update"))
    for _ in range(3):  # a caller polls while the store does not answer
        assert numbers.of(ALL) is None
    assert updates == ["update"]
    assert numbers.of(AllowList(Mode.LIST, ("Test_one",))) is None
    assert updates == ["update"] * 2


def test_a_key_that_may_read_no_run_gets_no_counts(api: ApiClient) -> None:
    result = fetch(api, api.key(runs="list:Test_absent"))
    assert (result["alphas"], result["tested"], result["effective_number"]) == (0, 0, None)
    assert set(result["withheld"]) == {
        "effective_number",
        "effective_backtest_length",
        "minimum_backtest_length",
    }


@pytest.mark.parametrize(
    ("granted", "missing"),
    [
        ("research.luck.catalogue,portfolio.ledger", "performance.metrics"),
        ("research.luck.catalogue,performance.metrics", "portfolio.ledger"),
    ],
)
def test_a_key_needs_access_to_the_underlying_data(api: ApiClient, granted: str, missing: str) -> None:
    error = api.json("/v1/luck", api.key(endpoints=granted), 403)["error"]
    assert error["details"] == {"endpoint": missing}


def test_bonferroni_matches_statsmodels(api: ApiClient, token: str) -> None:
    rows = api.json("/v1/screen?fields=q_value,t_stat", token)["data"]
    q = np.array([x["figures"]["q_value"] for x in rows if x["figures"]["q_value"] is not None])
    rank = np.argsort(np.argsort(q, kind="stable"), kind="stable") + 1
    p = q * rank / q.size  # exact for the smallest p-value, an upper bound for others
    least = float(np.min(multipletests(p, method="bonferroni")[1]))
    result = fetch(api, token)["discoveries"]
    assert all((x["bonferroni"] > 0) == (least <= x["level"]) for x in result)

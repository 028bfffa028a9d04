"""Figures of the screen beyond the metrics, and multiple testing among readable alphas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import empyrical
import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import datasets
from schemas.metrics.screened import CORRECTED, SCREENED
from tests.support.client import ApiClient

RECORDED = ",".join(x.name for x in SCREENED)
ALL = f"{RECORDED},{','.join(x.name for x in CORRECTED)},information_ratio"


def screened(api: ApiClient, token: str, query: str = "") -> dict[str, dict[str, Any]]:
    return {row["alpha_id"]: row for row in api.json(f"/v1/screen?fields={ALL}&{query}", token)["data"]}


def test_recorded_figures_match_empyrical_and_other_endpoints(api: ApiClient, token: str, root: Path) -> None:
    rows, catalogue = screened(api, token), datasets.open(root)
    measured = 0
    for alpha, row in rows.items():
        figures, run = row["figures"], catalogue[alpha]
        assert set(row["withheld"]) == {name for name, value in figures.items() if value is None}
        if not run.has("portfolio", "long_short") or not run.returns().height:
            assert figures["t_stat"] is figures["volatility"] is figures["cost_bp"] is None
            continue
        measured += 1
        returns = run.returns()["period_return"].to_numpy()
        metrics = api.json(f"/v1/alphas/{alpha}/metrics", token)["data"]
        luck = api.json(f"/v1/alphas/{alpha}/luck", token)["data"]
        ledger = run.scan("portfolio", "long_short").collect()
        assert figures["sessions"] == returns.size
        assert figures["annualised_return"] == pytest.approx(empyrical.annual_return(returns), rel=1e-9)
        assert figures["volatility"] == pytest.approx(empyrical.annual_volatility(returns), rel=1e-9)
        assert figures["t_stat"] == metrics["nwt"]["ir"]["t_stat"]
        assert figures["probabilistic_sharpe"] == luck["probabilistic_sharpe"]["probability"]
        assert figures["tenure_years"] == metrics["core"]["tenure"]["years"]
        cost, traded = (ledger[name].to_numpy().sum() for name in ("execution_cost", "turnover_notional"))
        assert figures["cost_bp"] == pytest.approx(-cost / traded * 1e4, rel=1e-9)
    assert measured > 5


@pytest.mark.parametrize("runs", ["all", "prefix:Test_", "list:Test_full,Test_computed"])
def test_multiple_testing_covers_the_alphas_a_key_may_read(api: ApiClient, runs: str) -> None:
    rows = screened(api, api.key(runs=runs))
    readable = {alpha: x for alpha, x in rows.items() if x["figures"]["t_stat"] is not None}
    assert len(readable) == {"all": 7, "prefix:Test_": 6}.get(runs, 2)
    t = np.array([x["figures"]["t_stat"] for x in readable.values()])
    n = np.array([x["figures"]["sessions"] for x in readable.values()])
    lags = np.floor(4 * (n / 100) ** (2 / 9))
    degrees = 1.5 * n / (lags + 1)
    p = 2 * stats.t.sf(np.abs(t), degrees)
    for name, method in (("q_value", "fdr_bh"), ("q_value_by", "fdr_by")):
        assert [x["figures"][name] for x in readable.values()] == pytest.approx(
            multipletests(p, method=method)[1], rel=1e-9
        )
    by = multipletests(p, method="fdr_by")[1]
    for row, one_t, df, q in zip(readable.values(), t, degrees, by, strict=True):
        kept = stats.t.isf(q / 2, df) / abs(one_t)
        wanted = row["figures"]["information_ratio"] * max(0.0, kept)
        assert row["figures"]["haircut_sharpe"] == pytest.approx(wanted, rel=1e-6, abs=1e-9)
        assert row["figures_checked"]["q_value"] == "computed"
    for alpha in rows.keys() - readable.keys():
        assert {"q_value", "q_value_by", "haircut_sharpe"} <= set(rows[alpha]["withheld"])


def test_a_key_without_the_ledger_gets_the_reason(api: ApiClient) -> None:
    token = api.key(endpoints="research.screen,performance.metrics")
    row = screened(api, token)["Test_computed"]
    for name in ("t_stat", "q_value", "haircut_sharpe", "cost_bp"):
        assert row["withheld"][name] == "the key may not call portfolio.ledger"


@pytest.mark.parametrize("name", ["t_stat", "q_value", "haircut_sharpe", "sessions", "cost_bp"])
def test_figures_of_the_screen_sort_and_filter(api: ApiClient, token: str, name: str) -> None:
    rows = screened(api, token, f"sort=-{name}")
    values = [x["figures"][name] for x in rows.values()]
    known = [x for x in values if x is not None]
    assert known == sorted(known, reverse=True)
    assert values[len(known) :] == [None] * (len(values) - len(known))
    middle = known[len(known) // 2]
    chosen = api.json(f"/v1/screen?fields={name}&min_{name}={middle!r}", token)["data"]
    assert sorted(x["figures"][name] for x in chosen) == sorted(x for x in known if x >= middle)


def test_alphas_with_unsupported_figures_can_be_excluded(api: ApiClient, token: str) -> None:
    rows = {x["alpha_id"]: x["checked"] for x in api.json("/v1/screen?fields=ic", token)["data"]}
    wanted = {alpha for alpha, x in rows.items() if x and not (x["stated"] or x["contradicted"])}
    result = api.json("/v1/screen?checked_only=1", token)["data"]
    assert {x["alpha_id"] for x in result} == wanted
    assert wanted
    closed = api.key(endpoints="research.screen")
    assert api.json("/v1/screen?checked_only=1", closed, 403)["error"]["code"] == "endpoint_not_allowed"


def test_a_row_says_whether_the_run_is_complete(api: ApiClient, token: str) -> None:
    rows = api.json("/v1/screen", token)["data"]
    complete = {x["alpha_id"] for x in api.json("/v1/screen?complete_only=1", token)["data"]}
    assert {x["alpha_id"] for x in rows if x["complete"]} == complete
    assert 0 < len(complete) < len(rows)

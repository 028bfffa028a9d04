"""The metrics endpoints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.snapshot_builder import build_seal
from schemas.endpoints import ENDPOINTS
from serve.endpoints import performance
from tests.support import conformance, factories, seals
from tests.support.client import ApiClient

ALPHA = "Test_metrics"
PATH = f"/v1/alphas/{ALPHA}/metrics"
LACKING = {
    "Test_no_metrics": {"metrics": False},
    "Test_no_raw": {"raw": False},
    "Test_no_ledger": {"without_kinds": {"portfolio", "positions", "pnl", "trades"}},
    "Test_no_decisions": {"without_kinds": {"decisions"}},
    "Test_no_weeks": {"without_kinds": {"decisions", "rebalances"}},
    "Test_no_returns": {"without_columns": {"decisions": {"forward_return"}}, "metrics": False},
    "Test_nothing": {
        "without_kinds": {"decisions", "rebalances", "portfolio", "positions", "pnl", "trades"},
        "metrics": False,
    },
    "Test_notional": {"equity_basis": 1e6, "metrics": False},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("metrics")
    published = folder / "root"
    published.mkdir()
    for alpha, changes in {ALPHA: {"source_alpha_id": "research-7"}, **LACKING}.items():
        build_seal(str(seals.make_seal(folder, alpha_id=alpha, **changes)), published)  # type: ignore[arg-type]
    return published


@pytest.fixture(scope="module")
def key(api: ApiClient) -> str:
    return api.key()


def test_an_answer_has_all_blocks(api: ApiClient, key: str) -> None:
    result = api.json(f"{PATH}?panel=1&doc=1&granularity=monthly", key)
    data, meta = result["data"], result["meta"]
    assert list(result) == ["data", "meta"]
    assert set(data) == {
        "granularity", "checked", "window", "sessions_per_year", "core", "rank_ic", "signal_processing", "periods", "within_window", "ic_deciles", "nwt", "panel",
        "doc", "doc_url", "alpha", "alpha_id",
    }  # fmt: skip
    assert (data["alpha"], data["alpha_id"], data["granularity"]) == (ALPHA, "research-7", "monthly")
    assert data["window"] == {"from": None, "to": None}
    assert meta["run"] == ALPHA
    assert meta["source_alpha_id"] == "research-7"
    assert meta.keys() >= {"request_id", "generated_at", "source"}
    assert "warnings" not in meta
    assert data["doc_url"] == f"{PATH}/_doc"
    assert data["doc"] == api.json(data["doc_url"], key)["data"]


def test_by_default_there_is_neither_panel_nor_documentation_nor_period(api: ApiClient, key: str) -> None:
    data = api.json(PATH, key)["data"]
    assert data["granularity"] == "overall"
    assert data["periods"] is None
    assert not {"panel", "doc"} & data.keys()
    assert api.json(f"{PATH}?panel=0&doc=false&granularity=overall", key)["data"] == data


def test_a_key_without_access_to_the_data_gets_the_sealed_figures(api: ApiClient) -> None:
    narrow = api.key(endpoints="list:performance.metrics")
    result = api.json(f"{PATH}?panel=1", narrow)
    data = result["data"]
    assert None not in [x["value"] for name, x in data["core"].items() if name != "tenure"]
    assert None not in [x["value"] for family in data["rank_ic"].values() for x in family.values()]
    assert data["core"]["tenure"] is data["ic_deciles"] is data["panel"] is None
    assert set(data["nwt"].values()) == {None}
    assert {x["code"] for x in result["meta"]["warnings"]} == {"access_limited"}
    endpoints = {word for x in result["meta"]["warnings"] for word in ENDPOINTS if word in x["message"]}
    assert endpoints == {"portfolio.ledger", "signals.rebalances.get", "signals.rebalances.list"}


def test_cached_answers_are_separated_by_access(api: ApiClient, key: str) -> None:
    full = api.json(PATH, key)["data"]
    narrow = api.key(endpoints="list:performance.metrics,portfolio.ledger")
    limited = api.json(PATH, narrow)["data"]
    assert limited["nwt"]["ir"] == full["nwt"]["ir"]
    assert limited["ic_deciles"] is None
    assert api.json(PATH, key)["data"] == full


@pytest.mark.parametrize("alpha", [ALPHA, *LACKING])
@pytest.mark.parametrize(
    "query", ["panel=1&doc=1&granularity=monthly", "from=1990-01-01&to=1990-12-31&panel=1"]
)
def test_a_run_with_any_missing_kind_is_answered(api: ApiClient, key: str, alpha: str, query: str) -> None:
    response = api.get(f"/v1/alphas/{alpha}/metrics?{query}", key)
    assert response.status_code == 200
    conformance.check(ENDPOINTS["performance.metrics"], response)
    result = json.loads(response.content, parse_constant=pytest.fail)
    codes = {x["code"] for x in result["meta"].get("warnings", ())}
    assert "block_error" not in codes
    assert "kind_missing" not in codes
    paths = {path for path, _ in factories.walk(result)}
    assert not [path for path in paths if path.rpartition(".")[2].startswith("raw_")]
    for block in ("ic_deciles", "rank_ic", "panel"):
        if result["data"][block] is None:
            assert block in {x["block"] for x in result["meta"]["warnings"]}


def test_money_of_a_notional_ledger_is_in_its_currency(api: ApiClient, key: str) -> None:
    core = api.json("/v1/alphas/Test_notional/metrics", key)["data"]["core"]
    assert core["pnl"]["unit"] == core["max_drawdown"]["unit"] == "base_currency_units"
    assert abs(core["pnl"]["value"]) > 100


def test_an_answer_is_computed_once_for_all_keys_of_the_same_rights(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    path, few = f"{PATH}?from=2020-01-06", "performance.metrics"
    first, fewer = api.json(path, api.key()), api.json(path, api.key(endpoints=few))
    assert first["data"]["ic_deciles"] is not None
    assert fewer["data"]["ic_deciles"] is None
    monkeypatch.setattr(performance, "assemble", fail)
    second = api.json(path, api.key())
    assert second["data"] == first["data"]
    assert second["meta"]["request_id"] != first["meta"]["request_id"]
    assert api.json(path, api.key(endpoints=few))["data"] == fewer["data"]
    assert api.get(f"{path}&granularity=yearly", api.key()).status_code == 500


def test_a_block_that_failed_is_computed_again(api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    path, key = f"{PATH}?from=2020-01-07", api.key()

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("datasets.figures.run_metrics.tenure", fail)
        assert api.json(path, key)["data"]["core"]["tenure"] is None
    assert api.json(path, key)["data"]["core"]["tenure"] is not None

"""The figures of a tear sheet are those that the API answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from datasets.report.figures import day
from tests.report.written import written_page
from tests.support.client import ApiClient
from tests.support.contract_app import EMPTY, FULL, HIDDEN, PLAIN, UNDECIDED


def test_a_sheets_figures_match_the_api(root: Path, market: Path, api: ApiClient, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, FULL, market=market)
    (sheet,) = json.loads(page.data)["sheets"]
    key = api.key()
    answer = api.json(f"/v1/alphas/{FULL}/metrics?panel=1&granularity=yearly", key)
    for member in ("warnings", "notices"):
        assert sheet["metrics"].pop(member) == answer["meta"].get(member, [])
    assert sheet["metrics"] == answer["data"]
    for name, entry in answer["data"]["core"].items():
        if name not in {"tenure", "sharpe", "max_drawdown"}:
            assert repr(entry["value"]) in page.numbers, name
    curve = api.json(f"/v1/alphas/{FULL}/equity-curve?limit=5000", key)
    summary = {name: value for name, value in curve["meta"]["summary"].items() if name != "book"}
    assert sheet["equity"]["summary"] == summary
    for name, values in sheet["equity"]["columns"].items():
        assert values == [row[name] for row in curve["data"]], name
    pnl: dict[str, float] = {}
    offset = 0
    while True:
        answer = api.json(f"/v1/alphas/{FULL}/pnl?limit=5000&offset={offset}", key)
        for row in answer["data"]:
            pnl[row["symbol"]] = pnl.get(row["symbol"], 0.0) + row["net_pnl"]
        offset += 5000
        if not answer["pagination"]["has_more"]:
            break
    shown = dict(zip(sheet["names"]["columns"]["symbol"], sheet["names"]["columns"]["net_pnl"], strict=True))
    assert shown == pytest.approx(pnl, rel=1e-9, abs=1e-12)
    assert [row["symbol"] for row in sheet["names"]["best"]] == [
        name for name, value in sorted(pnl.items(), key=lambda x: -x[1])[:10] if value > 0
    ]


def luck_of(api: ApiClient, alpha: str, query: str = "") -> dict[str, Any]:
    result: dict[str, Any] = api.json(f"/v1/alphas/{alpha}/luck?{query}", api.key())["data"]
    return result


@pytest.mark.parametrize("window", [[], ["--from", "2021-11-01", "--to", "2022-02-28"]])
@pytest.mark.parametrize("alpha", [FULL, UNDECIDED, EMPTY])
def test_a_sheets_luck_figures_match_the_api(
    root: Path, api: ApiClient, tmp_path: Path, alpha: str, window: list[str]
) -> None:
    page = written_page(root, tmp_path, alpha, more=window)
    query = "&".join(
        f"{name.removeprefix('--')}={day}" for name, day in zip(*[iter(window)] * 2, strict=True)
    )
    (sheet,) = json.loads(page.data)["sheets"]
    assert sheet["luck"] == luck_of(api, alpha, query)
    for reason in sheet["luck"]["withheld"].values():
        assert reason in page.text
    for band in sheet["luck"]["bands"].values():
        assert band is None or {repr(band[end]) for end in ("estimate", "lower", "upper")} <= set(
            page.numbers
        )
    shown = [
        sheet["luck"]["deflated_sharpe"]["probability"],
        sheet["luck"]["minimum_track_record"]["sessions"],
    ]
    assert {repr(x) for x in shown if x is not None} <= set(page.numbers)


def test_trials_that_only_a_catalogue_could_count_are_withheld(
    root: Path, api: ApiClient, tmp_path: Path
) -> None:
    page = written_page(root, tmp_path, PLAIN)
    (sheet,) = json.loads(page.data)["sheets"]
    actual, theirs = sheet["luck"], luck_of(api, PLAIN)
    assert theirs["deflated_sharpe"]["trials_from"] == "catalogue"
    assert actual["deflated_sharpe"]["trials"] is None
    assert "not counted here" in actual["withheld"]["deflated_sharpe"]
    assert actual["withheld"]["deflated_sharpe"] in page.text
    assert actual["bands"] == theirs["bands"]


def test_a_sheet_of_a_window_contains_only_that_window(
    root: Path, market: Path, api: ApiClient, tmp_path: Path
) -> None:
    first, last = "2021-11-01", "2022-02-28"
    page = written_page(root, tmp_path, FULL, market=market, more=["--from", first, "--to", last])
    (sheet,) = json.loads(page.data)["sheets"]
    key, window = api.key(), f"from={first}&to={last}"
    curve = api.json(f"/v1/alphas/{FULL}/equity-curve?{window}&limit=5000", key)
    for name, values in sheet["equity"]["columns"].items():
        assert values == [row[name] for row in curve["data"]], name
    summary = {name: value for name, value in curve["meta"]["summary"].items() if name != "book"}
    assert sheet["equity"]["summary"] == summary
    days = sheet["equity"]["columns"]["date"]
    result = sheet["benchmark"]
    answer = api.json(f"/v1/benchmarks/{result['symbol']}/daily?from={days[0]}&to={days[-1]}&limit=5000", key)
    is_that_of_the_interface_from_the_close_before(result, answer)
    rows: list[dict[str, Any]] = []
    while (answer := api.json(f"/v1/alphas/{FULL}/pnl?{window}&limit=5000&offset={len(rows)}", key))["data"]:
        rows += answer["data"]
    assert sheet["names"]["total"]["net_pnl"] == pytest.approx(sum(row["net_pnl"] for row in rows))
    assert first <= sheet["holdings"]["date"] <= last
    assert all(first <= day <= last for day in sheet["weekly"]["columns"]["date"])
    # Sealed figures describe the run: drawdown, profit and ratio are those of the curve shown.
    core, bands = sheet["metrics"]["core"], luck_of(api, FULL, window)["bands"]
    assert core["max_drawdown_pct"]["value"] == pytest.approx(summary["max_drawdown_pct"])
    for name in ("information_ratio", "pnl", "turnover", "max_drawdown"):
        assert core[name]["value"] == bands["sharpe" if name == "information_ratio" else name]["estimate"], (
            name
        )
    ic = [x for x in sheet["weekly"]["columns"]["ic"] if x is not None]
    assert core["ic"]["value"] == pytest.approx(sum(ic) / len(ic))
    assert (sheet["metrics"]["nwt"]["ic"]["n"], sheet["metrics"]["nwt"]["ic"]["mean"]) == (
        len(ic),
        core["ic"]["value"],
    )
    assert "window_lifetime_only" not in page.text
    assert "Window: 1 Nov 2021 to 28 Feb 2022." in page.text


def test_a_sheets_comparison_of_a_window_matches_the_api(root: Path, api: ApiClient, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, FULL, PLAIN, HIDDEN, more=["--from", "2021-12-01"])
    compared, key = json.loads(page.data)["compared"], api.key()
    for matrix, by in zip(compared["matrices"], ("returns", "scores", "holdings"), strict=True):
        path = f"/v1/correlations?alphas={FULL},{PLAIN},{HIDDEN}&by={by}&from=2021-12-01"
        answer = api.json(path, key)["data"]
        assert matrix["observations"] == answer["observations"]
        for row, other in zip(matrix["matrix"], answer["matrix"], strict=True):
            assert row == pytest.approx(other, abs=1e-12)
    answer = api.json(f"/v1/alphas/{FULL}/contribution?alphas={PLAIN},{HIDDEN}&from=2021-12-01", key)["data"]
    together = compared["together"]["figures"][-1]
    assert {name: together[name] for name in answer["with"]} == pytest.approx(answer["with"], rel=1e-9)
    assert compared["together"]["first_date"] == answer["first_date"]
    assert page.text.count("Window: the days from 1 Dec 2021 on.") == 4


def test_a_sheets_benchmark_matches_the_api(root: Path, market: Path, api: ApiClient, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, FULL, market=market)
    (sheet,) = json.loads(page.data)["sheets"]
    actual, days = sheet["benchmark"], sheet["equity"]["columns"]["date"]
    answer = api.json(
        f"/v1/benchmarks/{actual['symbol']}/daily?from={days[0]}&to={days[-1]}&limit=5000", api.key()
    )
    is_that_of_the_interface_from_the_close_before(actual, answer)
    assert f"starts at its close of {day(actual['summary']['previous_date'])}" in page.text


def is_that_of_the_interface_from_the_close_before(actual: Any, answer: Any) -> None:
    """Compare a sheet's benchmark with the answer of the API over the same sessions."""
    summary, columns = answer["meta"]["summary"], actual["columns"]
    assert summary["first_return"] is not None
    assert columns["date"] == [row["date"] for row in answer["data"]]
    assert columns["period_return"] == [
        summary["first_return"], *(row["period_return"] for row in answer["data"][1:]),
    ]  # fmt: skip
    grown = [(1 + summary["first_return"]) * (1 + row["cumulative_return"]) - 1 for row in answer["data"]]
    assert columns["cumulative_return"] == pytest.approx(grown, rel=1e-9, abs=1e-12)
    assert actual["summary"]["total_return"] == summary["total_return_from_previous"]
    for name in ("first_date", "last_date", "sessions", "first_close", "last_close", "previous_date"):
        assert actual["summary"][name] == summary[name]


def test_a_sheets_correlations_match_the_api(root: Path, api: ApiClient, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, FULL, PLAIN, HIDDEN)
    compared = json.loads(page.data)["compared"]
    for matrix, by in zip(compared["matrices"], ("returns", "scores", "holdings"), strict=True):
        answer = api.json(f"/v1/correlations?alphas={FULL},{PLAIN},{HIDDEN}&by={by}", api.key())["data"]
        assert answer["alphas"] == compared["alphas"]
        assert matrix["observations"] == answer["observations"]
        for row, other in zip(matrix["matrix"], answer["matrix"], strict=True):
            assert row == pytest.approx(other, abs=1e-12)
    others = f"{PLAIN},{HIDDEN}"
    answer = api.json(f"/v1/alphas/{FULL}/contribution?alphas={others}", api.key())["data"]
    together = compared["together"]["figures"][-1]
    assert {name: together[name] for name in answer["with"]} == pytest.approx(answer["with"], rel=1e-9)


def test_a_sheets_risk_and_costs_match_the_api(root: Path, api: ApiClient, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, FULL)
    (sheet,) = json.loads(page.data)["sheets"]
    for part, family in {"costs": "costs", "legs": "concentration", "risk": "risk"}.items():
        answer = api.json(f"/v1/alphas/{FULL}/{family}?book=long_short", api.key())["data"]
        reasons = answer.pop("withheld")
        assert sheet[part] == {**answer, "reasons": reasons}
    assert {repr(answer[name]) for name in ("annualised_return", "volatility", "sortino")} <= set(
        page.numbers
    )


def test_a_sheets_regimes_and_exposures_match_the_api(
    root: Path, market: Path, api: ApiClient, tmp_path: Path
) -> None:
    page = written_page(root, tmp_path, FULL, market=market, more=["--from", "2021-11-01"])
    (sheet,) = json.loads(page.data)["sheets"]
    for part in ("regimes", "exposures"):
        answer = api.json(f"/v1/alphas/{FULL}/{part}?from=2021-11-01", api.key())["data"]
        reasons = answer.pop("withheld")
        shown = sheet[part].pop("reasons")
        assert sheet[part] == answer
        assert shown.keys() == reasons.keys()
        assert all(" ".join(reason.split()) in page.text for reason in shown.values())
    (model,) = sheet["exposures"]["models"]
    assert repr(model["regression"]["betas"]["SPY"]["beta"]) in page.numbers

"""Windows: inclusive at both ends and applied before paging."""

from __future__ import annotations

import math
from typing import Any

import pytest

from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.meta import META
from tests.contract.cases import CASES, WINDOWED, arguments_of, every
from tests.support.contract_app import FULL, ContractApp

PAGED = tuple(e for e in WINDOWED if CASES[e.id].window)


def day_of(endpoint: Endpoint, row: dict[str, Any]) -> str:
    member = CASES[endpoint.id].window
    assert member is not None
    return str(row[member])[:10]


def close(one: Any, two: Any) -> bool:
    if one is None or two is None:
        return one is two
    return math.isclose(one, two, rel_tol=1e-12, abs_tol=1e-12)


@every(PAGED)
def test_a_window_contains_exactly_the_rows_of_its_days(api: ContractApp, endpoint: Endpoint) -> None:
    arguments, query = arguments_of(api, endpoint), CASES[endpoint.id].query
    everything = api.rows(endpoint, query, **arguments)
    days = sorted({day_of(endpoint, row) for row in everything})
    first, last = days[len(days) // 3], days[2 * len(days) // 3]
    for window in (
        {"from": first, "to": last},
        {"from": first},
        {"to": last},
        {"from": first, "to": first},
        {"from": days[0], "to": days[-1]},
        {"from": "0001-01-01", "to": "9999-12-31"},
    ):
        inside = [
            day_of(endpoint, row)
            for row in everything
            if window.get("from", "") <= day_of(endpoint, row) <= window.get("to", "9999")
        ]
        rows = api.rows(endpoint, {**query, **window}, **arguments)
        assert [day_of(endpoint, row) for row in rows] == inside
        page = api.ok(endpoint, {**query, **window, "limit": 1}, **arguments)
        assert page["pagination"]["total"] == len(inside)


@every(PAGED)
def test_a_window_without_rows_is_empty_without_a_warning(api: ContractApp, endpoint: Endpoint) -> None:
    for window in ({"to": "1900-01-01"}, {"from": "2999-01-01"}):
        page = api.ok(endpoint, {**CASES[endpoint.id].query, **window}, **arguments_of(api, endpoint))
        assert page["data"] == []
        assert page["pagination"]["total"] == 0
        assert "warnings" not in page["meta"], "the run has the data, only not in this window"


@pytest.mark.parametrize("name", ["portfolio.equity_curve", "benchmarks.daily"])
def test_a_series_is_measured_over_its_window_and_not_over_its_page(api: ContractApp, name: str) -> None:
    endpoint = ENDPOINTS[name]
    arguments = arguments_of(api, endpoint)
    days = [row["date"] for row in api.rows(endpoint, **arguments)]
    window = {"from": days[10], "to": days[90]}
    rows = api.rows(endpoint, window, **arguments)
    body = api.ok(endpoint, {**window, "limit": 7, "offset": 30}, **arguments)
    assert body["data"] == rows[30:37], "every page shares the window's baseline"
    summary = body["meta"]["summary"]
    assert summary["sessions"] == len(rows) == 81
    assert (summary["first_date"], summary["last_date"]) == (window["from"], window["to"])
    falls = [row["drawdown_pct"] for row in rows]
    assert close(summary["max_drawdown_pct"], max(falls))
    assert summary["max_drawdown_date"] == rows[falls.index(max(falls))]["date"]
    product = 1.0
    for row in rows:
        if row["period_return"] is None:
            assert row["cumulative_return"] in (None, 0.0)
            continue
        product *= 1 + row["period_return"]
        assert close(row["cumulative_return"], product - 1)
    assert close(summary["cumulative_return_pct"], rows[-1]["cumulative_return"] * 100)


def test_an_equity_curve_follows_from_the_ledger(api: ContractApp) -> None:
    ledger = api.rows("portfolio.ledger", alpha=FULL)
    curve = api.rows("portfolio.equity_curve", alpha=FULL)
    assert len(curve) == len(ledger)
    peak = 0.0
    for row, session in zip(curve, ledger, strict=True):
        for carried in (
            "date",
            "timestamp",
            "starting_equity",
            "ending_equity",
            "gross_exposure",
            "net_exposure",
            "turnover",
        ):
            assert row[carried] == session[carried]
        peak = max(peak, row["starting_equity"], row["ending_equity"])
        assert row["peak_equity"] == peak
        assert close(row["drawdown"], peak - row["ending_equity"])
        assert close(row["drawdown_pct"], 100 * (peak - row["ending_equity"]) / peak)
        assert close(row["period_return"], row["ending_equity"] / row["starting_equity"] - 1)
    summary = api.ok("portfolio.equity_curve", alpha=FULL)["meta"]["summary"]
    assert summary["starting_equity"] == curve[0]["starting_equity"]
    assert summary["ending_equity"] == curve[-1]["ending_equity"]
    assert close(summary["total_return"], curve[-1]["ending_equity"] / curve[0]["starting_equity"] - 1)
    assert close(summary["max_drawdown"], max(row["drawdown"] for row in curve))
    assert summary["peak_equity"] == peak


def test_pnl_by_name_sums_to_the_ledger(api: ContractApp) -> None:
    sums: dict[str, dict[str, float]] = {}
    for row in api.rows("portfolio.pnl", alpha=FULL):
        session = sums.setdefault(
            row["date"], dict.fromkeys(("market_pnl", "execution_cost", "borrow_cashflow"), 0.0)
        )
        for column in session:
            session[column] += row[column]
        assert close(row["net_pnl"], row["market_pnl"] + row["execution_cost"] + row["borrow_cashflow"])
    ledger = {str(session["date"]): session for session in api.rows("portfolio.ledger", alpha=FULL)}
    assert sums
    for date, columns in sums.items():
        for column, value in columns.items():
            assert math.isclose(value, ledger[date][column], rel_tol=1e-9, abs_tol=1e-9)


def test_a_benchmark_has_one_price_basis_over_a_window(api: ContractApp) -> None:
    def basis(**window: str) -> str:
        body = api.ok("benchmarks.daily", window, symbol="SPY")
        return str(body["meta"]["summary"]["return_basis"])

    assert basis() == "close", "the first year has no adjusted close"
    assert basis(**{"from": "2020-01-01"}) == "adjusted_close"
    assert basis(to="2020-01-01") == "close"


def test_the_first_row_of_a_benchmark_is_its_baseline(api: ContractApp) -> None:
    for window in ({}, {"from": "2020-06-01"}):
        row = api.ok("benchmarks.daily", window, symbol="SPY")["data"][0]
        assert (row["period_return"], row["cumulative_return"], row["drawdown_pct"]) == (None, 0.0, 0.0)


def test_an_unknown_benchmark_is_a_bad_request_with_the_available_ones(api: ContractApp) -> None:
    for symbol in ("QQQ", "SPY ", "é", "x" * 500):
        error = api.refused("benchmarks.daily", symbol=symbol)
        assert error["code"] == "bad_request"
        assert error["details"]["available"] == ["SPY"]
        assert [entry["name"] for entry in error["details"]["parameters"]] == ["symbol"]


@pytest.mark.parametrize(
    "name", ["signals.scores", "portfolio.positions", "portfolio.pnl", "portfolio.trades"]
)
def test_rows_are_filtered_by_symbol(api: ContractApp, name: str) -> None:
    endpoint = ENDPOINTS[name]
    arguments, query = arguments_of(api, endpoint), CASES[name].query
    everything = api.rows(endpoint, query, **arguments)
    names = sorted({row["symbol"] for row in everything})[:2]
    for chosen in (names[:1], names, [*names, "NOBODY"], [names[1], names[0], names[1]]):
        rows = api.rows(endpoint, {**query, "symbol": ",".join(chosen)}, **arguments)
        assert rows == [row for row in everything if row["symbol"] in chosen]
    assert api.rows(endpoint, {**query, "symbol": "NOBODY"}, **arguments) == []


def test_the_panel_and_the_cross_section_agree(api: ContractApp) -> None:
    arguments = arguments_of(api, ENDPOINTS["signals.rebalances.get"])
    week = arguments["date"]
    record = api.rows("signals.rebalances.get", {"sort": "symbol"}, **arguments)
    window = {"from": week, "to": week}
    full = api.rows("signals.scores", {**window, "fields": "all"}, alpha=FULL)
    assert [{k: v for k, v in row.items() if k != "date"} for row in full] == record
    core = api.rows("signals.scores", window, alpha=FULL)
    assert core == [{k: row[k] for k in core[0]} for row in full]
    for row in record:
        assert row["score"] == row["direction"] * row["confidence"]
        assert row["raw_score"] == row["raw_direction"] * row["raw_confidence"]


def test_each_benchmark_figure_names_its_price_basis() -> None:
    row, summary = ENDPOINTS["benchmarks.daily"].payload, META["benchmarks.daily"]["summary"]
    for name in ("period_return", "cumulative_return", "drawdown_pct"):
        assert "return_basis" in row[name].meaning
    assert "return_basis" in summary["total_return"].meaning
    for field in (row["close"], summary["first_close"], summary["last_close"]):
        assert "never adjusted" in field.meaning

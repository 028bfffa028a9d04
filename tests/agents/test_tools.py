"""Tools for agents, by the client of the protocol's SDK on a running server: ten questions of docs/answers.md."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import polars as pl
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from pipeline.snapshot_builder import build_seal
from serve.agents.answer import MAX_BYTES
from tests.support import application, contract_app, plain_http, published
from tests.support.client import ApiClient
from tests.support.contract_app import FULL, HIDDEN, PLAIN
from tests.support.contract_root import ContractRoot
from tests.support.seals import make_seal
from tests.support.server import served, token_for

Tools = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, contract_root: ContractRoot
) -> Iterator[tuple[str, str]]:
    """Yield the address of a server and a key."""
    folder = tmp_path_factory.mktemp("agents")
    root = contract_root(folder)
    variables = {
        "ALPHA_RESULTS_AGENTS": "on",
        "ALPHA_RESULTS_MARKET_DATA": str(contract_app.market_data(folder)),
    }
    with served(root, variables=variables) as (_, base):
        yield base, token_for(root)


def run_as_agent(running: tuple[str, str], work: Callable[[Client], Awaitable[Any]]) -> Any:
    """Connect as an agent and run `work`."""
    base, token = running

    async def connected() -> Any:
        headers = {"authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"{base}/mcp", http_client=http)) as client,
        ):
            return await work(client)

    return asyncio.run(connected())


def call(running: tuple[str, str], tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and return its answer, checked to be small."""

    async def work(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    result = run_as_agent(running, work)
    text = result.content[0].text
    assert not result.is_error, text
    assert len(text.encode()) <= MAX_BYTES
    actual: dict[str, Any] = json.loads(text)
    return actual


def call_within(api: ApiClient, key: str, tool: str, **arguments: str) -> dict[str, Any]:
    """Call a tool of an application in this process and return its answer."""
    headers = {"authorization": f"Bearer {key}", "accept": "application/json, text/event-stream"}
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = api.wait(api.client.post("/mcp", headers=headers, json=message))
    actual: dict[str, Any] = json.loads(answer.json()["result"]["content"][0]["text"])
    return actual


def test_tools_and_prompts_are_listed_and_tools_marked_as_read_only(running: tuple[str, str]) -> None:
    async def work(client: Client) -> Any:
        return (
            await client.list_tools(),
            await client.list_prompts(),
            await client.get_prompt("due_diligence", {"alpha": FULL}),
        )

    tools, prompts, diligence = run_as_agent(running, work)
    assert {"find", "describe", "compare", "judge", "explain_week", "positions", "luck", "changes"} <= {
        tool.name for tool in tools.tools
    }
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools.tools)
    assert {prompt.name for prompt in prompts.prompts} == {"first_look", "due_diligence"}
    assert FULL in diligence.messages[0].content.text


def test_find_lists_alphas_by_figures(running: tuple[str, str]) -> None:
    alphas = call(running, "find", sort="-icir", limit=3)["alphas"]
    values = [row["figures"]["icir"] for row in alphas["data"] if row["figures"]["icir"] is not None]
    assert values == sorted(values, reverse=True)
    assert alphas["units"]["icir"] == "ratio"
    assert HIDDEN not in json.dumps(alphas)
    assert call(running, "find", minimum={"icir": 1e9})["alphas"]["data"] == []


def test_describe_shows_description_and_checks(running: tuple[str, str]) -> None:
    result = call(running, "describe", alpha=FULL)
    assert result["description"]["data"]["alpha_id"] == FULL
    assert result["audit"]["data"]["summary"]["checked"]["reproduced"] > 0
    assert result["audit"]["snapshot"] == result["snapshots"]["data"][0]["snapshot"]


def test_judge_shows_audit_metrics_and_luck(running: tuple[str, str]) -> None:
    base, token = running
    result = call(running, "judge", alpha=FULL)
    served_ = plain_http.get(
        f"{base}/v1/alphas/{FULL}/metrics", headers={"authorization": f"Bearer {token}"}
    ).json()
    for name, figure in result["metrics"]["data"]["core"].items():
        full = served_["data"]["core"][name]
        value = full.get("value")
        assert figure.get("value") == (pytest.approx(value, rel=1e-5) if isinstance(value, float) else value)
        assert figure.get("unit") == full.get("unit")
    assert result["luck"]["data"]["deflated_sharpe"]


def test_judge_shows_why_a_figure_is_withheld_and_how_long_the_record_is(tmp_path: Path) -> None:
    ledger = {"long_short": published.ledger("long_short")}
    published.publish(tmp_path, {"rebalances": published.rebalances(), "portfolio": ledger})
    with application.running(tmp_path, agents=True) as api:
        key = api.key()
        core = api.json(f"/v1/alphas/{published.ALPHA}/metrics", key)["data"]["core"]
        shown = call_within(api, key, "judge", alpha=published.ALPHA)["metrics"]["data"]["core"]
    tenure = core.pop("tenure")
    withheld = {name: entry["withheld_reason"] for name, entry in core.items() if entry["value"] is None}
    assert "ic" in withheld
    assert {name: shown[name]["withheld_reason"] for name in withheld} == withheld
    assert (shown["tenure"]["weeks"], shown["tenure"]["source"]) == (tenure["weeks"], tenure["source"])


def test_compare_shows_correlations_and_contribution(running: tuple[str, str]) -> None:
    result = call(running, "compare", alphas=[FULL, PLAIN])
    assert result["correlations"]["data"]["matrix"][0][1] == pytest.approx(1.0)
    assert result["contribution_of_the_first"]["data"]["observations"] > 0


def test_explain_week_shows_the_extremes_of_a_cross_section_of_several_pages(tmp_path: Path) -> None:
    alpha = "Test_wide"
    build_seal(str(make_seal(tmp_path / "seal", alpha_id=alpha, names=130, weeks=14)), tmp_path / "root")
    with application.running(tmp_path / "root", agents=True) as api:
        key = api.key()
        week = api.json(f"/v1/alphas/{alpha}/rebalances?limit=1&offset=8", key)["data"][0]["date"]
        rows = api.json(f"/v1/alphas/{alpha}/rebalances/{week}?limit=5000", key)["data"]
        assert len(rows) > 100, "more than a page has by default"
        scores = [row["score"] for row in rows if row["score"] is not None]
        result = call_within(api, key, "explain_week", alpha=alpha, date=week)
    assert result["week"]["data"][0]["date"] == week
    for part, extremes in (("highest", scores), ("lowest", scores[::-1])):
        shown = [row["score"] for row in result[part]["data"]]
        assert shown == pytest.approx(extremes[: len(shown)], rel=1e-5)
        assert shown
        assert result[part]["total"] == len(rows)


def test_positions_shows_a_days_holdings_and_ledger(running: tuple[str, str]) -> None:
    result = call(running, "positions", alpha=FULL, date="2022-01-14", book="long_only")
    assert result["ledger"]["data"][0]["date"] == "2022-01-14"
    assert result["positions"]["total"] == len(result["positions"]["data"]) > 0
    assert result["positions"]["units"]["weight"] == "ratio"


def test_positions_cut_to_the_answer_are_counted_in_full(tmp_path: Path) -> None:
    day, names = published.SESSIONS[0], [f"N{number:03d}" for number in range(250)]
    row = published.positions("long_short").filter(pl.col("date") == day).head(1)
    rows = pl.concat([row.with_columns(symbol=pl.lit(name)) for name in names])
    kinds = {"portfolio": {"long_short": published.ledger("long_short")}, "positions": {"long_short": rows}}
    published.publish(tmp_path, kinds)
    with application.running(tmp_path, agents=True) as api:
        key = api.key()
        result = call_within(api, key, "positions", alpha=published.ALPHA, date=day.isoformat())
        shown = result["cut"]["positions.data"]
        assert (shown["of"], shown["shown"]) == (len(names), len(result["positions"]["data"]))
        everything = api.json(result["positions"]["call"].removeprefix("GET "), key)["data"]
    assert [held["symbol"] for held in everything] == names


def test_performance_shows_the_equity_of_a_window(running: tuple[str, str]) -> None:
    result = call(running, "performance", alpha=FULL, start="2022-01-01")
    assert result["equity"]["summary"]["first_date"] >= "2022-01-01"


def test_a_unit_is_that_of_its_own_figure(running: tuple[str, str]) -> None:
    luck = call(running, "luck", alpha=FULL)["luck"]["units"]
    assert luck | {
        "sharpe": "ratio", "pnl": "equity units", "max_drawdown_pct": "percentage points", "ic": "correlation",
    } == luck  # fmt: skip
    assert not {"estimate", "lower", "upper"} & luck.keys()
    assert "value" not in call(running, "judge", alpha=FULL)["metrics"]["units"]
    equity = call(running, "performance", alpha=FULL)["equity"]
    assert equity["units"]["total_return"] == "ratio"
    assert equity["units"]["max_drawdown_pct"] == "percentage points"


def test_luck_shows_deflated_ratios(running: tuple[str, str]) -> None:
    assert call(running, "luck", alpha=FULL, trials=50)["luck"]["data"]["deflated_sharpe"]["trials"] == 50


def test_risk_and_exposures_are_shown(running: tuple[str, str]) -> None:
    assert call(running, "risk", alpha=FULL)["risk"]["data"]
    assert call(running, "costs", alpha=FULL)["costs"]["data"]
    assert call(running, "exposures", alpha=FULL)["exposures"]["data"]


def test_changes_lists_publications_since_a_cursor(running: tuple[str, str]) -> None:
    first = call(running, "changes", limit=2)["changes"]
    later = call(running, "changes", since=first["next"], limit=50)["changes"]
    named = [row["alpha_id"] for row in (*first["data"], *later["data"])]
    assert len(named) == len(set(named))
    assert HIDDEN not in named


def test_table_link_signs_a_download(running: tuple[str, str]) -> None:
    table = call(running, "table_link", alpha=FULL, table="decisions")["table"]["data"]
    answer = plain_http.get(table["url"])
    assert answer.status_code == 200
    assert len(answer.content) == table["size_bytes"]


def test_a_refusal_is_an_error_with_the_interfaces_message(running: tuple[str, str]) -> None:
    async def work(client: Client) -> Any:
        alphas = (HIDDEN, "a/b?c", "Test_no such")
        return [await client.call_tool("judge", {"alpha": alpha}) for alpha in alphas]

    hidden, odd, missing = run_as_agent(running, work)
    assert hidden.is_error
    assert "run_not_allowed" in hidden.content[0].text
    assert odd.is_error
    assert "There is no alpha Test_no such." in missing.content[0].text

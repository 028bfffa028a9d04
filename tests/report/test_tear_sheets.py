"""Tear sheets match the API, give reasons for withheld parts, and are written atomically."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import datasets
from datasets.figures.series import FULL_HISTORY
from datasets.report.content import content, names
from datasets.report.figures import _LABELS, dated, of_equity, significant
from datasets.report.figures import entry as shown_entry
from datasets.report.page import render
from datasets.snapshot import Snapshot
from pipeline.snapshot_builder import build_seal
from tests.report.written import Page, written_page
from tests.support.client import ApiClient
from tests.support.contract_app import BARE, EMPTY, FULL, HIDDEN, PLAIN, UNDECIDED
from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal

ALL = (FULL, PLAIN, UNDECIDED, EMPTY, BARE)


def test_a_window_without_sessions_is_withheld_everywhere(root: Path, market: Path, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, FULL, PLAIN, market=market, more=["--to", "1990-01-01"])
    for sheet in json.loads(page.data)["sheets"]:
        for part in ("equity", "benchmark", "names", "holdings", "weekly"):
            assert sheet[part]["withheld"] in page.text
        assert {
            entry["value"] for name, entry in sheet["metrics"]["core"].items() if entry and "value" in entry
        } == {None}
    assert "None" not in page.text


@pytest.mark.parametrize("alpha", ALL)
def test_missing_parts_are_withheld_with_the_reason(root: Path, alpha: str, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, alpha)
    (sheet,) = json.loads(page.data)["sheets"]
    reasons = [
        entry["withheld_reason"]
        for name, entry in sheet["metrics"]["core"].items()
        if name not in {"tenure", "sharpe", "max_drawdown"} and entry["value"] is None
    ]
    parts = [part for name, part in sheet.items() if isinstance(part, dict) and name != "luck"]
    reasons += [part["withheld"] for part in parts if "withheld" in part]
    reasons += sheet["luck"]["withheld"].values()
    reasons += [entry["message"] for member in ("warnings", "notices") for entry in sheet["metrics"][member]]
    for reason in reasons:
        assert " ".join(reason.split()) in page.text, reason
    assert "None" not in page.text
    assert "nan" not in page.text.lower().split()


def test_the_reason_of_a_withheld_part_ends_with_one_full_stop(root: Path, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, PLAIN)
    assert "Withheld: the run recorded no signal before smoothing." in page.text
    assert ".." not in page.text
    assert "Withheld: panel" not in page.text


def test_without_a_ledger_no_chart_is_in_parts_of_the_equity(tmp_path: Path) -> None:
    build_seal(str(make_seal(tmp_path, alpha_id=FULL, without_kinds={"portfolio"})), tmp_path / "published")
    page = written_page(tmp_path / "published", tmp_path, FULL)
    (sheet,) = json.loads(page.data)["sheets"]
    assert sheet["names"]["columns"]["symbol"]
    assert sheet["equity"] == {"withheld": "the run sealed no daily ledger of this book"}
    drawn = re.findall(r'<figure class="chart" data-chart="(\w+)"', (tmp_path / "sheet.html").read_text())
    assert "weeklyIc" in drawn
    assert not {"equity", "turnover", "exposures", "distribution", "bestAndWorst"} & set(drawn)


def test_a_sheet_loads_no_resources_and_its_policy_forbids_them(root: Path, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, FULL)
    assert page.loads == ["data:,"]
    text = (tmp_path / "sheet.html").read_text()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src &#39;none&#39;; script-src &#39;sha256-")
    assert "unsafe" not in policy


def test_a_sheet_has_no_raw_figures(root: Path, tmp_path: Path) -> None:
    written_page(root, tmp_path, FULL, HIDDEN)
    text = (tmp_path / "sheet.html").read_text()
    assert set(re.findall(r"raw_\w+", text)) == set()


def test_names_and_texts_of_an_alpha_are_escaped_in_the_page(root: Path, market: Path) -> None:
    sheet = content(datasets.open(root)[FULL], "long_short", str(market), None)
    hostile = "</script><script>alert(1)</script><b>"
    page = Page(render([{**sheet, "name": hostile, "tldr": hostile, "alpha_id": hostile}]))
    assert json.loads(page.data)["sheets"][0]["name"] == hostile
    assert "alert(1)" in page.text
    assert page.text.count(hostile) >= 3


def test_the_same_snapshots_give_the_same_bytes(root: Path, market: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        written_page(root, tmp_path / name, FULL, PLAIN, market=market)
    assert (tmp_path / "one/sheet.html").read_bytes() == (tmp_path / "other/sheet.html").read_bytes()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0123456, "0.01235"), (12345.678, "12,346"), (2.0, "2"), (0.0, "0"), (-0.5, "-0.5"), (100.0, "100"),
        (1e-9, "1.000e-09"), (3.2e14, "3.200e+14"), (1500, "1,500"), (float("inf"), "\N{EN DASH}"), (-1234.5, "-1,234"),
    ],
)  # fmt: skip
def test_numbers_are_written_to_significant_digits(value: float, text: str) -> None:
    assert significant(value) == text


def test_a_sheet_without_market_data_has_no_benchmark(root: Path) -> None:
    sheet = content(datasets.open(root)[FULL], "long_only", None, None)
    assert sheet["book"] == "long_only"
    assert sheet["benchmark"] == {"withheld": "no market data was given (--market-data)"}


def test_dates_are_formatted_and_no_timestamp_is_shown(root: Path, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, FULL)
    assert not re.search(r"\d{4}-\d\d-\d\d", page.text)
    shown = page.text.partition("Audit and warnings")[0]
    assert f"published {dt.datetime.now(dt.UTC).day} " in shown


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("no close before 2023-01-31; seen at 2026-11-04T21:02:54.5Z", "no close before 31 Jan 2023; seen at 4 Nov 2026, 21:02 UTC"),
        ("a seal says 2023-02-31 and 2023-13-01", "a seal says 2023-02-31 and 2023-13-01"),
        ("icir.2021-09 of run 12021-09-03", "icir.2021-09 of run 12021-09-03"),
    ],
)  # fmt: skip
def test_dates_in_a_sheets_messages_are_formatted(message: str, text: str) -> None:
    assert dated(message) == text


def test_deciles_use_the_delivered_score_unless_a_window_is_given(
    root: Path, api: ApiClient, tmp_path: Path
) -> None:
    (sheet,) = json.loads(written_page(root, tmp_path, FULL).data)["sheets"]
    assert sheet["delivered"] == api.json(f"/v1/alphas/{FULL}/signal", api.key())["data"]["delivered"]
    (sheet,) = json.loads(written_page(root, tmp_path, FULL, more=["--from", "2021-11-01"]).data)["sheets"]
    assert sheet["delivered"] is None


def test_compared_amounts_are_fractions_of_opening_equity() -> None:
    def sheet(value: float | None, unit: str, basis: float) -> dict[str, Any]:
        return {"metrics": {"core": {"pnl": {"value": value, "unit": unit}}}, "equity_basis": basis}

    sheets = [
        sheet(0.125, "ratio", 1.0),
        sheet(250_000.0, "base_currency_units", 1e6),
        sheet(None, "base_currency_units", 1e6),
    ]
    assert [(one["value"], one["unit"]) for one in of_equity(sheets, "pnl")] == [
        (0.125, "ratio"), (0.25, "ratio"), (None, "base_currency_units")
    ]  # fmt: skip


def test_an_amount_of_a_ledger_in_a_currency_says_so() -> None:
    amount = {"value": 23_740.3, "unit": "base_currency_units", "checked": "reproduced"}
    assert shown_entry(amount, "pnl") == '<data value="23740.3">23,740</data> base currency'


def test_a_comparison_has_a_unit_for_each_figure(root: Path, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, FULL, PLAIN)
    table = page.text.partition("Was it luck?")[0]
    assert "Profit % of initial equity" in table
    assert "Sharpe ratio annualised" in table


def test_sheet_and_explorer_use_the_same_labels() -> None:
    assets = REPOSITORY / "serve/explorer/assets"
    text = "".join(
        (assets / f"{name}.js").read_text() for name in ("figures", "alpha_texts", "alpha_returns")
    )
    names = re.findall(r'(?:\["(\w+)", |^  (\w+): \[)"([A-Z][^"]*)"', text, re.MULTILINE)
    shown = {(listed or banded, title) for listed, banded, title in names if (listed or banded) in _LABELS}
    assert {name for name, _ in shown} >= {"ic", "icir", "pnl", "sharpe", "volatility", "hit_rate"}
    for name, title in shown:
        assert title == _LABELS[name], name


def test_each_sheet_of_a_snapshot_has_the_same_digits() -> None:
    rows, names_held = 200_000, 100
    values = np.random.default_rng(1).normal(size=(4, rows))
    money = ("net_pnl", "market_pnl", "execution_cost", "borrow_cashflow")
    pnl = pl.DataFrame(
        {
            "date": pl.Series(np.arange(rows, dtype=np.int32) // names_held).cast(pl.Date),
            "symbol": [f"S{row % names_held}" for row in range(rows)],
            **dict(zip(money, values, strict=True)),
        }
    )
    run = SimpleNamespace(has_rows=lambda *_: True, scan=lambda *_: pnl.lazy())
    first, *others = (names(cast("Snapshot", run), "long_short", FULL_HISTORY) for _ in range(30))
    assert all(other == first for other in others)

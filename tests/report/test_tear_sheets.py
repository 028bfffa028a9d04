"""Tear sheets match the API, give reasons for withheld parts, and are written atomically."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

import datasets
from datasets.__main__ import cli
from datasets.figures.series import FULL_HISTORY
from datasets.report.content import content, names
from datasets.report.figures import _LABELS, dated, day, of_equity, significant
from datasets.report.figures import entry as shown_entry
from datasets.report.page import render
from datasets.snapshot import Snapshot
from pipeline.snapshot_builder import build_seal
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.contract_app import BARE, EMPTY, FULL, HIDDEN, PLAIN, UNDECIDED
from tests.support.contract_root import ContractRoot
from tests.support.prices import write_prices
from tests.support.processes import REPOSITORY
from tests.support.seals import make_seal
from tests.support.small_disk import small_disk

ALL = (FULL, PLAIN, UNDECIDED, EMPTY, BARE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("it's a folder")


@pytest.fixture(scope="module")
def root(folder: Path, contract_root: ContractRoot) -> Path:
    return contract_root(folder)


@pytest.fixture(scope="module")
def market(root: Path, folder: Path) -> Path:
    return write_prices(root, FULL, folder / "spy.parquet")


@pytest.fixture(scope="module")
def api(root: Path, market: Path) -> Iterator[ApiClient]:
    with running(root, market_data=str(market)) as result:
        yield result


def report(*arguments: object, folder: Path, **variables: str | None) -> Result:
    """Run the command in a folder."""
    unset = {name: None for name in os.environ if name.startswith("ALPHA_RESULTS_")}
    with contextlib.chdir(folder):
        return CliRunner().invoke(cli, ["report", *map(str, arguments)], env={**unset, **variables})


class Page(HTMLParser):
    """A page's data, exact numbers, text and resources."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.numbers: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self.within: list[str] = []
        self.data = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.within.append(given.get("id") or tag)
        if tag == "data":
            self.numbers.append(str(given["value"]))
        self.loads += [str(given[name]) for name in ("src", "href", "action", "poster") if name in given]

    def handle_endtag(self, tag: str) -> None:
        if tag != "meta":
            self.within.pop()

    def handle_data(self, data: str) -> None:
        inside = self.within[-1] if self.within else ""
        if inside == "data" and not self.data and data.lstrip().startswith("{"):
            self.data = data
        elif inside not in {"script", "style"}:
            self.words.append(data)

    @property
    def text(self) -> str:
        """The words, with one blank between them."""
        return " ".join(" ".join(self.words).split())


def written_page(
    root: Path, folder: Path, *alphas: str, market: Path | None = None, more: Sequence[str] = ()
) -> Page:
    given = [*(["--market-data", market] if market else []), *more]
    out = folder / "sheet.html"
    done = report(*alphas, "--datasets", root, "--out", out, *given, folder=folder)
    assert (done.exit_code, done.stderr) == (0, "")
    return Page(out.read_text("utf-8"))


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


def test_a_window_without_sessions_is_withheld_everywhere(root: Path, market: Path, tmp_path: Path) -> None:
    page = written_page(root, tmp_path, FULL, PLAIN, market=market, more=["--to", "1990-01-01"])
    for sheet in json.loads(page.data)["sheets"]:
        for part in ("equity", "benchmark", "names", "holdings", "weekly"):
            assert sheet[part]["withheld"] in page.text
        assert {
            entry["value"] for name, entry in sheet["metrics"]["core"].items() if entry and "value" in entry
        } == {None}
    assert "None" not in page.text


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
    """Compare a sheet's benchmark with the answer of the interface over the same sessions."""
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
    ("arguments", "code", "says"),
    [
        (["Test_nowhere"], 9, "publishes no alpha 'Test_nowhere'"),
        ([f"{FULL}s"], 9, f"did you mean {FULL}"),
        (["x"], 9, "it publishes "),
        ([FULL, "--book", "sideways"], 2, "has no book 'sideways'; it has long_short, long_only"),
        ([FULL, FULL], 2, "give one to 6 alphas, each once"),
        ([FULL, "--from", "2021-13-01"], 2, "'2021-13-01' is not a valid date; give one as YYYY-MM-DD"),
        (
            [FULL, "--from", "2022-01-02", "--to", "2022-01-01"],
            2,
            "the first day, 2022-01-02, is after the last, 2022-01-01",
        ),
        ([FULL, "--benchmark", "SPY"], 2, "no market data to take SPY from"),
        (
            [FULL, "--market-data", "nowhere.parquet"],
            2,
            "--market-data or ALPHA_RESULTS_MARKET_DATA: nowhere.parquet is neither a file",
        ),
        ([FULL, "--datasets", "nowhere"], 2, "there is no such folder"),
        ([FULL, "--out", "no/such/folder/sheet.html"], 2, "cannot be written: No such file or directory"),
        ([FULL, "--out", "sheet.pdf", "--pdf"], 2, "give a name that ends in .html"),
    ],
)
def test_invalid_arguments_are_reported_in_one_line_and_no_sheet_is_written(
    arguments: list[str], code: int, says: str, root: Path, tmp_path: Path
) -> None:
    done = report("--datasets", root, "--out", "sheet.html", *arguments, folder=tmp_path)
    assert done.exit_code == code
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    output = report("--datasets", root, "--out", "sheet.html", *arguments, "--json", folder=tmp_path)
    assert says in json.loads(output.stdout)["message"]


def test_a_pipe_or_device_is_not_replaced_by_a_sheet(root: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "sheet.html")
    done = report("--datasets", root, "--out", "sheet.html", FULL, folder=tmp_path)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "sheet.html is no file and would be replaced" in done.stderr
    assert (tmp_path / "sheet.html").is_fifo()


def test_without_a_browser_no_file_is_written(root: Path, tmp_path: Path) -> None:
    empty = tmp_path / "path"
    empty.mkdir()
    done = report(FULL, "--datasets", root, "--out", "sheet.html", "--pdf", folder=tmp_path, PATH=str(empty))
    assert done.exit_code == 2
    assert "no browser that prints is on the PATH: install Chromium" in done.stderr
    assert list(tmp_path.iterdir()) == [empty]


def test_a_failing_browser_leaves_existing_files(root: Path, tmp_path: Path) -> None:
    programs = tmp_path / "path"
    programs.mkdir()
    (programs / "chromium").write_text("#!/bin/sh\necho 'it crashed' >&2\nexit 3\n")
    (programs / "chromium").chmod(0o755)
    (tmp_path / "sheet.html").write_text("the one before")
    path = f"{programs}:{Path(shutil.which('sh') or '/bin/sh').parent}"
    done = report(FULL, "--datasets", root, "--out", "sheet.html", "--pdf", folder=tmp_path, PATH=path)
    assert done.exit_code == 7
    assert "did not print the page (exit code 3): it crashed" in done.stderr
    assert (tmp_path / "sheet.html").read_text() == "the one before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["path", "sheet.html"]


def test_a_damaged_file_is_reported_and_no_sheet_is_written(tmp_path: Path, root: Path) -> None:
    copy = tmp_path / "published"
    shutil.copytree(root, copy)
    (ledger,) = copy.glob(f"alphas/alpha_id={FULL}/*/pnl/book=long_short/part-0.parquet")
    ledger.write_bytes(ledger.read_bytes()[:-9] + bytes(9))
    done = report(FULL, "--datasets", copy, "--out", "sheet.html", folder=tmp_path)
    assert done.exit_code == 4, done.stderr
    assert not (tmp_path / "sheet.html").exists()


def test_the_root_is_read_from_its_variable_and_json_lists_the_files(root: Path, tmp_path: Path) -> None:
    done = report(FULL, "--out", "sheet.html", "--json", folder=tmp_path, ALPHA_RESULTS_DATASETS=str(root))
    assert done.exit_code == 0, done.stderr
    snapshot = datasets.open(root)[FULL].id
    assert json.loads(done.stdout) == {"alphas": {FULL: snapshot}, "html": "sheet.html", "pdf": None}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0123456, "0.01235"), (12345.678, "12,346"), (2.0, "2"), (0.0, "0"), (-0.5, "-0.5"), (100.0, "100"),
        (1e-9, "1.000e-09"), (3.2e14, "3.200e+14"), (1500, "1,500"), (float("inf"), "\N{EN DASH}"), (-1234.5, "-1,234"),
    ],
)  # fmt: skip
def test_numbers_are_written_to_significant_digits(value: float, text: str) -> None:
    assert significant(value) == text


def test_dates_in_a_sheet_are_formatted(root: Path) -> None:
    sheet = content(datasets.open(root)[FULL], "long_only", None, None)
    assert [dt.date.fromisoformat(day) for day in sheet["equity"]["columns"]["date"]]
    assert sheet["book"] == "long_only"
    assert sheet["benchmark"] == {"withheld": "no market data was given (--market-data)"}


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


def test_no_part_of_a_sheet_is_left_on_a_full_disk(root: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, disk.full():
        done = report("--datasets", root, "--out", "sheet.html", FULL, folder=disk.folder)
        assert done.exit_code == 5, done.stderr
        assert "sheet.html cannot be written: " in done.stderr
        assert [file.name for file in disk.folder.iterdir()] == ["filler"]

"""Stated figures, and figures by other conventions, in lists and comparisons."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import datasets
from datasets.report.content import content
from datasets.report.page import render
from pipeline.snapshot_builder import build_seal
from schemas.metrics.headline import HEADLINE
from schemas.tables import TABLES
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.seals import make_seal, rewrite

HONEST = "Test_honest"
METRICS_ONLY = "Test_metrics_only"
RAW_CLAIM = "Test_raw_claim"
BY_365 = "Test_by_365"
CONVENTION = "daily, 365 periods, ddof 1"


def restated(seal: Path, change: Any, *names: str) -> Path:
    def records(document: dict[str, Any]) -> dict[str, Any]:
        for record in document["records"]:
            if record["name"] in names and record["value"] is not None:
                record["value"] = change(record["value"])
        return document

    return rewrite(seal, "metrics", records)


def claiming(value: float) -> Any:
    return lambda _: value


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stated")
    nothing_else = make_seal(folder, alpha_id=METRICS_ONLY, without_kinds=set(TABLES))
    restated(nothing_else, claiming(9.9), "information_ratio", "icir")
    without_raw = make_seal(folder, alpha_id=RAW_CLAIM, raw=False)

    def with_raw_claim(document: dict[str, Any]) -> dict[str, Any]:
        template = next(x for x in document["records"] if x["name"] == "mean_ic" and x["scope"] == "overall")
        kept = [x for x in document["records"] if x["name"] != "raw_mean_ic"]
        return {**document, "records": [*kept, {**template, "name": "raw_mean_ic", "value": 0.77}]}

    rewrite(without_raw, "metrics", with_raw_claim)
    by_365 = restated(
        make_seal(folder, alpha_id=BY_365), lambda x: x * math.sqrt(365 / 252), "information_ratio"
    )
    published = folder / "published"
    for seal in (make_seal(folder, alpha_id=HONEST), nothing_else, without_raw, by_365):
        build_seal(str(seal), published)
    return published


def listed(api: ApiClient, query: str) -> dict[str, dict[str, Any]]:
    return {row["alpha_id"]: row for row in api.json(f"/v1/screen?{query}", api.key())["data"]}


def core(api: ApiClient, alpha: str, query: str = "") -> dict[str, Any]:
    result: dict[str, Any] = api.json(f"/v1/alphas/{alpha}/metrics?{query}", api.key())["data"]["core"]
    return result


def test_figures_of_metrics_alone_are_stated_and_sort_behind_every_figure_that_is_supported(
    api: ApiClient,
) -> None:
    entries = core(api, METRICS_ONLY)
    assert (entries["information_ratio"]["value"], entries["information_ratio"]["checked"]) == (9.9, "stated")
    for order in ("sort=-information_ratio", "sort=information_ratio", "sort=-icir"):
        rows = listed(api, f"{order}&fields=information_ratio")
        assert list(rows)[-1] == METRICS_ONLY
        assert rows[METRICS_ONLY]["figures"] == {"information_ratio": 9.9}
        assert rows[METRICS_ONLY]["figures_checked"] == {"information_ratio": "stated"}
        assert rows[METRICS_ONLY]["withheld"] == {}
        assert rows[HONEST]["figures_checked"] == {"information_ratio": "reproduced"}


def test_a_stated_figure_passes_no_bound(api: ApiClient) -> None:
    assert METRICS_ONLY not in listed(api, "min_information_ratio=-1e300")
    assert METRICS_ONLY not in listed(api, "max_information_ratio=1e300")
    assert HONEST in listed(api, "min_information_ratio=-1e300")


def test_a_raw_figure_without_the_raw_column_is_stated_and_the_others_are_not(api: ApiClient) -> None:
    answer = api.json(f"/v1/alphas/{RAW_CLAIM}/metrics", api.key())
    entry = answer["data"]["rank_ic"]["raw"]["ic"]
    assert (entry["value"], entry["status"], entry["checked"]) == (0.77, "available", "stated")
    assert [x["block"] for x in answer["meta"]["notices"] if x["code"] == "figure_stated"] == ["rank_ic"]
    assert listed(api, "fields=icir")[RAW_CLAIM]["figures_checked"] == {"icir": "reproduced"}


@pytest.mark.parametrize("query", ["fields=ic_raw", "fields=icir_raw", "sort=-ic_raw", "min_icir_raw=0"])
def test_the_unsmoothed_ic_is_only_in_the_metrics(api: ApiClient, query: str) -> None:
    error = api.json(f"/v1/screen?{query}", api.key(), 400)["error"]
    assert error["code"] == "bad_request"


def test_lists_and_metrics_agree_on_the_evidence_of_figures(api: ApiClient) -> None:
    of_metrics = ",".join(name for name, figure in HEADLINE.items() if figure.path)
    rows = listed(api, f"fields={of_metrics}")
    assert rows
    for alpha, row in rows.items():
        data = api.json(f"/v1/alphas/{alpha}/metrics", api.key())["data"]
        for name, checked in row["figures_checked"].items():
            entry: Any = data
            for step in HEADLINE[name].path:
                entry = entry[step]
            assert entry["checked"] == checked
        assert row["figures_checked"].keys() == {
            name for name, value in row["figures"].items() if value is not None
        }


def test_a_ratio_sealed_by_sqrt_365_is_one_number_everywhere(api: ApiClient, root: Path) -> None:
    own = core(api, HONEST)["information_ratio"]["value"]
    entry = core(api, BY_365)["information_ratio"]
    assert entry["value"] == pytest.approx(own, abs=1e-12)
    assert entry["sealed_value"] == pytest.approx(own * math.sqrt(365 / 252))
    assert entry["sealed_convention"] == CONVENTION
    value = entry["value"]
    row = listed(api, "fields=information_ratio,sharpe")[BY_365]
    assert row["figures"] == {"information_ratio": value, "sharpe": value}
    assert row["figures_checked"] == {"information_ratio": "computed", "sharpe": "computed"}
    luck = api.json(f"/v1/alphas/{BY_365}/luck?book=long_short", api.key())["data"]
    assert luck["sharpe"] == pytest.approx(value, rel=1e-12)
    assert luck["bands"]["sharpe"]["estimate"] == pytest.approx(value, rel=1e-12)
    run = datasets.open(root)[BY_365]
    assert run.metrics()["core"]["information_ratio"]["value"] == value
    sheet = content(run, "long_short", None, None)
    assert sheet["metrics"]["core"]["information_ratio"] == entry
    assert f"was sealed by {CONVENTION}" in render([sheet])


def test_a_tear_sheet_marks_stated_figures(root: Path) -> None:
    sheet = content(datasets.open(root)[METRICS_ONLY], "long_short", None, None)
    assert "sealed, and no table supports it" in render([sheet])


@pytest.mark.parametrize("granularity", ["yearly", "monthly"])
def test_yearly_and_monthly_figures_are_stated_alike(api: ApiClient, granularity: str) -> None:
    own, otherwise = (
        {
            x["period"]: x["core"]["information_ratio"]
            for x in api.json(f"/v1/alphas/{alpha}/metrics?granularity={granularity}", api.key())["data"][
                "periods"
            ]
        }
        for alpha in (HONEST, BY_365)
    )
    compared = 0
    for period, entry in own.items():
        if entry["value"] is not None:
            compared += 1
            assert otherwise[period]["value"] == pytest.approx(entry["value"], abs=1e-12)
            assert otherwise[period]["sealed_value"] == pytest.approx(entry["value"] * math.sqrt(365 / 252))
    assert compared


def test_a_stated_and_a_computed_figure_have_no_change_in_a_comparison(
    tmp_path: Path,
) -> None:
    seals = (
        make_seal(tmp_path / "a", alpha_id=HONEST),
        make_seal(
            tmp_path / "b", alpha_id=HONEST, without_kinds=set(TABLES), sealed_at="2026-02-05T07:30:00Z"
        ),
    )
    for seal in seals:
        build_seal(str(seal), tmp_path / "root")
    with running(tmp_path / "root") as api:
        result = api.json(f"/v1/alphas/{HONEST}/snapshots/compare", api.key())["data"]
    figures = {x["figure"]: x for x in result["figures"]}
    ratio = figures["information_ratio"]
    assert (ratio["before_checked"], ratio["after_checked"]) == ("reproduced", "stated")
    assert ratio["before"] == pytest.approx(ratio["after"])
    assert ratio["change"] is None
    assert "no table of one of the snapshots supports the figure" in result["withheld"]["information_ratio"]

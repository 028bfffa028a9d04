"""Sealed figures are served if reproduced, and reported otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import datasets
from pipeline.group import cli
from pipeline.reconciliation.conventions import CONVENTIONS, FROM_DECISIONS
from pipeline.reconciliation.figures import Figure, daily_series, reconcile, weekly_series
from pipeline.reconciliation.seal_figures import measure_weeks
from pipeline.rules import check
from pipeline.seal import Seal
from pipeline.snapshot_builder import build_seal
from schemas.errors import SealRefused
from schemas.metrics.core import CORE, RANK_IC, RISK_FREE_RATE
from tests.support.client import ApiClient
from tests.support.seals import make_seal, rewrite

OVERALL = (
    "mean_ic", "icir", "raw_mean_ic", "raw_icir", "ic_hit_rate", "ic_dispersion", "ic_coverage", "information_ratio",
    "excess_sharpe", "risk_free_rate", "pnl", "max_drawdown", "max_drawdown_pct", "annualised_turnover",
    "total_turnover",
)  # fmt: skip
BY_PERIOD = (
    "mean_ic",
    "icir",
    "information_ratio",
    "excess_sharpe",
    "pnl",
    "max_drawdown",
    "max_drawdown_pct",
    "total_turnover",
)
FALSE = [(name, "overall") for name in OVERALL] + [
    (name, scope) for name in BY_PERIOD for scope in ("yearly", "monthly")
]
Record = dict[str, Any]


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seal(tmp_path_factory.mktemp("valid"), source=False, description=False)


def restated(seal: Path, name: str, scope: str, change: Callable[[Record], Record]) -> Record:
    """Change the last record of a name and scope with a value; return it."""
    changed: list[Record] = []

    def records(document: dict[str, Any]) -> dict[str, Any]:
        results = [
            x
            for x in document["records"]
            if (x["name"], x["scope"]) == (name, scope) and x["value"] is not None
        ]
        results[-1].update(change(dict(results[-1])))
        changed.append(results[-1])
        return document

    rewrite(seal, "metrics", records)
    return changed[0]


def nudged(record: Record) -> Record:
    return {"value": record["value"] * 1.01 + 1e-3}


def broken(figures: tuple[Figure, ...]) -> list[tuple[str, str, str | None]]:
    return [(x.name, x.scope, x.period) for x in figures if x.status == "not_reproduced"]


def test_recomputed_figures_are_those_the_interface_serves() -> None:
    declared = [statistic for family in (CORE, *RANK_IC.values()) for statistic in family]
    assert set(CONVENTIONS) == {name.name for statistic in declared for name in statistic.sealed} | {
        RISK_FREE_RATE
    }


def recomputed(seal: Seal) -> tuple[Figure, ...]:
    weeks, ledger = measure_weeks(seal), seal.optional_table("portfolio")
    return reconcile(seal.metrics(), weeks, ledger, seal.equity_basis)


def test_an_honest_run_has_every_figure_reproduced(valid: Path) -> None:
    figures = recomputed(Seal.open(str(valid)))
    assert {figure.name for figure in figures} == set(OVERALL)
    stated = [figure for figure in figures if figure.sealed is not None]
    assert {figure.status for figure in stated} == {"reproduced"}
    assert all(
        figure.convention == CONVENTIONS[figure.name][0].name
        for figure in stated
        if figure.name not in {"pnl", "max_drawdown"}
    )


@pytest.mark.parametrize(("name", "scope"), FALSE)
def test_only_a_falsified_figure_is_warned_about(seal: Path, name: str, scope: str) -> None:
    record = restated(seal, name, scope, nudged)
    report = check(Seal.open(str(seal)))
    assert report.violations == ()
    (warning,) = report.warnings
    assert (warning.rule, warning.rows) == ("metrics.reproduced", 1)
    (example,) = warning.examples
    assert (example["name"], example["sealed"]) == (name, record["value"])
    assert example["recomputed"] == pytest.approx((record["value"] - 1e-3) / 1.01)
    assert broken(report.figures) == [(name, scope, record["period"])]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("pnl", {"unit": "base_currency_units", "value": 1e9}),
        ("max_drawdown_pct", {"unit": "ratio"}),
        ("information_ratio", {"annualised": False}),
        ("total_turnover", {"unit": "per_session"}),
        ("max_drawdown", {"value": -0.2}),
    ],
)  # fmt: skip
def test_a_figure_in_another_unit_is_not_reproduced(seal: Path, name: str, change: Record) -> None:
    restated(seal, name, "overall", lambda _: change)
    assert broken(recomputed(Seal.open(str(seal)))) == [(name, "overall", None)]


def test_strict_refuses_warnings(seal: Path, tmp_path: Path) -> None:
    restated(seal, "information_ratio", "overall", lambda _: {"value": 9.9})
    run = CliRunner()
    assert run.invoke(cli, ["check", str(seal)]).exit_code == 0
    assert run.invoke(cli, ["check", "--strict", str(seal)]).exit_code == 1
    with pytest.raises(SealRefused) as refused:
        build_seal(str(seal), tmp_path / "root", strict=True)
    assert [violation["rule"] for violation in refused.value.violations] == ["metrics.reproduced"]
    assert not list((tmp_path / "root").rglob("*.parquet"))
    place = ("--from", str(seal.parent), "--datasets", str(tmp_path / "other"))
    assert run.invoke(cli, ["build", "--strict", *place]).exit_code == 1
    result = run.invoke(cli, ["build", *place])
    assert result.exit_code == 0, "what was refused for a warning is not remembered as refused"
    assert build_seal(str(seal), tmp_path / "root").warnings[0]["rule"] == "metrics.reproduced"


@pytest.mark.parametrize("name", OVERALL)
def test_each_listed_convention_is_recognised(valid: Path, name: str) -> None:
    seal = Seal.open(str(valid))
    figures = {(x.name, x.scope): x for x in recomputed(seal)}
    assert figures[name, "overall"].status == "reproduced"
    records = seal.metrics()
    assert records is not None
    weeks, ledger = weeks_of(seal), seal.table("portfolio")
    span: Any = weekly_series(weeks) if name in FROM_DECISIONS else daily_series(ledger, seal.equity_basis)
    one = records.filter((pl.col("name") == name) & (pl.col("scope") == "overall"))
    for way in CONVENTIONS[name]:
        value = way.compute(span)
        unit = way.units[0] if way.units else one["unit"][0]
        stated = one.with_columns(value=pl.lit(value), unit=pl.lit(unit), annualised=way.annualised)
        (figure,) = reconcile(stated, weeks, ledger, seal.equity_basis)
        assert figure.status == "reproduced", way.name
        assert figure.recomputed == pytest.approx(value)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_rows_and_records_does_not_matter(valid: Path, seed: int) -> None:
    seal = Seal.open(str(valid))
    records = seal.metrics()
    assert records is not None
    ledger, weeks = seal.table("portfolio"), weeks_of(seal)

    def violations_found(shuffle: bool) -> set[tuple[Any, ...]]:
        records_, weeks_, ledger_ = (
            frame.sample(fraction=1.0, shuffle=True, seed=seed) if shuffle else frame
            for frame in (records, weeks, ledger)
        )
        result = reconcile(records_, weeks_, ledger_, seal.equity_basis)
        return {(x.name, x.scope, x.period, x.status, x.convention) for x in result}

    assert violations_found(shuffle=True) == violations_found(shuffle=False)


def weeks_of(seal: Seal) -> pl.DataFrame:
    weeks = measure_weeks(seal)
    assert weeks is not None
    return weeks


@settings(max_examples=15)
@given(scale=st.sampled_from([1e-3, 7.0, 1e6]))
def test_figures_scale_with_the_ledger(valid: Path, scale: float) -> None:
    seal = Seal.open(str(valid))
    records, weeks = seal.metrics(), weeks_of(seal)
    assert records is not None
    money = pl.col("name").is_in(["pnl", "max_drawdown"])
    larger = records.with_columns(
        value=pl.when(money).then(pl.col("value") * scale).otherwise("value"),
        unit=pl.when(money).then(pl.lit("base_currency_units")).otherwise("unit"),
    )
    ledger = seal.table("portfolio").with_columns(pl.col("starting_equity", "ending_equity") * scale)
    small = reconcile(records, weeks, seal.table("portfolio"), 1.0)
    large = reconcile(larger, weeks, ledger, scale)
    assert [x.status for x in large] == [x.status for x in small]


def test_check_and_build_name_the_file_of_the_figures(seal: Path, tmp_path: Path) -> None:
    restated(seal, "information_ratio", "overall", lambda _: {"value": 9.9})

    def moved(manifest: dict[str, Any]) -> dict[str, Any]:
        (seal / manifest["kinds"]["metrics"]["path"]).rename(seal / "figures.json")
        manifest["kinds"]["metrics"]["path"] = "figures.json"
        return manifest

    rewrite(seal, "seal", moved)
    (checked,) = check(Seal.open(str(seal))).warnings
    (built,) = build_seal(str(seal), tmp_path / "root").warnings
    assert (checked.file, built["file"]) == ("figures.json", "figures.json")


@pytest.mark.parametrize("name", ["pnl", "max_drawdown"])
def test_a_span_that_opens_without_equity_has_no_ratio_to_it(name: str) -> None:
    days = pl.Series([date(2020, 12, 31), date(2021, 1, 4)])
    ledger = {"book": "long_short", "risk_free_return": 0.0, "turnover": 0.0, "ending_equity": 0.0}
    portfolio = pl.DataFrame({"date": days, "starting_equity": [1.0, 0.0]}).with_columns(
        **{column: pl.lit(value) for column, value in ledger.items()}
    )
    record = {"name": name, "scope": "yearly", "period": "2021", "value": 0.1, "unit": "ratio"}
    records = pl.DataFrame({**record, "annualised": False})
    (figure,) = reconcile(records, None, portfolio, 1.0)
    assert (figure.status, figure.recomputed) == ("not_reproduced", 0.0)


def test_unsealed_figures_are_not_checked(tmp_path: Path) -> None:
    bare = make_seal(tmp_path, without_kinds={"decisions", "portfolio", "positions", "pnl", "trades"})
    result = recomputed(Seal.open(str(bare)))
    assert {figure.status for figure in result} == {"not_checked"}
    assert {figure.reason for figure in result if figure.sealed is not None} == {
        "the run sealed no decisions with the index of their weeks",
        "the run sealed no ledger of long_short",
    }


ALPHA = "Test_falsified"
SEALED = {"information_ratio": 9.9, "max_drawdown": 0.0001, "raw_mean_ic": 0.77, "annualised_turnover": 1.5}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    made = make_seal(folder, alpha_id=ALPHA)
    for name, value in SEALED.items():
        restated(made, name, "overall", lambda _, value=value: {"value": value})  # type: ignore[misc]
    restated(made, "pnl", "monthly", lambda _: {"value": 55.5})
    build_seal(str(made), folder / "root")
    build_seal(str(make_seal(folder, alpha_id="Test_honest")), folder / "root")
    return folder / "root"


def test_the_recomputed_figure_is_served_with_a_warning_naming_both(api: ApiClient) -> None:
    key = api.key()
    result = api.json(f"/v1/alphas/{ALPHA}/metrics", key)
    honest = api.json("/v1/alphas/Test_honest/metrics", key)["data"]
    for statistic, name in (
        ("information_ratio", "information_ratio"),
        ("max_drawdown", "max_drawdown"),
        ("turnover", "annualised_turnover"),
    ):
        entry = result["data"]["core"][statistic]
        assert entry["source_kind"] == "derived"
        assert entry["value"] == pytest.approx(honest["core"][statistic]["value"])
        lines = [
            w["message"]
            for w in result["meta"]["notices"]
            if w["code"] == "figure_not_reproduced" and w["message"].startswith(f"{statistic}:")
        ]
        assert len(lines) == 1
        assert f"{SEALED[name]:.9g}" in lines[0]
        assert f"{entry['value']:.9g}" in lines[0]
    assert result["data"]["core"]["sharpe"]["value"] == result["data"]["core"]["information_ratio"]["value"]
    assert result["data"]["rank_ic"]["raw"]["ic"]["value"] == pytest.approx(
        honest["rank_ic"]["raw"]["ic"]["value"]
    )
    assert result["data"]["core"]["pnl"]["source_kind"] == "fact"


def test_a_falsified_month_is_recomputed_with_a_warning(api: ApiClient) -> None:
    result = api.json(f"/v1/alphas/{ALPHA}/metrics?granularity=monthly", api.key())
    values = [period["core"]["pnl"] for period in result["data"]["periods"]]
    assert not [entry for entry in values if entry["value"] == 55.5]
    assert len([entry for entry in values if entry["source_kind"] == "derived"]) == 1
    assert [w for w in result["meta"]["notices"] if w["block"] == "periods" and "55.5" in w["message"]]


def test_manifest_and_parquet_contain_all_figures(root: Path) -> None:
    (path,) = (root / "alphas" / f"alpha_id={ALPHA}").rglob("manifest.json")
    table = json.loads(path.read_text())["reconciliation"]["figures"]
    stated = datasets.open(root)[ALPHA].scan("sealed_metrics").collect()
    assert len(table) == stated.height
    wrong = {(x["name"], x["period"]) for x in table if x["status"] == "not_reproduced"}
    assert {name for name, _ in wrong} == {*SEALED, "pnl"}
    rows = stated.filter(pl.col("reconciliation") == "not_reproduced")
    assert set(rows.select("name", "period").iter_rows()) == wrong
    assert np.all(rows["recomputed_value"].is_not_null().to_numpy())

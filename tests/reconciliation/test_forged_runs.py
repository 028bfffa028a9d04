"""Consistently forged runs are refused or noticed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import datasets
from examples.reference_engine import RunRecord, run_alpha, write_seal
from examples.reference_engine.alpha import SignalName
from pipeline.rules import Report, check
from pipeline.seal import Seal
from pipeline.snapshot_builder import build_seal
from schemas.notices.notice import NOTICE
from tests.reconciliation.careful_runs import CAREFUL
from tests.reconciliation.forged_runs import (
    FORGERIES,
    PLAIN,
    edited,
    every_second_mark_lifted,
    honest,
    market,
    of,
    on,
    one_name_lifted,
    stated,
)
from tests.reconciliation.further_runs import FURTHER
from tests.reconciliation.honest_runs import HONEST, UNUSUAL


def checked(record: RunRecord, folder: Path) -> Report:
    return check(Seal.open(str(write_seal(folder / "seal", record))))


def said(report: Report) -> set[str]:
    """Return the ids of broken rules, warnings and given notices."""
    rules = {violation.rule for violation in (*report.violations, *report.warnings)}
    return rules | {each.notice for each in report.notices if each.outcome == NOTICE}


ALL_FORGERIES = {**FORGERIES, **CAREFUL, **FURTHER}


@pytest.mark.parametrize("forgery", ALL_FORGERIES)
def test_a_consistently_forged_run_is_refused_or_noticed(forgery: str, tmp_path: Path) -> None:
    make, ids = ALL_FORGERIES[forgery]
    assert said(checked(make(), tmp_path)) & ids


@pytest.mark.parametrize("run", HONEST)
def test_an_honest_run_is_neither_refused_nor_noticed(run: str, tmp_path: Path) -> None:
    assert said(checked(HONEST[run](), tmp_path)) == set()


@pytest.mark.parametrize("run", UNUSUAL)
def test_unusual_honest_runs_have_only_true_notices(run: str, tmp_path: Path) -> None:
    make, ids = UNUSUAL[run]
    assert said(checked(make(), tmp_path)) == ids


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish honest runs of one market."""
    folder = tmp_path_factory.mktemp("catalogue")
    signals: tuple[SignalName, ...] = ("momentum", "reversal", "low_volatility")
    for place, signal in enumerate(signals):
        spec = replace(PLAIN, alpha_id=f"Test_other_{place}", signal=signal, half_life_weeks=1.0 + place)
        build_seal(str(write_seal(folder / spec.alpha_id, run_alpha(market(), spec))), folder / "root")
    return folder / "root"


def noticed_beside(root: Path, record: RunRecord, folder: Path, day: int = 1) -> Collection[str]:
    """Publish a run along with others; return the notices in its manifest."""
    manifest = {**record.manifest, "sealed_at": f"2026-03-{day:02}T00:00:00Z"}
    build_seal(str(write_seal(folder / f"seal_{day}", replace(record, manifest=manifest))), root)
    entries = datasets.open(root)[record.manifest["alpha_id"]].manifest.notices
    return {entry["notice"] for entry in entries if entry["outcome"] == NOTICE}


def test_marks_contradicted_by_other_runs_are_noticed(catalogue: Path, tmp_path: Path) -> None:
    record = on(closes=every_second_mark_lifted)
    record = replace(record, manifest={**record.manifest, "alpha_id": "Test_marked"})
    assert "catalogue.prices" in noticed_beside(catalogue, record, tmp_path)


def test_one_slightly_inflated_name_is_noticed(catalogue: Path, tmp_path: Path) -> None:
    values = {name: one_name_lifted(name, 0.003, "SIM008") for name in ("opens", "closes")}
    record = on(**values)
    record = replace(record, manifest={**record.manifest, "alpha_id": "Test_lifted"})
    assert "catalogue.one_name" in noticed_beside(catalogue, record, tmp_path)


def test_an_honest_run_beside_others_and_sealed_again_is_not_noticed(catalogue: Path, tmp_path: Path) -> None:
    for day in (1, 2):
        assert noticed_beside(catalogue, honest(), tmp_path, day) == set()


def test_a_restated_past_stays_noticed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    noticed_beside(root, honest(), tmp_path, 1)
    for day in (2, 3):
        better = edited(of("decisions", pl.col("score") * (1 + day / 100)))
        assert "history.restated" in noticed_beside(root, better, tmp_path, day)


def test_a_ratio_annualised_by_another_convention_is_named(tmp_path: Path) -> None:
    def by_calendar_days(entry: dict[str, Any]) -> dict[str, Any]:
        value = entry["value"]
        if entry["name"] != "information_ratio" or not isinstance(value, float):
            return entry
        return {**entry, "value": value * (365 / 252) ** 0.5}

    report = checked(stated(by_calendar_days), tmp_path)
    (figure,) = (x for x in report.figures if x.name == "information_ratio" and x.period is None)
    assert "365" in str(figure.convention)

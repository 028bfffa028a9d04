"""Seals of the reference engine pass the project's check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from examples.reference_engine import simulate
from pipeline.rules import check
from pipeline.seal import Seal


def test_a_simulated_run_breaks_no_rule_and_has_no_warning(seal: Any) -> None:
    report = check(Seal.open(str(seal.folder)))
    assert report.violations == ()
    assert report.warnings == ()
    assert report.not_checked == ()


def test_the_demonstration_runs_break_no_rule(tmp_path: Path) -> None:
    for folder in simulate(tmp_path / "out", seed=2, names=60, weeks=60):
        report = check(Seal.open(str(folder)))
        assert (report.violations, report.warnings, report.not_checked) == ((), (), ())

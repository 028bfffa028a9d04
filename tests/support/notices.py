"""Notices on runs of the reference engine."""

from __future__ import annotations

from pathlib import Path

from examples.reference_engine import RunRecord, write_seal
from pipeline.notices import NoticeOutcome
from pipeline.rules import check
from pipeline.seal import Seal


def outcomes_of(run: RunRecord, folder: Path) -> dict[str, NoticeOutcome]:
    """Seal the tables of a run, which must break no rule; return the outcome of each notice."""
    seal = write_seal(folder / "seal", RunRecord(run.manifest, run.tables, None, None, None))
    report = check(Seal.open(str(seal)))
    assert not report.violations, [violation.message for violation in report.violations]
    return {outcome.notice: outcome for outcome in report.notices}


def notices_of(run: RunRecord, folder: Path) -> dict[str, NoticeOutcome]:
    """Return the notices that a run gets."""
    return {name: x for name, x in outcomes_of(run, folder).items() if x.outcome == "notice"}

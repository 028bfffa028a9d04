"""A small run of the reference engine, and the notices about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from examples.reference_engine import (
    AlphaSpec,
    Market,
    RunRecord,
    run_alpha,
    write_seal,
)
from pipeline.notices import NoticeOutcome
from pipeline.rules import Report, check
from pipeline.seal import Seal

SPEC = AlphaSpec("Test_noticed", "momentum", raw=False)


def seal_of(market: Market, folder: Path, spec: AlphaSpec = SPEC, *, trades: bool = True) -> Path:
    run = run_alpha(market, spec)
    tables = {kind: table for kind, table in run.tables.items() if trades or kind != "trades"}
    return write_seal(folder / spec.alpha_id, RunRecord(run.manifest, tables, None, None, None))


def report_of(seal: Path) -> Report:
    report = check(Seal.open(str(seal)))
    assert not report.violations, [violation.message for violation in report.violations]
    return report


def noticed(report: Report) -> list[NoticeOutcome]:
    return [notice for notice in report.notices if notice.outcome == "notice"]


def given(seal: Path) -> list[str]:
    return [notice.notice for notice in noticed(report_of(seal))]


def free_to_borrow(market: Market) -> Market:
    return replace(market, borrow_rate=np.zeros_like(market.borrow_rate))

"""Reconcile a served alpha from its published tables: double entry and figures."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import polars as pl

from datasets.layout import snapshot_path
from datasets.manifest import Manifest
from datasets.publication.pointers import served
from datasets.snapshot import Snapshot
from datasets.storage import open_storage
from pipeline.housekeeping.recheck_sealed import sealed_tables
from pipeline.reconciliation.figures import Figure
from pipeline.reconciliation.of_a_seal import figures_from, metrics_reproduced, one_signal
from pipeline.reconciliation.tables import Tables
from pipeline.rule import Coverage, Level, Violation
from pipeline.rules.registry import RULES
from pipeline.rules.report import NotChecked, Report
from pipeline.seal.declared_differences import read_declared
from pipeline.snapshot_builder.weekly import measured_decisions, published_decisions, weekly_tables
from schemas.kinds import ALPHA_ID, OPTIONAL_KINDS
from schemas.tables import SEALED_TABLES
from schemas.tables.pnl import ADJUSTMENTS
from schemas.tables.sealed_metrics import SEALED_METRICS


def report_of_snapshot(root: str, alpha_id: str) -> Report | None:
    """Apply the rules across tables to what is served, and recompute its figures.

    Parameters
    ----------
    root
        The datasets root.
    alpha_id
        The alpha.

    Returns
    -------
    Report or None
        None when the root serves no such alpha.

    Raises
    ------
    SnapshotCorrupt
        When its manifest cannot be read.
    StorageUnavailable
        When the store does not answer.
    """
    storage = open_storage(root)
    pointer = served(storage, alpha_id) if ALPHA_ID.fullmatch(alpha_id) else None
    if pointer is None:
        return None
    manifest = Snapshot(storage, pointer).manifest
    wanted = {*SEALED_TABLES, SEALED_METRICS.name}
    frames = {
        (entry.dataset, entry.book): pl.read_parquet(
            io.BytesIO(
                storage.read(f"{snapshot_path(alpha_id, pointer.snapshot)}/{entry.path}", entry.bytes)
            ),
            hive_partitioning=False,
        )
        for entry in manifest.files
        if entry.dataset in wanted
    }
    sealed = sealed_tables(frames)
    declared = read_declared(manifest.reconciliation.get("declared", {}))[0]
    tables = Tables(sealed, manifest.equity_basis, declared)
    report = _rules(f"{alpha_id} ({pointer.snapshot})", alpha_id, tables)
    figures = _figures(manifest, sealed, frames.get((SEALED_METRICS.name, None)))
    warning = metrics_reproduced(figures)
    return Report(
        address=report.address,
        alpha_id=alpha_id,
        violations=report.violations,
        warnings=report.warnings if warning is None else (*report.warnings, warning),
        not_checked=report.not_checked,
        counts={kind: frame.height for kind, frame in sealed.items()},
        declared=declared.to_dict(),
        figures=figures,
        adjusted=any(tables.has("pnl", name) for name in ADJUSTMENTS),
        coverage=report.coverage,
    )


def _rules(address: str, alpha_id: str, tables: Tables) -> Report:
    violations: list[Violation] = []
    warnings: list[Violation] = []
    skipped: list[NotChecked] = []
    coverage: dict[str, Coverage] = {}
    for rule in RULES.values():
        if rule.level is not Level.RUN:
            continue
        missing = [kind for kind, columns in rule.needs.items() if not tables.has(kind, *columns)]
        if OPTIONAL_KINDS.intersection(missing):
            continue
        if missing:
            skipped.append(NotChecked(rule.id, f"the run sealed no {', '.join(missing)}"))
            continue
        violation, share = rule.apply(tables)
        if violation is not None:
            (warnings if rule.warns else violations).append(violation)
        if share is not None:
            coverage[rule.id] = share
            skipped += [NotChecked(rule.id, share.reason)] if share.reason else []
    return Report(
        address,
        alpha_id,
        tuple(violations),
        tuple(warnings),
        tuple(skipped),
        coverage=coverage,
    )


def _figures(
    manifest: Manifest, sealed: Mapping[str, Any], records: pl.DataFrame | None
) -> tuple[Figure, ...]:
    if records is None:
        return ()
    weeks = None
    if "rebalances" in sealed and "decisions" in sealed:
        decisions = published_decisions(sealed["decisions"])
        unsmoothed = one_signal(manifest.smoothing)
        weeks = weekly_tables(sealed["rebalances"], measured_decisions(decisions, unsmoothed=unsmoothed))[
            "weekly_signal"
        ]
    return figures_from(records, weeks, sealed.get("portfolio"), manifest.equity_basis)

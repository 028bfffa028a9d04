"""Reconcile a served alpha from its published tables: double entry and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from datasets.manifest import Manifest
from datasets.publication.pointers import served
from datasets.snapshot import Snapshot
from datasets.storage import open_storage
from pipeline.housekeeping.recheck_sealed import recheck, sealed_tables
from pipeline.reconciliation.figures import Figure
from pipeline.reconciliation.seal_figures import (
    figures_from,
    measured_weeks,
    metrics_reproduced,
    with_raw_signal,
)
from pipeline.rules.report import Report
from pipeline.seal.declared_differences import DeclaredDifferences
from pipeline.seal.records import METRICS
from schemas.kinds import ALPHA_ID
from schemas.tables import SEALED_TABLES


def check_snapshot(root: str, alpha_id: str) -> Report | None:
    """Apply the rules across tables to a served snapshot, and recompute its figures.

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
        When its manifest, or a file of it, is gone or damaged.
    StorageUnavailable
        When the store does not answer.
    """
    storage = open_storage(root)
    pointer = served(storage, alpha_id) if ALPHA_ID.fullmatch(alpha_id) else None
    if pointer is None:
        return None
    snapshot = Snapshot(storage, pointer)
    manifest = snapshot.manifest
    wanted = {*SEALED_TABLES, METRICS.name}
    sealed = sealed_tables(
        {
            (entry.dataset, entry.book): snapshot.scan(entry.dataset, entry.book).collect()
            for entry in manifest.files
            if entry.dataset in wanted
        }
    )
    declared = DeclaredDifferences.read(manifest.reconciliation.get("declared", {}))
    report = recheck(sealed, manifest.equity_basis, declared)
    figures = _figures(manifest, sealed)
    warning = metrics_reproduced(figures)
    return replace(
        report,
        address=f"{alpha_id} ({pointer.snapshot})",
        alpha_id=alpha_id,
        warnings=report.warnings if warning is None else (*report.warnings, warning),
        counts={kind: sealed[kind].height for kind in SEALED_TABLES if kind in sealed},
        declared=declared.to_dict(),
        figures=figures,
    )


def _figures(manifest: Manifest, sealed: Mapping[str, pl.DataFrame]) -> tuple[Figure, ...]:
    if METRICS.name not in sealed:
        return ()
    rebalances, decisions = sealed.get("rebalances"), sealed.get("decisions")
    weeks = None
    if rebalances is not None and decisions is not None:
        weeks = measured_weeks(rebalances, with_raw_signal(decisions, manifest.smoothing))
    return figures_from(sealed[METRICS.name], weeks, sealed.get("portfolio"), manifest.equity_basis)

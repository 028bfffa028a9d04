"""Reconciliation of one seal's figures with its tables, and the rule that reports differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from pipeline.maths.weekly_signal import measured_decisions, weekly_ics
from pipeline.reconciliation.figures import Figure, not_reproduced
from pipeline.rule import Finding, file_rule, limited
from pipeline.seal import Seal
from schemas.tables.decisions import PUBLISHED_AS


@file_rule(
    "metrics.reproduced",
    "Every figure of metrics.json that the API serves, overall and by period, follows from the sealed tables "
    "under one of the conventions of docs/rules.md, to 1e-6. Otherwise the recomputed "
    "figure is served in its place, with a warning that names both.",
    "Compute the figure from the tables that are sealed, or leave it out and let it be computed; name and unit say "
    "which figure it is.",
    needs={"metrics": ()},
    warns=True,
)
def metrics_reproduced(figures: Sequence[Figure]) -> Finding | None:
    """Report figures that no convention reproduces.

    Parameters
    ----------
    figures : sequence of Figure
        As :func:`pipeline.reconciliation.figures.reconcile` returns them.

    Returns
    -------
    Finding or None
        None when every figure is reproduced or cannot be checked.
    """
    broken = not_reproduced(figures)
    if not broken:
        return None
    examples = [
        {"name": x.name, "period": x.period or x.scope, "sealed": x.sealed, "recomputed": x.recomputed}
        for x in broken
    ]
    names = ", ".join(dict.fromkeys(figure.name for figure in broken))
    return Finding("metrics", len(broken), limited(examples), f"no convention reproduces {names}")


def measure_weeks(seal: Seal) -> pl.DataFrame | None:
    """Compute the weekly figures that the reconciliation of a seal needs.

    Parameters
    ----------
    seal : Seal
        A seal that passes the rules.

    Returns
    -------
    polars.DataFrame or None
        As :func:`pipeline.maths.weekly_signal.weekly_ics`; None without cross-sections or rebalance index.
    """
    if not (seal.has("rebalances") and seal.has("decisions")):
        return None
    decisions = seal.table("decisions").rename(PUBLISHED_AS, strict=False)
    return weekly_ics(seal.table("rebalances"), measured_decisions(decisions, seal.smoothing))


def with_reconciliation(records: pl.DataFrame, figures: Iterable[Figure]) -> pl.DataFrame:
    """Add the reconciliation of each record.

    Parameters
    ----------
    records : polars.DataFrame
        Sealed figures by ``name``, ``scope`` and ``period``.
    figures : iterable of Figure
        As :func:`pipeline.reconciliation.figures.reconcile` returns them.

    Returns
    -------
    polars.DataFrame
        `records` with ``reconciliation`` (``not_checked`` for names that are not served), ``recomputed_value`` and
        ``convention``.
    """
    key = ("name", "scope", "period")
    columns = (*key, "reconciliation", "recomputed_value", "convention")
    schema: dict[str, Any] = dict.fromkeys(columns, pl.String) | {"recomputed_value": pl.Float64}
    rows = [(x.name, x.scope, x.period, x.status, x.recomputed, x.convention) for x in figures]
    outcomes = pl.DataFrame(rows, schema=schema, orient="row")
    joined = records.join(outcomes, on=key, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.col("reconciliation").fill_null("not_checked"))

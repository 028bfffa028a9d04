"""Derived tables, recomputed from the sealed columns of a snapshot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from pipeline.maths.weekly_signal import measured_decisions
from pipeline.reconciliation.seal_figures import figures_from, with_reconciliation
from pipeline.rules.tolerance import differ
from pipeline.seal.records import METRICS
from pipeline.snapshot_builder import ledgers
from pipeline.snapshot_builder.weekly import published_decisions, published_rebalances, weekly_tables
from schemas.plurals import counted

Rebuilt = tuple[str, str | None, pl.DataFrame]
"""Dataset, book and rows."""


def recompute_derived(
    sealed: Mapping[str, pl.DataFrame], equity_basis: float, smoothing: Mapping[str, Any] | None
) -> Iterator[Rebuilt]:
    """Rebuild every dataset from its sealed tables.

    Parameters
    ----------
    sealed, equity_basis, smoothing
        As published in the snapshot.

    Yields
    ------
    tuple
        Dataset, book and the rows it must have. Sealed ranks are kept, as in a build.
    """
    weeks = None
    for dataset, book, rows in _weekly(sealed, smoothing):
        weeks = rows if dataset == "weekly_signal" else weeks
        yield dataset, book, rows
    yield from _by_book(sealed, equity_basis)
    records = sealed.get(METRICS.name)
    if records is not None:
        figures = figures_from(records, weeks, sealed.get("portfolio"), equity_basis)
        yield METRICS.name, None, with_reconciliation(records, figures)


def _weekly(sealed: Mapping[str, pl.DataFrame], smoothing: Mapping[str, Any] | None) -> Iterator[Rebuilt]:
    decisions = None
    if "decisions" in sealed:
        decisions = published_decisions(sealed["decisions"])
        yield "decisions", None, decisions
    if "rebalances" in sealed:
        yield "rebalances", None, published_rebalances(sealed["rebalances"], decisions)
        if decisions is not None:
            known = measured_decisions(decisions, smoothing)
            for name, rows in weekly_tables(sealed["rebalances"], known).items():
                yield name, None, rows


def _by_book(sealed: Mapping[str, pl.DataFrame], equity_basis: float) -> Iterator[Rebuilt]:
    by_kind = {
        kind: ledgers.published_by_name(kind, sealed[kind])
        for kind in ("positions", "pnl", "trades")
        if kind in sealed
    }
    if "portfolio" in sealed:
        by_kind["portfolio"] = ledgers.published_portfolio(sealed["portfolio"], equity_basis)
        yield from _parts("equity_curve", ledgers.published_equity_curves(by_kind["portfolio"]))
    for kind, parts in by_kind.items():
        yield from _parts(kind, parts)
    if by_kind:
        spans = {kind: ledgers.spans(parts, kind) for kind, parts in by_kind.items()}
        yield "books", None, ledgers.published_books(spans)


def _parts(dataset: str, parts: ledgers.Books) -> Iterator[Rebuilt]:
    for book, rows in parts.items():
        yield dataset, book, rows


def differences(published: pl.DataFrame, recomputed: pl.DataFrame, equity_basis: float) -> Iterator[str]:
    """Describe the columns in which published rows differ from recomputed ones. Pure.

    Parameters
    ----------
    published, recomputed
        Stored and recomputed rows; floats are compared with the tolerance of the rules, everything else exactly.
    """
    if published.height != recomputed.height:
        yield f"has {counted(published.height, 'row')} where recomputation from the run gives {recomputed.height}"
        return
    for name in recomputed.columns:
        if name not in published.columns:
            yield f"lacks the column {name}, which can be derived from the run"
            continue
        a, b = published[name], recomputed[name]
        if a.dtype.is_float():
            pair = pl.DataFrame({"a": a, "b": b})
            # A null on one side only is a difference.
            lone = pl.col("a").is_null() != pl.col("b").is_null()
            differing = pair.select(
                (differ(pl.col("a"), pl.col("b"), max(1.0, equity_basis)).fill_null(value=False) | lone).sum()
            ).item()
        else:
            differing = int(a.ne_missing(b.cast(a.dtype)).sum())
        if differing:
            yield f"has {differing} values in {name} that differ from recomputed ones"


def same_figures(published: object, recomputed: object) -> bool:
    """Return whether two JSON values are equal, numbers to a relative tolerance of 1e-9."""
    if isinstance(published, float) and isinstance(recomputed, (int, float)):
        return math.isclose(published, recomputed, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(published, dict) and isinstance(recomputed, dict):
        return published.keys() == recomputed.keys() and all(
            same_figures(value, recomputed[name]) for name, value in published.items()
        )
    if isinstance(published, list) and isinstance(recomputed, list):
        return len(published) == len(recomputed) and all(map(same_figures, published, recomputed))
    return published == recomputed

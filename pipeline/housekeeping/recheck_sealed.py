"""The sealed tables of a run, restored from a snapshot, and the rules applied to them again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import polars as pl

from pipeline.reconciliation.tables import Tables
from pipeline.rule import Finding, Level
from pipeline.rules.registry import RULES
from pipeline.seal.declared_differences import DeclaredDifferences
from pipeline.seal.records import METRICS
from schemas.tables import SEALED_TABLES
from schemas.tables.books import book_order
from schemas.tables.decisions import PUBLISHED_AS

Frames = Mapping[tuple[str, str | None], pl.DataFrame]
"""(dataset, book) -> rows, of one snapshot."""

_SEALED_AS: Final = {published: sealed for sealed, published in PUBLISHED_AS.items()}


def sealed_tables(frames: Frames) -> dict[str, pl.DataFrame]:
    """Restore the sealed tables: sealed column names, and books in one table.

    Returns
    -------
    dict
        Kind -> its sealed columns that were published. Fills are in the order in which the engine sealed them.
    """
    sealed = {}
    for kind, table in (SEALED_TABLES | {METRICS.name: METRICS}).items():
        if table.partition:
            books = sorted((book for dataset, book in frames if dataset == kind and book), key=book_order)
            parts = [frames[kind, book].with_columns(pl.lit(book).alias("book")) for book in books]
        else:
            parts = [frames[kind, None]] if (kind, None) in frames else []
        if not parts:
            continue
        rows = pl.concat(parts).rename(_SEALED_AS, strict=False)
        if "fill_order" in rows.columns:
            rows = rows.sort("book", "fill_order", maintain_order=True)
        sealed[kind] = rows.select(c.name for c in table.sealed_columns if c.name in rows.columns)
    return sealed


def recheck(
    sealed: Mapping[str, pl.DataFrame],
    equity_basis: float,
    declared: DeclaredDifferences,
    known: Collection[str],
) -> list[Finding]:
    """Apply the rules that refuse a seal to the rows of the published tables.

    Parameters
    ----------
    sealed, equity_basis, declared
        As published in the snapshot.
    known
        Ids of the rules to apply.

    Returns
    -------
    list of Finding
        Rules on several tables are skipped if a single table already breaks a rule: their results would be unreliable.
    """
    tables = Tables(sealed, equity_basis, declared)
    rules = [rule for rule in RULES.values() if rule.id in known and not rule.warns]
    broken = [rule(kind, tables) for rule in rules if rule.level is Level.TABLE for kind in sealed]
    if not any(broken):
        broken = [
            rule(tables)
            for rule in rules
            if rule.level is Level.RUN
            and all(tables.has(kind, *columns) for kind, columns in rule.needs.items())
        ]
    return [finding for finding in broken if finding is not None]

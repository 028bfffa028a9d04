"""The sealed tables of a run as a snapshot has them, and the rules applied to them again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import polars as pl

from datasets.integrity import Fault
from pipeline.reconciliation.tables import Tables
from pipeline.rule import Level
from pipeline.rules.registry import RULES
from pipeline.seal.declared_differences import read_declared
from schemas.tables import SEALED_TABLES
from schemas.tables.books import book_order

Frames = Mapping[tuple[str, str | None], pl.DataFrame]
"""(dataset, book) -> rows, of one snapshot."""

RENAMED = {"decisions": {"raw_score": "unsmoothed_score"}}
"""Dataset -> published name -> sealed name, where the two differ."""


def sealed_tables(frames: Frames) -> dict[str, pl.DataFrame]:
    """Restore the sealed tables: sealed column names, and books in one table.

    Returns
    -------
    dict
        Kind -> its sealed columns that were published. Fills stand in the order the engine sealed them.
    """
    sealed = {}
    for kind, table in SEALED_TABLES.items():
        if table.partition:
            books = sorted((book for dataset, book in frames if dataset == kind and book), key=book_order)
            parts = [frames[kind, book].with_columns(pl.lit(book).alias("book")) for book in books]
        else:
            parts = [frames[kind, None]] if (kind, None) in frames else []
        if not parts:
            continue
        rows = pl.concat(parts).rename(RENAMED.get(kind, {}), strict=False)
        if "fill_order" in rows.columns:
            rows = rows.sort("book", "fill_order", maintain_order=True)
        sealed[kind] = rows.select(c.name for c in table.sealed_columns if c.name in rows.columns)
    return sealed


def broken_rules(
    sealed: Mapping[str, pl.DataFrame],
    equity_basis: float,
    known: Collection[str],
    reconciliation: Mapping[str, Any],
) -> Iterator[tuple[str, Fault]]:
    """Apply the rules on rows to what was published.

    Parameters
    ----------
    sealed, equity_basis
        As published.
    known
        Ids of the rules that its builder applied; later rules are left out.
    reconciliation
        As the manifest has it: what the seal declared.

    Yields
    ------
    tuple
        The kind, and what is wrong, its file not named yet. Rules on several tables are left out when a table by
        itself is broken already, for their answers would then mean little.
    """
    tables = Tables(sealed, equity_basis, read_declared(reconciliation.get("declared", {}))[0])
    broken = False
    for rule in RULES.values():
        if rule.level is not Level.TABLE or rule.id not in known:
            continue
        for kind in sealed:
            violation = rule(kind, tables)
            if violation is not None and not rule.warns:
                broken = True
                yield kind, Fault("", rule.id, violation.message)
    if broken:
        return
    for rule in RULES.values():
        needed = all(tables.has(kind, *columns) for kind, columns in rule.needs.items())
        across = rule.level is Level.RUN and not rule.warns and needed and rule.id in known
        if across:
            violation = rule(tables)
            if violation is not None:
                yield violation.kind, Fault("", rule.id, violation.message)

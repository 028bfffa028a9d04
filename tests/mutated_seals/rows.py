"""Mutations of every table: rows duplicated, reordered, removed, and files of other writers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from schemas.tables import SEALED_TABLES
from tests.mutated_seals.mutation import HONEST, SAME, Mutation, Mutations, refused, table_of

Change = Callable[[pa.Table], pa.Table]


def _again(rows: pa.Table, count: int) -> pa.Table:
    return pa.concat_tables([rows, rows.slice(0, count)])


def _mixed(rows: pa.Table, seed: int) -> pa.Table:
    return rows.take(np.random.default_rng(seed).permutation(rows.num_rows))


def _from_the_last(rows: pa.Table) -> pa.Table:
    return rows.take(np.arange(rows.num_rows)[::-1])


OTHER_FILES: dict[str, dict[str, Any]] = {
    "of groups of one row": {"row_group_size": 1},
    "of small pages": {"data_page_size": 64, "write_batch_size": 4},
    "by gzip": {"compression": "gzip"},
    "by brotli": {"compression": "brotli"},
    "plain": {"compression": "none", "use_dictionary": False},
    "of pages 2.0": {"data_page_version": "2.0"},
    "of format 1.0": {"version": "1.0", "coerce_timestamps": "us"},
}


def mutations() -> Mutations:
    for kind, table in SEALED_TABLES.items():
        # Fills have no key: their position in the file identifies them.
        doubled = refused("table.key") if table.key and kind != "trades" else HONEST
        permuted = SAME if kind != "trades" else HONEST
        changes: dict[str, tuple[Change, Any]] = {
            "the first row twice": (partial(_again, count=1), doubled),
            "every row twice": (lambda rows: _again(rows, rows.num_rows), doubled),
            "from the last row": (_from_the_last, permuted),
            **{f"mixed, {seed}": (partial(_mixed, seed=seed), permuted) for seed in range(3)},
            "no row": (lambda rows: rows.slice(0, 0), HONEST),
            "one row": (lambda rows: rows.slice(0, 1), HONEST),
            "half the rows": (lambda rows: rows.slice(0, rows.num_rows // 2), HONEST),
            "without the first": (lambda rows: rows.slice(1), HONEST),
            "without the last": (lambda rows: rows.slice(0, rows.num_rows - 1), HONEST),
            "no column": (lambda rows: rows.select([]), refused("table.columns")),
            "five thousand columns more": (_widened, SAME),
        }
        for what, (change, expected) in changes.items():
            yield Mutation(f"{kind}: {what}", table_of(kind, change), expected)
        for what, options in OTHER_FILES.items():
            yield Mutation(f"{kind}: {what}", table_of(kind, lambda rows: rows, **options), SAME)


def _widened(rows: pa.Table) -> pa.Table:
    more = pa.nulls(rows.num_rows, pa.int8())
    names = [*rows.column_names, *(f"extra_{number}" for number in range(5000))]
    return pa.Table.from_arrays([*rows.columns, *[more] * 5000], names=names)

"""Derived tables, recomputed from the sealed columns of a snapshot."""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from pipeline.rules.tolerance import differ
from pipeline.snapshot_builder.ledgers import Span
from pipeline.snapshot_builder.write import SnapshotWriter
from schemas.plurals import counted


class Recorder(SnapshotWriter):
    """Keeps in memory what a build would write.

    Attributes
    ----------
    tables
        Dataset and book -> rows.
    documents
        Path -> bytes.
    """

    def __init__(self) -> None:
        self.columns, self.spans = {}, {}
        self.tables: dict[tuple[str, str | None], pl.DataFrame] = {}
        self.documents: dict[str, bytes] = {}

    def table(self, dataset: str, rows: pl.DataFrame, book: str | None = None) -> None:
        """Keep a table."""
        self.tables[dataset, book] = rows
        self.spans[dataset, book] = Span.of(rows)

    def document(self, relative: str, _: str, data: bytes) -> None:
        """Keep a document."""
        self.documents[relative] = data


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
            yield f"has {counted(differing, 'value')} in {name} other than recomputed"


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

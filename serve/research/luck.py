"""Cached luck figures of snapshots."""

from __future__ import annotations

from functools import partial
from typing import Final

from datasets.figure_data import read_evidence
from datasets.figures.luck import Luck, LuckQuery, measure
from datasets.snapshot import Snapshot
from serve.cache import SizedLRUCache
from serve.pages.duckdb import Engine

_BYTES: Final = 12_000
"""Approximate bytes of one result."""


class LuckAnswers:
    """Computes luck figures. Thread-safe.

    Snapshots never change, and seeds follow from snapshot and parameters, so cached results are exact.

    Parameters
    ----------
    engine
        What reads the files.
    cache
        Where results stay.
    """

    def __init__(self, engine: Engine, cache: SizedLRUCache[Luck]) -> None:
        self._engine = engine
        self._cache = cache

    def load(self, snapshot: Snapshot, query: LuckQuery) -> Luck:
        """Compute the luck figures of a run.

        Raises
        ------
        SnapshotCorrupt
            When a file it is measured on is gone or cannot be read.
        """

        def make() -> Luck:
            return measure(
                read_evidence(partial(self._engine.dataset, snapshot), snapshot, query.book), query
            )

        return self._cache.get_or_load(snapshot.key, query, make, lambda _: _BYTES)

"""Metrics of runs: their inputs are read once per snapshot; :mod:`datasets.figures` computes the figures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from datasets.figure_data import read, read_check_summary
from datasets.figures.checks import CheckSummary
from datasets.figures.run_figures import RunFigures
from datasets.figures.run_metrics import Answer, MetricsQuery, assemble
from datasets.pointer import Pointer
from datasets.snapshot import Snapshot
from schemas.errors import SnapshotCorrupt
from serve.cache import SizedLRUCache


class Metrics:
    """Answers metrics queries. Thread-safe.

    Parameters
    ----------
    figures
        Keeps the inputs of runs, unless a file could not be read: it may be readable the next time.
    on_unreadable
        Called with a snapshot of which a part could not be read, and why.
    """

    def __init__(
        self,
        figures: SizedLRUCache[RunFigures],
        on_unreadable: Callable[[Pointer, SnapshotCorrupt], None] = lambda *_: None,
    ) -> None:
        self._figures = figures
        self._unread = on_unreadable

    def answer(self, snapshot: Snapshot, query: MetricsQuery) -> Answer:
        """Answer a query about the run of a snapshot.

        Raises
        ------
        SnapshotCorrupt
            When the manifest is gone or cannot be read, or none of the files can; of any other file the blocks made
            from it are null, with a warning.
        """
        return assemble(self._run(snapshot), query)

    def checked(self, snapshot: Snapshot) -> CheckSummary | None:
        """Return the summary of a run's checks; None if its build recorded none.

        Raises
        ------
        SnapshotCorrupt, StorageUnavailable
            When the manifest, or the sealed figures that it counts, cannot be read.
        """
        return read_check_summary(snapshot.read, snapshot.manifest)

    def _run(self, snapshot: Snapshot) -> RunFigures:
        def read_figures() -> RunFigures:
            return read(snapshot.read, snapshot.manifest, partial(self._unread, snapshot.pointer))

        return self._figures.get_or_load(
            snapshot.key, None, read_figures, lambda x: x.nbytes if x.readable else None
        )

"""Metrics of snapshots: figures read once, and answers to the same query encoded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

import orjson

from datasets.figure_data import read
from datasets.figures.checks import CheckSummary
from datasets.figures.run_figures import RunFigures
from datasets.figures.run_metrics import Answer, MetricsQuery, assemble
from datasets.figures.unavailable import Unavailable
from datasets.pointer import Pointer
from datasets.snapshot import Snapshot
from schemas.errors import SnapshotCorrupt
from schemas.metrics_documentation import documentation
from serve.cache import SizedLRUCache
from serve.pages.duckdb import Engine


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """An answer whose parts are JSON already.

    Attributes
    ----------
    data
        Key of the payload to its JSON.
    warnings
        The entries of `meta.warnings`.
    whole
        Whether it is made from all that the run published; else it is another one as soon as that can be read.
    """

    data: Mapping[str, orjson.Fragment]
    warnings: tuple[dict[str, str], ...]
    nbytes: int
    whole: bool = True


class Metrics:
    """Answers metrics queries about snapshots. Safe to share between threads.

    A snapshot never changes and an answer depends on nothing but the snapshot and the query, so what is cached is exact.

    Parameters
    ----------
    engine
        What reads the files.
    figures, answers
        Where figures of runs, and answers made of them, stay.
    unread
        Called with a snapshot of which a part could not be read, and why.
    """

    def __init__(
        self,
        engine: Engine,
        figures: SizedLRUCache[RunFigures],
        answers: SizedLRUCache[EncodedAnswer],
        unread: Callable[[Pointer, SnapshotCorrupt], None] = lambda *_: None,
    ) -> None:
        self._engine = engine
        self._unread = unread
        self._figures = figures
        self._answers = answers

    def cached(self, snapshot: Snapshot, query: MetricsQuery) -> EncodedAnswer | None:
        """Return an answer that was made lately; None when it was not."""
        return self._answers.get(snapshot.key, query)

    def load(self, snapshot: Snapshot, query: MetricsQuery) -> EncodedAnswer:
        """Answer a query about the run of a snapshot.

        Raises
        ------
        SnapshotCorrupt
            When the manifest is gone or cannot be read, or none of the files can; of any other file the blocks made
            from it are null, with a warning.
        """

        def make() -> EncodedAnswer:
            run = self._run(snapshot)
            return encode(assemble(run, query), whole=run.whole)

        return self._answers.get_or_load(snapshot.key, query, make, lambda x: x.nbytes if x.whole else None)

    def answer(self, snapshot: Snapshot, query: MetricsQuery) -> Answer:
        """Answer a query about the run of a snapshot as it is before it is encoded; errors as above."""
        return assemble(self._run(snapshot), query)

    def checked(self, snapshot: Snapshot) -> CheckSummary | None:
        """Return the summary of the checks of a run; None where its build recorded none.

        Raises
        ------
        SnapshotCorrupt, StorageUnavailable
            As :meth:`load`, and when the sealed figures that it counts cannot be read.
        """
        run = self._run(snapshot)
        if isinstance(run.sealed, Unavailable):
            raise SnapshotCorrupt(f"{snapshot.alpha_id}: {run.sealed.text}")
        return run.checked

    def _run(self, snapshot: Snapshot) -> RunFigures:
        def read_figures() -> RunFigures:
            return read(
                partial(self._engine.dataset, snapshot),
                snapshot,
                partial(self._unread, snapshot.pointer),
            )

        return self._figures.get_or_load(
            snapshot.key, None, read_figures, lambda x: x.nbytes if x.whole else None
        )


def encode(answer: Answer, *, whole: bool = True) -> EncodedAnswer:
    """Encode the parts of an answer; `whole` as of :class:`EncodedAnswer`."""
    # Copied, because the encoder's own result keeps the whole of its buffer, many times what it holds.
    parts = {key: bytes(memoryview(orjson.dumps(value))) for key, value in answer.data.items()}
    return EncodedAnswer(
        {key: orjson.Fragment(part) for key, part in parts.items()},
        answer.warnings,
        sum(len(part) for part in parts.values()),
        whole,
    )


@cache
def encoded_documentation() -> Mapping[str, orjson.Fragment]:
    """Return the documentation block, encoded once for the life of the process."""
    return {key: orjson.Fragment(orjson.dumps(value)) for key, value in documentation().items()}

"""Answers about snapshots: figures read once, and answers to the same question encoded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module

import orjson

from datasets.manifest import Pointer
from datasets.snapshot import Snapshot
from schemas.errors import SnapshotCorrupt
from schemas.metrics.documentation import documentation
from serve.cache.miss import CacheMiss
from serve.query.duckdb import Reader
from serve.run_metrics.assemble import Answer, Question, assemble
from serve.run_metrics.cache import Kept
from serve.run_metrics.figures import RunFigures
from serve.run_metrics.reading import read


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
    """Answers questions about snapshots. Safe to share between threads.

    A snapshot never changes and an answer depends on nothing but the snapshot and the question, so what is kept is
    exact; a newer snapshot of an alpha is another key.

    Parameters
    ----------
    reader
        What reads the files.
    figures_kept, answers_kept
        Bytes of memory.
    unread
        Told of a snapshot of which a part could not be read, and why.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        figures_kept: int,
        answers_kept: int,
        unread: Callable[[Pointer, SnapshotCorrupt], None] = lambda *_: None,
    ) -> None:
        self._reader = reader
        self._unread = unread
        self._figures: Kept[RunFigures] = Kept(figures_kept, lambda run: run.nbytes, lambda run: run.whole)
        self._answers: Kept[EncodedAnswer] = Kept(
            answers_kept, lambda answer: answer.nbytes, lambda answer: answer.whole
        )

    def warm(self) -> None:
        """Make and load what does not depend on any run, so that no request waits for it."""
        encoded_documentation()
        import_module("scipy.special")  # what p-values come from is loaded by the first one, and slowly

    def answer(self, snapshot: Snapshot, question: Question, *, hurried: bool = False) -> EncodedAnswer:
        """Answer a question about the run of a snapshot.

        Parameters
        ----------
        hurried
            Answer from memory alone.

        Raises
        ------
        CacheMiss
            When `hurried` and the question was not answered lately.
        SnapshotCorrupt
            When the manifest is gone or cannot be read, or none of the files can; of any other file the blocks made
            from it are null, with a warning.
        """
        key = (snapshot.alpha_id, snapshot.id)
        if hurried:
            known = self._answers.known((*key, question))
            if known is None:
                raise CacheMiss
            return known

        def read_figures() -> RunFigures:
            return read(self._reader, snapshot, partial(self._unread, snapshot.pointer))

        def make() -> EncodedAnswer:
            run = self._figures.get(key, read_figures)
            return encode(assemble(run, question), whole=run.whole)

        return self._answers.get((*key, question), make)


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

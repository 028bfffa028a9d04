"""Answers about snapshots: figures read once, and answers to the same question encoded once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import orjson

from datasets.snapshot import Snapshot
from schemas.metrics.documentation import documentation
from serve.held.not_held import NotHeld
from serve.metrics.assembly import Answer, Question, assemble
from serve.metrics.figures import RunFigures
from serve.metrics.kept import Kept
from serve.metrics.reading import read
from serve.reader import Reader


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """An answer whose parts are JSON already.

    Attributes
    ----------
    data
        Key of the payload to its JSON.
    warnings
        The entries of `meta.warnings`.
    """

    data: Mapping[str, orjson.Fragment]
    warnings: tuple[dict[str, str], ...]
    nbytes: int


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
    """

    def __init__(self, reader: Reader, *, figures_kept: int, answers_kept: int) -> None:
        self._reader = reader
        self._figures: Kept[RunFigures] = Kept(figures_kept, lambda run: run.nbytes)
        self._answers: Kept[EncodedAnswer] = Kept(answers_kept, lambda answer: answer.nbytes)

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
        NotHeld
            When `hurried` and the question was not answered lately.
        SnapshotCorrupt
            When a file is gone or cannot be read.
        """
        key = (snapshot.alpha_id, snapshot.id)
        if hurried:
            known = self._answers.known((*key, question))
            if known is None:
                raise NotHeld
            return known
        return self._answers.get(
            (*key, question),
            lambda: encode(assemble(self._figures.get(key, lambda: read(self._reader, snapshot)), question)),
        )


def encode(answer: Answer) -> EncodedAnswer:
    """Encode the parts of an answer."""
    # Copied, because the encoder's own result keeps the whole of its buffer, many times what it holds.
    parts = {key: bytes(memoryview(orjson.dumps(value))) for key, value in answer.data.items()}
    return EncodedAnswer(
        {key: orjson.Fragment(part) for key, part in parts.items()},
        answer.warnings,
        sum(len(part) for part in parts.values()),
    )


@cache
def encoded_documentation() -> Mapping[str, orjson.Fragment]:
    """Return the documentation block, encoded once for the life of the process."""
    return {key: orjson.Fragment(orjson.dumps(value)) for key, value in documentation().items()}

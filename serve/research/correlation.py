"""Every pair of some alphas, by returns, by scores or by holdings; a figure that cannot be computed is withheld with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from datasets.figures.correlation import common_days, correlation
from datasets.figures.series import null_if_nan
from datasets.figures.unavailable import Unavailable, too_few
from datasets.figures.window import Window
from datasets.snapshot import Snapshot
from serve.pages.duckdb import Engine
from serve.research.chosen import has_rows
from serve.research.cross_sections import HOLDINGS, SCORES, Comparison, compare
from serve.research.returns import TABLE, Returns

OF_CROSS_SECTIONS: Final[Mapping[str, Comparison]] = {"scores": SCORES, "holdings": HOLDINGS}
"""What is compared day by day, from files that are read for the request."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is compared.

    Attributes
    ----------
    by
        ``returns``, ``scores`` or ``holdings``.
    book
        Whose returns or holdings.
    window
        Days to compare.
    raw
        Whether the key sees the books of the unconditioned signal.
    """

    by: str
    book: str
    window: Window
    raw: bool

    @property
    def compared_book(self) -> str | None:
        """The book, None where scores are compared, which are of none."""
        return None if self.by == "scores" else self.book

    @property
    def table(self) -> str:
        """The table that is compared."""
        return TABLE if self.by == "returns" else OF_CROSS_SECTIONS[self.by].table

    def has_rows(self, snapshot: Snapshot) -> bool:
        """Whether a run holds rows to compare."""
        return has_rows(snapshot, self.table, self.compared_book, raw=self.raw)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Figures of all pairs.

    Attributes
    ----------
    figures
        A figure or its reason by row and column.
    observations
        Days measured.
    """

    figures: list[list[float | Unavailable]]
    observations: list[list[int]]


def measure(engine: Engine, returns: Returns, runs: Sequence[Snapshot], question: Question) -> Matrix:
    """Compare each run with each.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When a file cannot be read.
    """
    unavailable = no_data(question)
    figures: list[list[float | Unavailable]] = [[unavailable] * len(runs) for _ in runs]
    observations = [[0] * len(runs) for _ in runs]
    present = {place: run for place, run in enumerate(runs) if question.has_rows(run)}
    pairs = _of_returns(present, returns, question)
    if question.by != "returns":
        pairs = _of_cross_sections(present, engine, question)
    for row, column, figure, days in pairs:
        figures[row][column] = figures[column][row] = figure
        observations[row][column] = observations[column][row] = days
    return Matrix(figures, observations)


def no_data(question: Question) -> Unavailable:
    """Say that a run holds nothing to compare."""
    of = f" of the book {question.compared_book}" if question.compared_book else ""
    return Unavailable("kind_missing", f"a run holds no {question.table}{of} that the key can read")


_Pair = tuple[int, int, float | Unavailable, int]
"""Two places, their figure or its reason, and the days it is measured on."""


def _of_returns(runs: Mapping[int, Snapshot], returns: Returns, question: Question) -> Iterator[_Pair]:
    series = {place: returns.load(run, question.book).within(question.window) for place, run in runs.items()}
    for row, one in series.items():
        for column, other in series.items():
            if row <= column:
                left, right = common_days(one.days, one.values, other.days, other.values)
                figure = correlation(left, right)
                # An alpha is itself, whatever rounding makes of it.
                itself = row == column and isinstance(figure, float)
                yield row, column, 1.0 if itself else figure, int(left.size)


def _of_cross_sections(runs: Mapping[int, Snapshot], engine: Engine, question: Question) -> Iterator[_Pair]:
    if not runs:
        return
    comparison = OF_CROSS_SECTIONS[question.by]
    chosen = [(run, question.compared_book) for run in runs.values()]
    compared = compare(engine, chosen, comparison, question.window)
    for number, row in enumerate(runs):
        for other, column in enumerate(runs):
            mean = null_if_nan(compared.mean[number, other])
            figure = too_few(0, 1, comparison.what) if mean is None else mean
            yield row, column, figure, int(compared.observations[number, other])

"""Comparison of alphas: correlations, neighbours, and contribution to a book of other alphas.

Shared by the Python package and the service.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from datasets.analysis.compared_sections import SECTION_COMPARISONS, compare_sections
from datasets.figures.bootstrap import make_seed
from datasets.figures.contribution import contribution, empty_contribution
from datasets.figures.daily_returns import DailyReturns, common_days, correlation, returns_of, span
from datasets.figures.series import Window
from datasets.figures.similarity import ORDERS
from datasets.figures.unavailable import MISSING_KIND, Unavailable, too_few
from datasets.snapshot import Snapshot
from schemas.errors import SettingsError
from schemas.parameters import BY, NEAREST

LEDGER: Final = "portfolio"
EQUITY: Final = ("date", "starting_equity", "ending_equity")
"""Columns of the ledger from which returns are computed."""


@dataclass(frozen=True, slots=True)
class ComparisonQuery:
    """What to compare.

    Attributes
    ----------
    by : str
        One of the choices of :data:`schemas.parameters.BY`.
    book : str
        Book of the returns or holdings.
    window : Window
        Days to compare.
    """

    by: str
    book: str
    window: Window

    @property
    def compared_book(self) -> str | None:
        """The book; None for scores, which have no book."""
        return None if self.by == "scores" else self.book

    @property
    def table(self) -> str:
        """The compared table."""
        return LEDGER if self.by == "returns" else SECTION_COMPARISONS[self.by].table

    @property
    def no_data(self) -> Unavailable:
        """The reason given for a run without rows to compare."""
        of = f" of the book {self.compared_book}" if self.compared_book else ""
        return Unavailable(MISSING_KIND, f"a run holds no {self.table}{of}", self.table)


def read_returns(run: Snapshot, book: str) -> DailyReturns:
    """Read the daily returns of a book from its ledger.

    Parameters
    ----------
    run : Snapshot
        The run.
    book : str
        Name of the book.

    Returns
    -------
    DailyReturns
        Empty if the run does not have the book.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When the file is missing, damaged or unreadable.
    """
    if not run.has_rows(LEDGER, book):
        return DailyReturns(np.empty(0, np.int32), np.empty(0))
    ledger = run.read(LEDGER, EQUITY, book)
    equity = (ledger[name].cast(pl.Float64).to_numpy() for name in EQUITY[1:])
    return returns_of(ledger["date"].cast(pl.Int32).to_numpy(), *equity)


@dataclass(frozen=True, slots=True)
class Similarities:
    """Similarities of pairs of alphas.

    Attributes
    ----------
    figures : list of list of float or Unavailable
        Similarity, or the reason why it is withheld, by row and column.
    observations : list of list of int
        Number of compared days, by row and column.
    span : tuple of str or None, length 2
        First and last day of the first run within the window, ISO 8601; None if it has no day there.
    """

    figures: list[list[float | Unavailable]]
    observations: list[list[int]]
    span: tuple[str | None, str | None] = (None, None)

    @property
    def values(self) -> list[list[float | None]]:
        """The matrix; None where one is withheld."""
        return [[None if isinstance(x, Unavailable) else x for x in row] for row in self.figures]


def correlate(runs: Sequence[Snapshot], query: ComparisonQuery, *, first_only: bool = False) -> Similarities:
    """Compare all pairs of runs, or the first with each.

    Parameters
    ----------
    runs : sequence of Snapshot
        Runs to compare.
    query : ComparisonQuery
        What to compare.
    first_only : bool
        Whether to compare only the first run with each.

    Returns
    -------
    Similarities
        One row with `first_only`, else symmetric.

    Raises
    ------
    SettingsError
        When `query.by` is unknown.
    SnapshotCorrupt, StorageUnavailable
        When a file cannot be read.
    """
    if query.by not in BY.choices:
        raise SettingsError(f"by={query.by!r}: alphas are compared by {', '.join(BY.choices)}")
    rows = 1 if first_only else len(runs)
    matrix = Similarities(
        [[query.no_data] * len(runs) for _ in range(rows)], [[0] * len(runs) for _ in range(rows)]
    )
    places = [place for place, run in enumerate(runs) if run.has_rows(query.table, query.compared_book)]
    if not places or (first_only and places[0] != 0):
        return matrix
    present = [runs[place] for place in places]
    compare = _compare_returns if query.by == "returns" else _compare_sections
    part = compare(present, query, first_only=first_only)
    for row, figures, observations in zip(places, part.figures, part.observations, strict=False):
        for column, figure, days in zip(places, figures, observations, strict=True):
            if isinstance(figure, float) and runs[row].key == runs[column].key:
                figure = 1.0  # noqa: PLW2901 - a run with itself, without rounding errors
            matrix.figures[row][column], matrix.observations[row][column] = figure, days
    return replace(matrix, span=part.span)


def _compare_returns(runs: Sequence[Snapshot], query: ComparisonQuery, *, first_only: bool) -> Similarities:
    series = [read_returns(run, query.book).within(query.window) for run in runs]
    rows = 1 if first_only else len(runs)
    figures: list[list[float | Unavailable]] = [[1.0] * len(runs) for _ in range(rows)]
    observations = [[0] * len(runs) for _ in range(rows)]
    for row, own in enumerate(series[:rows]):
        for column, other in enumerate(series[row:], start=row):
            left, right = common_days(own.days, own.values, other.days, other.values)
            figure, days = correlation(left, right), int(left.size)
            figures[row][column], observations[row][column] = figure, days
            if column < rows:
                figures[column][row], observations[column][row] = figure, days
    return Similarities(figures, observations, span(series[0].days))


def _compare_sections(runs: Sequence[Snapshot], query: ComparisonQuery, *, first_only: bool) -> Similarities:
    comparison = SECTION_COMPARISONS[query.by]
    mean, count, days = compare_sections(
        runs, comparison, query.compared_book, query.window, first_only=first_only
    )
    unmeasured = too_few(0, 1, comparison.periods)
    figures = [[unmeasured if np.isnan(x) else float(x) for x in row] for row in mean]
    return Similarities(figures, count.tolist(), span(days))


class Neighbour(NamedTuple):
    """One alpha and its similarity.

    Attributes
    ----------
    alpha_id : str
        Id of the alpha.
    figure : float
        Correlation, between -1 and 1, or overlap, between 0 and 1.
    observations : int
        Common sessions, or weeks of scores.
    """

    alpha_id: str
    figure: float
    observations: int


TOO_FEW: Final = "too_few"
NO_DATA: Final = "no_data"
NO_VARIATION: Final = "no_variation"
_EXCLUDED: Final = {MISSING_KIND: NO_DATA, "insufficient_data": TOO_FEW, "nonpositive_variance": NO_VARIATION}
"""Code of a withheld figure -> reason why the alpha is not compared."""


class Neighbours(NamedTuple):
    """The neighbours of an alpha.

    Attributes
    ----------
    ranked : list of Neighbour
        Neighbours in the requested order, ties by id.
    excluded : Counter of str
        Reason -> number of alphas that are not compared.
    span : tuple of str or None, length 2
        As in :class:`Similarities`.
    """

    ranked: list[Neighbour]
    excluded: Counter[str]
    span: tuple[str | None, str | None]


def neighbours(run: Snapshot, others: Sequence[Snapshot], query: ComparisonQuery, order: str) -> Neighbours:
    """Rank alphas by their similarity to a given one, as `/v1/alphas/{alpha}/neighbours` lists them.

    Parameters
    ----------
    run : Snapshot
        The alpha.
    others : sequence of Snapshot
        Alphas to compare it with.
    query : ComparisonQuery
        What to compare.
    order : str
        One of the choices of :data:`schemas.parameters.NEAREST`.

    Returns
    -------
    Neighbours
        Every alpha with a figure is ranked.

    Raises
    ------
    SettingsError
        When `order` or `query.by` is unknown.
    SnapshotCorrupt, StorageUnavailable
        When a file cannot be read.
    """
    if order not in NEAREST.choices:
        raise SettingsError(f"order={order!r}: there are {', '.join(NEAREST.choices)}")
    matrix = correlate((run, *others), query, first_only=True)
    ranked: list[Neighbour] = []
    excluded = Counter[str]()
    for other, figure, days in zip(others, matrix.figures[0][1:], matrix.observations[0][1:], strict=True):
        if isinstance(figure, Unavailable):
            excluded[_EXCLUDED[figure.code]] += 1
        else:
            ranked.append(Neighbour(other.alpha_id, figure, days))
    ranked.sort(key=lambda x: (-ORDERS[order](x.figure), x.alpha_id))
    return Neighbours(ranked, excluded, matrix.span)


def others_in(listed: Iterable[str], alpha: str) -> list[str]:
    """Return the listed alphas other than a given one, each once, in their order."""
    return [name for name in dict.fromkeys(listed) if name != alpha]


def measure_contribution(
    run: Snapshot,
    others: Sequence[Snapshot],
    weights: str | Sequence[float],
    query: ComparisonQuery,
) -> dict[str, Any]:
    """Return the contribution of an alpha to a book of others: the ``data`` of `/v1/alphas/{alpha}/contribution`.

    Parameters
    ----------
    run : Snapshot
        The alpha.
    others : sequence of Snapshot
        The other alphas of the book.
    weights : str or sequence of float
        ``equal`` or ``volatility``, or the weight of the alpha followed by the weights of the others.
    query : ComparisonQuery
        Book and window.

    Returns
    -------
    dict
        JSON-ready; a withheld figure is null, with its reason in ``withheld``.

    Raises
    ------
    SnapshotCorrupt, StorageUnavailable
        When a file cannot be read.
    """
    runs = (run, *others)
    seed = make_seed((each.alpha_id for each in runs), query.book, query.window)
    missing = next((each.alpha_id for each in runs if not each.has_rows(query.table, query.book)), None)
    if not others:
        answer = empty_contribution(
            Unavailable("insufficient_data", "name at least one other alpha to combine it with")
        )
    elif missing is not None:
        answer = empty_contribution(Unavailable(MISSING_KIND, f"{missing}: {query.no_data.text}"))
    else:
        own, *series = (read_returns(each, query.book).within(query.window) for each in runs)
        named = {other.alpha_id: part for other, part in zip(others, series, strict=True)}
        answer = contribution(run.alpha_id, own, named, weights, seed)
    return {
        "alphas": [other.alpha_id for other in others],
        "snapshots": {each.alpha_id: each.id for each in runs},
        "book": query.book,
        "weighting": weights if isinstance(weights, str) else "given",
        "seed": seed,
        **answer,
    }

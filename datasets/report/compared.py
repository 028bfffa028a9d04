"""What a tear sheet shows of several alphas together: curves on a common base, how alike they are, and all in equal parts.

The definitions are those of `/v1/correlations` and of the books of `/v1/alphas/{alpha}/contribution`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from datasets.analysis import Alpha, within
from datasets.figures.correlation import between_common_closes, common_days, correlation
from datasets.figures.rank_correlation import Integers
from datasets.figures.ratios import FIGURES, book_figures, equal_weight
from datasets.figures.series import Dates, Floats, null_if_nan
from datasets.figures.similarity import overlaps, rank_correlations
from datasets.figures.unavailable import Unavailable, too_few
from datasets.figures.window import WHOLE_RUN, Window
from datasets.report.content import Content, withheld

COMBINED: Final = "Equal-weight book"
"""What the book of all alphas together is called."""

Figure = float | Unavailable


@dataclass(frozen=True, slots=True)
class Matrix:
    """Figures of all pairs.

    Attributes
    ----------
    figures
        A figure or its reason, by row and column; symmetric.
    observations
        Days measured, likewise.
    """

    figures: list[list[Figure]]
    observations: list[list[int]]


def compared(runs: Sequence[Alpha], book: str, window: Window = WHOLE_RUN) -> Content:
    """Compare alphas.

    Parameters
    ----------
    runs
        Two at least.
    book
        Whose returns and holdings.
    window
        Days that are compared.

    Returns
    -------
    dict
        JSON-ready. A figure that cannot be given is null, and its reason stands in ``withheld`` beside it.
    """
    return {
        "alphas": [run.alpha_id for run in runs],
        "book": book,
        "matrices": [
            {"title": "Correlation of daily returns", **_ready(by_returns(runs, book, window))},
            {
                "title": "Rank correlation of scores, mean of the common weeks",
                **_ready(by_scores(runs, window)),
            },
            {
                "title": "Overlap of holdings, mean of the common sessions",
                **_ready(by_holdings(runs, book, window)),
            },
        ],
        "together": together(runs, book, window),
    }


def together(runs: Sequence[Alpha], book: str, window: Window = WHOLE_RUN) -> Content:
    """Return the curves of the alphas and of all in equal parts at their common closes, and what each comes to."""
    lacking = [run.alpha_id for run in runs if not run.has_rows("equity_curve", book)]
    if lacking:
        return withheld(f"{', '.join(lacking)} sealed no daily ledger of {book}")
    frames = [run.returns(book).filter(within(window)) for run in runs]
    indebted = [run.alpha_id for run, x in zip(runs, frames, strict=True) if x["period_return"].null_count()]
    if indebted:
        return withheld(f"{', '.join(indebted)}: sessions that open with equity not above 0 have no return")
    common = between_common_closes([(x["date"].to_numpy(), x["period_return"].to_numpy()) for x in frames])
    if not common.days.size:
        return withheld("the alphas have no session of the window in common")
    returns = common.returns
    series = dict(
        zip([*(run.alpha_id for run in runs), COMBINED], [*returns, equal_weight(returns)], strict=True)
    )
    dates = common.days.astype("datetime64[D]").astype(str).tolist()
    return {
        "combined": COMBINED,
        "first_date": dates[0],
        "last_date": dates[-1],
        "sessions": len(dates),
        "left_out": [
            {"alpha_id": run.alpha_id, "merged": int(merged), "dropped": int(dropped)}
            for run, merged, dropped in zip(runs, common.merged, common.dropped, strict=True)
            if merged or dropped
        ],
        "curves": [
            {"name": name, "columns": {"date": dates, "growth": np.cumprod(1.0 + x).tolist()}}
            for name, x in series.items()
        ],
        "figures": [{"name": name, **_book(x)} for name, x in series.items()],
    }


def by_returns(runs: Sequence[Alpha], book: str, window: Window = WHOLE_RUN) -> Matrix:
    """Correlate the daily returns of each two alphas over the sessions that both have."""
    series = [_returns(run, book, window) for run in runs]

    def measure(row: int, column: int) -> tuple[Figure, int]:
        one, other = series[row], series[column]
        if one is None or other is None:
            return Unavailable("kind_missing", f"a run sealed no daily ledger of {book}"), 0
        left, right = common_days(*one, *other)
        found = correlation(left, right)
        # An alpha is itself, whatever rounding makes of it.
        return 1.0 if row == column and isinstance(found, float) else found, int(left.size)

    return _every_pair(len(runs), measure)


def by_scores(runs: Sequence[Alpha], window: Window = WHOLE_RUN) -> Matrix:
    """Take the mean over the common weeks of the rank correlation of scores, over the names that both score."""
    total, count = np.zeros((len(runs), len(runs))), np.zeros((len(runs), len(runs)), np.int64)
    for panel in _panels(runs, ("decisions", None), "score", np.nan, window):
        _add(rank_correlations(panel), total, count)
    return _mean(total, count, "common weeks")


def by_holdings(runs: Sequence[Alpha], book: str, window: Window = WHOLE_RUN) -> Matrix:
    """Take the mean over the common sessions of the overlap of what two books hold."""
    total, count = np.zeros((len(runs), len(runs))), np.zeros((len(runs), len(runs)), np.int64)
    for panel in _panels(runs, ("positions", book), "weight", 0.0, window):
        _add(overlaps(panel), total, count)
    return _mean(total, count, "common sessions")


def _panels(
    runs: Sequence[Alpha], file: tuple[str, str | None], column: str, absent: float, window: Window
) -> Iterator[Floats]:
    """Yield a column of each day, of shape (alphas, names)."""
    frames = [
        run.scan(*file).filter(within(window)).select("date", "symbol", pl.lit(number).alias("run"), column)
        for number, run in enumerate(runs)
        if run.has_rows(*file)
    ]
    if not frames:
        return
    rows = pl.concat(frames).drop_nulls().collect().sort("date", "symbol")
    for day in rows.partition_by("date"):
        names = day["symbol"].rle_id().to_numpy()
        panel = np.full((len(runs), int(names[-1]) + 1), absent)
        panel[day["run"].to_numpy(), names] = day[column].to_numpy()
        yield panel


def _add(figures: Floats, total: Floats, count: Integers) -> None:
    measured = ~np.isnan(figures)
    total[measured] += figures[measured]
    count += measured


def _mean(total: Floats, count: Integers, what: str) -> Matrix:
    mean = np.full(total.shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)

    def measure(row: int, column: int) -> tuple[Figure, int]:
        found = null_if_nan(mean[row, column])
        return too_few(0, 1, what) if found is None else found, int(count[row, column])

    return _every_pair(len(total), measure)


def _every_pair(size: int, measure: Callable[[int, int], tuple[Figure, int]]) -> Matrix:
    figures: list[list[Figure]] = [[0.0] * size for _ in range(size)]
    observations = [[0] * size for _ in range(size)]
    for row in range(size):
        for column in range(row + 1):
            figure, days = measure(row, column)
            figures[row][column] = figures[column][row] = figure
            observations[row][column] = observations[column][row] = days
    return Matrix(figures, observations)


def _returns(run: Alpha, book: str, window: Window) -> tuple[Dates, Floats] | None:
    if not run.has_rows("equity_curve", book):
        return None
    rows = run.returns(book).filter(within(window))
    return rows["date"].to_numpy(), rows["period_return"].fill_null(float("nan")).to_numpy()


def _book(returns: Floats) -> Content:
    found = book_figures(returns)
    figures = {name: getattr(found, name) for name in FIGURES}
    return {
        **{name: x if isinstance(x, float) else None for name, x in figures.items()},
        "withheld": {name: x.text for name, x in figures.items() if isinstance(x, Unavailable)},
    }


def _ready(matrix: Matrix) -> Content:
    return {
        "matrix": [[x if isinstance(x, float) else None for x in row] for row in matrix.figures],
        "observations": matrix.observations,
        "withheld": sorted({x.text for row in matrix.figures for x in row if isinstance(x, Unavailable)}),
    }

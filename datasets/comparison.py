"""Several alphas beside one another, from their files: correlations, neighbours, and what one adds to a book of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from datasets.analysis import Alpha, within
from datasets.figures.contribution import Weighting, contribution, empty_contribution
from datasets.figures.correlation import common_days, correlation
from datasets.figures.daily_returns import DailyReturns
from datasets.figures.equity import period_returns
from datasets.figures.luck import LuckQuery, make_seed
from datasets.figures.series import Floats, null_if_nan
from datasets.figures.similarity import ORDERS, overlaps, rank_correlations
from datasets.figures.unavailable import Unavailable, too_few
from datasets.figures.window import WHOLE_RUN, Window
from schemas.errors import SettingsError

Figure = float | Unavailable
_LEDGER: Final = "portfolio"
_EQUITY: Final = ("starting_equity", "ending_equity")
BY: Final = ("returns", "scores", "holdings")


@dataclass(frozen=True, slots=True)
class Matrix:
    """Figures of pairs of alphas.

    Attributes
    ----------
    figures
        A figure or its reason, by row and column.
    observations
        Days measured, likewise.
    """

    figures: list[list[Figure]]
    observations: list[list[int]]


def correlate(
    runs: Sequence[Alpha], by: str, book: str, window: Window = WHOLE_RUN, *, first_only: bool = False
) -> Matrix:
    """Compare each two alphas, as `/v1/correlations` does.

    Parameters
    ----------
    runs
        One at least.
    by
        ``returns``: correlation of daily returns over the sessions that both have; ``scores``: rank correlation of the scores,
        mean of the common weeks; ``holdings``: overlap of the weights, mean of the common sessions.
    book
        Whose returns and holdings.
    window
        Days to compare.
    first_only
        Compare the first alpha alone with each: one row.

    Raises
    ------
    SettingsError
        When there is no such way to compare.
    """
    if by not in BY:
        raise SettingsError(f"by={by!r}: alphas are compared by {', '.join(BY)}")
    if by == "returns":
        return _by_returns(runs, book, window, 1 if first_only else len(runs))
    return _by_cross_sections(runs, by, book, window, first_only=first_only)


def neighbours(
    run: Alpha, others: Sequence[Alpha], *, by: str, book: str, window: Window, order: str, limit: int
) -> pl.DataFrame:
    """Return the alphas most or least like one, as `/v1/alphas/{alpha}/neighbours` lists them."""
    if order not in ORDERS:
        raise SettingsError(f"order={order!r}: there are {', '.join(ORDERS)}")
    matrix = correlate((run, *others), by, book, window, first_only=True)
    pairs = zip(others, matrix.figures[0][1:], matrix.observations[0][1:], strict=True)
    rows = [
        (other.alpha_id, other.pointer.name, figure, days)
        for other, figure, days in pairs
        if isinstance(figure, float)
    ]
    rows.sort(key=lambda row: (-float(ORDERS[order](np.float64(row[2]))), row[0]))
    figure = "overlap" if by == "holdings" else "correlation"
    schema = {"alpha_id": pl.String, "name": pl.String, figure: pl.Float64, "observations": pl.Int64}
    return pl.DataFrame(rows[:limit], schema=schema, orient="row")


def contribution_of(
    run: Alpha, others: Sequence[Alpha], weights: str | Sequence[float], book: str, window: Window
) -> dict[str, Any]:
    """Return what an alpha adds to a book of others, as `/v1/alphas/{alpha}/contribution` answers."""
    everyone = (run, *others)
    weighting = Weighting(weights) if isinstance(weights, str) else Weighting("given", tuple(weights))
    if weighting.given and len(weighting.given) != len(everyone):
        raise SettingsError(f"weights: give {len(everyone)} numbers, that of {run.alpha_id} first")
    seed = make_seed(" ".join(each.id for each in everyone), LuckQuery(book, frozenset(), window))
    missing = next((each.alpha_id for each in everyone if not each.has_rows(_LEDGER, book)), None)
    if missing is not None:
        answer = empty_contribution(
            Unavailable("kind_missing", f"{missing}: the run sealed no daily ledger of {book}")
        )
    else:
        series = {each.alpha_id: _daily_returns(each, book, window) for each in everyone}
        answer = contribution(run.alpha_id, series.pop(run.alpha_id), series, weighting, seed)
    return {
        "alphas": [other.alpha_id for other in others],
        "snapshots": {each.alpha_id: each.id for each in everyone},
        "book": book,
        "weighting": weighting.name,
        "seed": seed,
        **answer,
    }


def _daily_returns(run: Alpha, book: str, window: Window) -> DailyReturns:
    rows = run.scan(_LEDGER, book).filter(within(window)).select("date", *_EQUITY).collect()
    days = rows["date"].cast(pl.Int32).to_numpy()
    with np.errstate(all="ignore"):
        returns = period_returns(*(rows[name].cast(pl.Float64).to_numpy() for name in _EQUITY))
    known = np.isfinite(returns)
    return DailyReturns(days[known], returns[known], days[~known])


def _by_returns(runs: Sequence[Alpha], book: str, window: Window, rows: int) -> Matrix:
    series = [_daily_returns(run, book, window) if run.has_rows(_LEDGER, book) else None for run in runs]
    figures: list[list[Figure]] = [[] for _ in range(rows)]
    observations: list[list[int]] = [[] for _ in range(rows)]
    for row in range(rows):
        for column, other in enumerate(series):
            own = series[row]
            if own is None or other is None:
                figures[row].append(Unavailable("kind_missing", f"a run sealed no daily ledger of {book}"))
                observations[row].append(0)
                continue
            left, right = common_days(own.days, own.values, other.days, other.values)
            figure = correlation(left, right)
            # An alpha is itself, whatever rounding makes of it.
            figures[row].append(1.0 if row == column and isinstance(figure, float) else figure)
            observations[row].append(int(left.size))
    return Matrix(figures, observations)


def _by_cross_sections(
    runs: Sequence[Alpha], by: str, book: str, window: Window, *, first_only: bool
) -> Matrix:
    rows = 1 if first_only else len(runs)
    total, count = np.zeros((rows, len(runs))), np.zeros((rows, len(runs)), np.int64)
    scores = by == "scores"
    file, column, absent = (
        (("decisions", None), "score", np.nan) if scores else (("positions", book), "weight", 0.0)
    )
    compare = rank_correlations if scores else overlaps
    for panel in _panels(runs, file, column, absent, window):
        daily = compare(panel, first_only=first_only)
        measured = ~np.isnan(daily)
        total[measured] += daily[measured]
        count += measured
    mean = np.full(total.shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    reason = too_few(0, 1, "common weeks" if scores else "common sessions")
    figures = [[reason if (x := null_if_nan(value)) is None else x for value in row] for row in mean]
    return Matrix(figures, count.tolist())


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

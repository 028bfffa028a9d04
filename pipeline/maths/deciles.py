"""Decile returns: each week's cross-section, cut into ten buckets by the signal before smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from datasets.figures.rank_correlation import Integers
from datasets.figures.series import Floats, Matrix
from pipeline.maths.cross_section import cross_section
from pipeline.maths.information_coefficient import ic_by_group
from pipeline.maths.ordering import ordered
from pipeline.maths.weeks import iter_blocks, week_sizes
from schemas.tables.weekly_signal import BUCKETS, MIN_DECILE_NAMES

_MEANS = {
    "mean_score": "raw_score",
    "mean_score_z": "raw_score_z",
    "mean_long_short_weight": "long_short_target_weight",
    "mean_long_only_weight": "long_only_target_weight",
    "mean_forward_return": "forward_return",
}
"""Mean -> averaged column. Weights are those of the delivered books, because raw weights may not be sealed."""


def weekly_deciles(decisions: pl.DataFrame) -> pl.DataFrame:
    """Cut every week with enough names, unless all have the same score, into ten buckets and summarise each.

    The n names with a ``raw_score`` are ranked in ascending order, equal scores by symbol; rank r falls into bucket
    ``floor(10 (r - 1) / n) + 1``.

    Parameters
    ----------
    decisions : polars.DataFrame
        One row per name and week, in any order: ``date``, ``symbol``, ``raw_score``, ``long_short_target_weight``,
        ``long_only_target_weight``, ``forward_return``, and optionally ``raw_score_z``, which is computed when absent.

    Returns
    -------
    polars.DataFrame
        Ten rows for each week with at least 20 scored names that do not all have the same score, by ``date`` and ``bucket`` (1 for the lowest scores):
        ``n_symbols``, ``mean_score``, ``mean_score_z``, ``mean_long_short_weight`` and ``mean_long_only_weight`` (fractions of
        equity), ``mean_forward_return`` (fraction, over the names that have one), ``ic`` (rank correlation of signal and
        forward return inside the bucket) and ``n_return_obs``. In a week without forward returns the figures of returns are
        null. Empty when no week can be cut.
    """
    if "raw_score_z" not in decisions.columns:
        decisions = decisions.hstack(cross_section(decisions, "raw_score", "raw_").select("raw_score_z"))
    # Fixes the order of ties, and of the terms of each mean.
    decisions = ordered(decisions.with_columns(pl.col("symbol").cast(pl.String)), ("date", "symbol"))
    dates, size = week_sizes(decisions["date"])
    columns = {mean: _floats(decisions[name]) for mean, name in _MEANS.items()}
    parts = [
        _buckets({name: values[rows] for name, values in columns.items()}, size[weeks])
        for weeks, rows in iter_blocks(size)
    ]
    figures = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    cut = figures.pop("cut")
    return pl.DataFrame(
        [
            dates.gather(np.repeat(np.flatnonzero(cut), BUCKETS)),
            pl.Series("bucket", np.tile(np.arange(1, BUCKETS + 1), int(cut.sum())), pl.Int64),
            *(pl.Series(name, values, nan_to_null=True) for name, values in figures.items()),
        ]
    )


def _buckets(columns: dict[str, Floats], size: Integers) -> dict[str, npt.NDArray[Any]]:
    """Return whether each week is ``cut``, and the figures by bucket of those weeks."""
    cut, names, n_symbols = _cut(columns["mean_score"], size)
    group = np.repeat(np.arange(n_symbols.size), n_symbols)
    columns = {name: values[names] for name, values in columns.items()}
    returned = ~np.isnan(columns["mean_forward_return"])
    score, outcome = (columns[name][returned] for name in ("mean_score", "mean_forward_return"))
    ic, n_return_obs = ic_by_group(score, outcome, group[returned], n_symbols.size)
    means = {name: _mean_by_group(values, group, n_symbols) for name, values in columns.items()}
    return {"cut": cut, "n_symbols": n_symbols, **means, "ic": ic, "n_return_obs": n_return_obs}


def _cut(score: Floats, size: Integers) -> tuple[npt.NDArray[np.bool_], Integers, Integers]:
    """Return whether each week can be cut, the rows of those weeks by bucket, and the size of each bucket."""
    scored = ~np.isnan(score)
    n_names: Integers = np.add.reduceat(scored, np.cumsum(size) - size, dtype=np.int64)
    cut = n_names >= MIN_DECILE_NAMES
    n_names = n_names[cut]
    ranked = np.flatnonzero(scored & np.repeat(cut, size))
    names = ranked[np.lexsort((score[ranked], np.repeat(np.arange(n_names.size), n_names)))]
    # Buckets of equal scores would follow the alphabet.
    last = np.cumsum(n_names) - 1
    differ = score[names[last + 1 - n_names]] < score[names[last]]
    names, n_names = names[np.repeat(differ, n_names)], n_names[differ]
    cut[cut] = differ
    # Counting from 0, rank r of n names falls into bucket 10 r // n, so bucket b begins at the first r >= b n / 10.
    n_symbols = np.diff(-(-n_names[:, np.newaxis] * np.arange(BUCKETS + 1) // BUCKETS)).ravel()
    return cut, names, n_symbols


def decile_returns(decisions: pl.DataFrame) -> Matrix:
    """Compute the mean forward return of each bucket of the delivered score, with the buckets of :func:`weekly_deciles`.

    Parameters
    ----------
    decisions : polars.DataFrame
        One row per name and week, by date and symbol, with ``date``, ``score`` and ``forward_return``.

    Returns
    -------
    Matrix, shape (n_decile_weeks, 10)
        Fractions, one row for each week that :func:`weekly_deciles` cuts, ascending, the bucket of the lowest scores first; NaN
        for a bucket without forward returns.
    """
    _, size = week_sizes(decisions["date"])
    score, returns = _floats(decisions["score"]), _floats(decisions["forward_return"])
    parts = []
    for weeks, rows in iter_blocks(size):
        _, names, n_symbols = _cut(score[rows], size[weeks])
        group = np.repeat(np.arange(n_symbols.size), n_symbols)
        parts.append(_mean_by_group(returns[rows][names], group, n_symbols))
    means: Matrix = np.concatenate(parts).reshape(-1, BUCKETS)
    return means


def decile_spread(deciles: pl.DataFrame) -> pl.DataFrame:
    """Compute the mean forward return of the highest bucket less that of the lowest.

    Parameters
    ----------
    deciles : polars.DataFrame
        As :func:`weekly_deciles` returns them.

    Returns
    -------
    polars.DataFrame
        ``date``, ascending, and ``decile_spread`` (fraction); one row per week of the input, null where either bucket has no
        forward return.
    """
    mean = pl.col("mean_forward_return")
    return (
        deciles.group_by("date")
        .agg(
            decile_spread=mean.filter(pl.col("bucket") == BUCKETS).first()
            - mean.filter(pl.col("bucket") == 1).first()
        )
        .sort("date")
    )


def _floats(column: pl.Series) -> Floats:
    """Return a column as doubles, NaN for null."""
    return column.cast(pl.Float64).to_numpy()


def _mean_by_group(values: Floats, group: Integers, size: Integers) -> Floats:
    """Return the mean of the known values of each group; NaN for a group without any.

    Not by Polars, whose partial sums depend on the number of threads. If a sum overflows, values are divided first.
    """
    known = ~np.isnan(values)
    count = size
    if not known.all():
        values, group = values[known], group[known]
        count = np.bincount(group, minlength=size.size)
    total = np.bincount(group, weights=values, minlength=size.size)
    means = np.full(size.size, np.nan)
    np.divide(total, count, out=means, where=count > 0)
    large = ~np.isfinite(total)
    if large.any():
        means[large] = np.bincount(group, weights=values / count[group], minlength=size.size)[large]
    return means

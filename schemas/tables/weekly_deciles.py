"""The deciles of each week by unconditioned signal."""

from __future__ import annotations

from typing import Final

from schemas.table import Column, Table, count, derived, number
from schemas.tables.shared_columns import WEEK
from schemas.units import Type, Unit


def _mean(name: str, unit: Unit, meaning: str) -> Column:
    return number(name, unit, meaning, nullable=True, **derived("unsmoothed_score"))


WEEKLY_DECILES: Final = Table(
    name="weekly_deciles",
    meaning="One row per week and decile by unconditioned signal; weeks with fewer than 20 names, or with one score for all, are absent.",
    key=("date", "bucket"),
    sealed=False,
    # 2: for a run that was not smoothed, the score is the signal before smoothing.
    formula=2,
    columns=(
        WEEK,
        Column("bucket", Type.I64, Unit.RANK, "Decile, 1 the lowest, 10 the highest.", **derived()),
        count("n_symbols", "Names in the decile.", **derived()),
        _mean("mean_score", Unit.SCORE, "Mean unconditioned signal of the decile."),
        _mean("mean_score_z", Unit.STDEV, "Mean z-score of the unconditioned signal."),
        _mean("mean_long_short_weight", Unit.RATIO, "Mean target weight in the dollar-neutral book."),
        _mean("mean_long_only_weight", Unit.RATIO, "Mean target weight in the long-only book."),
        _mean("mean_forward_return", Unit.RATIO, "Mean forward return of the decile's names that have one."),
        _mean("ic", Unit.CORRELATION, "Spearman correlation of signal and forward return inside the decile."),
        count("n_return_obs", "Names of the decile with a forward return.", **derived()),
    ),
)

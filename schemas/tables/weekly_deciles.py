"""The deciles of each week by unconditioned signal."""

from __future__ import annotations

from typing import Final

from schemas.table import Column, Origin, Table
from schemas.tables.shared_columns import WEEK
from schemas.units import Type, Unit

_RAW = ("unsmoothed_score",)


def _mean(name: str, unit: Unit, meaning: str) -> Column:
    return Column(name, Type.F64, unit, meaning, nullable=True, origin=Origin.DERIVED, needs=_RAW)


WEEKLY_DECILES: Final = Table(
    name="weekly_deciles",
    meaning="One row per week and decile, 1 the lowest tenth by unconditioned signal; weeks below 20 names are absent.",
    key=("date", "bucket"),
    sort=("date", "bucket"),
    sealed=False,
    # 2: the score of a run that was not smoothed stands for the signal before smoothing.
    formula=2,
    columns=(
        WEEK,
        Column("bucket", Type.I64, Unit.RANK, "Decile, 1 the lowest, 10 the highest.", origin=Origin.DERIVED),
        Column("n_symbols", Type.I64, Unit.COUNT, "Names in the decile.", origin=Origin.DERIVED),
        _mean("mean_score", Unit.SCORE, "Mean unconditioned signal of the decile."),
        _mean("mean_score_z", Unit.STDEV, "Mean z-score of the unconditioned signal."),
        _mean("mean_long_short_weight", Unit.RATIO, "Mean target weight in the dollar-neutral book."),
        _mean("mean_long_only_weight", Unit.RATIO, "Mean target weight in the long-only book."),
        _mean("mean_forward_return", Unit.RATIO, "Mean forward return of the decile's names that have one."),
        _mean("ic", Unit.CORRELATION, "Spearman correlation of signal and forward return inside the decile."),
        Column(
            "n_return_obs",
            Type.I64,
            Unit.COUNT,
            "Names of the decile with a forward return.",
            origin=Origin.DERIVED,
        ),
    ),
)

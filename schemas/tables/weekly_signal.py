"""Signal quality week by week: what every window of the metrics is aggregated from."""

from __future__ import annotations

from typing import Final

from schemas.table import Column, Origin, Table
from schemas.tables.shared_columns import WEEK
from schemas.units import Type, Unit

HORIZONS: Final = (1, 2, 4, 8)
"""Weeks over which forward returns are compounded for the term structure of the IC."""
LAGS: Final = (1, 2, 3, 4, 5, 6, 7, 8)
"""Weeks between the two cross-sections of a rank autocorrelation."""
MIN_DECILE_NAMES: Final = 20
"""A week with fewer scored names has no deciles."""
BUCKETS: Final = 10

_RAW = ("unsmoothed_score",)


def _count(name: str, meaning: str, *needs: str) -> Column:
    return Column(name, Type.I64, Unit.COUNT, meaning, origin=Origin.DERIVED, needs=needs)


def _correlation(name: str, meaning: str, *needs: str, formula: int = 1) -> Column:
    return Column(
        name,
        Type.F64,
        Unit.CORRELATION,
        meaning,
        nullable=True,
        origin=Origin.DERIVED,
        needs=needs,
        formula=formula,
    )


WEEKLY_SIGNAL: Final = Table(
    name="weekly_signal",
    meaning="One row per rebalance week: information coefficients, spread and autocorrelation.",
    key=("date",),
    sort=("date",),
    sealed=False,
    # 2: the score of a run that was not smoothed stands for the signal before smoothing.
    formula=2,
    columns=(
        WEEK,
        Column("week_status", Type.STR, Unit.NONE, "As in the rebalance index."),
        _count("n_symbols", "Names in the week's cross-section."),
        _count("cohort_size", "Names with a valid score."),
        _count("n_return_obs", "Names with a score and a forward return."),
        _correlation(
            "ic", "Spearman correlation of score and forward return; null below two pairs or on a constant."
        ),
        _correlation("raw_ic", "Spearman correlation of the unconditioned signal and forward return.", *_RAW),
        Column(
            "decile_spread",
            Type.F64,
            Unit.RATIO,
            "Mean forward return of the top decile by unconditioned signal less that of the bottom one.",
            nullable=True,
            origin=Origin.DERIVED,
            needs=_RAW,
        ),
        _count("cohort_size_raw", "Names with a valid unconditioned signal.", *_RAW),
        _count("n_return_obs_raw", "Names with an unconditioned signal and a forward return.", *_RAW),
        *(
            _correlation(
                f"ic_h{k}",
                f"Spearman correlation of the unconditioned signal and the return compounded over {k} traded week(s).",
                *_RAW,
                formula=1 if k == 1 else 2,  # one plus each return, multiplied as they stand
            )
            for k in HORIZONS
        ),
        *(
            _correlation(
                f"rho_lag{k}",
                f"Spearman correlation of the unconditioned signal with itself {k} week(s) before.",
                *_RAW,
            )
            for k in LAGS
        ),
    ),
)

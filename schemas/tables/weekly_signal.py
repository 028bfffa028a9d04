"""Signal quality week by week, which the metrics of every window aggregate."""

from __future__ import annotations

from typing import Final

from schemas.table import Column, Table, count, derived, number, text
from schemas.tables.shared_columns import WEEK
from schemas.units import Unit

HORIZONS: Final = (1, 2, 4, 8)
"""Weeks over which forward returns are compounded for the term structure of the IC."""
LAGS: Final = (1, 2, 3, 4, 5, 6, 7, 8)
"""Weeks between the two cross-sections of a rank autocorrelation."""
MIN_DECILE_NAMES: Final = 20
"""Minimum number of scored names in a week for deciles."""
BUCKETS: Final = 10

_RAW = ("unsmoothed_score",)


def _count(name: str, meaning: str, *needs: str) -> Column:
    return count(name, meaning, **derived(*needs))


def _correlation(name: str, meaning: str, *needs: str, formula: int = 1) -> Column:
    return number(name, Unit.CORRELATION, meaning, nullable=True, formula=formula, **derived(*needs))


WEEKLY_SIGNAL: Final = Table(
    name="weekly_signal",
    meaning="One row per rebalance week: information coefficients, spread and autocorrelation.",
    key=("date",),
    sealed=False,
    # 2: for a run that was not smoothed, the score is the signal before smoothing.
    formula=2,
    columns=(
        WEEK,
        text("week_status", "As in the rebalance index."),
        _count("n_symbols", "Names in the week's cross-section."),
        _count("cohort_size", "Names with a valid score."),
        _count("n_return_obs", "Names with a score and a forward return."),
        _correlation(
            "ic",
            "Spearman correlation of score and forward return; null for fewer than two pairs or a constant.",
        ),
        _correlation("raw_ic", "Spearman correlation of the unconditioned signal and forward return.", *_RAW),
        number(
            "decile_spread",
            Unit.RATIO,
            "Mean forward return of the top decile by unconditioned signal less that of the bottom one.",
            nullable=True,
            **derived(*_RAW),
        ),
        _count("cohort_size_raw", "Names with a valid unconditioned signal.", *_RAW),
        _count("n_return_obs_raw", "Names with an unconditioned signal and a forward return.", *_RAW),
        *(
            _correlation(
                f"ic_h{k}",
                f"Spearman correlation of the unconditioned signal and the return compounded over {k} traded week(s).",
                *_RAW,
                formula=1 if k == 1 else 2,  # 2: the product of (1 + return) in week order
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

"""The decile table."""

from __future__ import annotations

from typing import Final

from schemas.field import Field, count, figure, integer, record, series, text
from schemas.metrics.statistic import (
    CROSS_SECTIONS,
    FORWARD_RETURNS_PRESENT,
    SCORE_FIELD,
    UNSMOOTHED_FIELD,
    WEEK_AHEAD,
    WINDOW,
    Signal,
)
from schemas.tables.weekly_deciles import WEEKLY_DECILES
from schemas.tables.weekly_signal import BUCKETS, MIN_DECILE_NAMES
from schemas.units import Unit

BUCKET_MEANS: Final = (
    "mean_score",
    "mean_score_z",
    "mean_long_short_weight",
    "mean_long_only_weight",
    "mean_forward_return",
    "ic",
)
"""Weekly figures of a bucket that are averaged over the weeks of the window."""


def bucket_name(rank: int) -> str:
    """Name the bucket of a rank: Q1 holds the lowest scores."""
    return f"Q{rank}"


def _bucket_mean(name: str) -> Field:
    """Declare the mean over weeks of a weekly column, with the column's meaning and unit."""
    column = WEEKLY_DECILES[name]
    return figure(name, column.meaning, f"mean over weeks of the weekly {name}", unit=column.unit)


_BUCKETS: Final = series(
    "buckets",
    "The buckets, lowest scores first.",
    text("bucket", f"{bucket_name(1)} for the lowest scores to {bucket_name(BUCKETS)} for the highest."),
    integer(
        "rank", Unit.RANK.value, "The bucket's number, 1 for the lowest scores.", minimum=1, maximum=BUCKETS
    ),
    count("weeks", "Weeks in which the bucket held a name."),
    figure("mean_n_symbols", "Names in the bucket.", "mean over weeks of its names", unit=Unit.COUNT),
    *(_bucket_mean(name) for name in BUCKET_MEANS),
    count("n_return_obs", "Forward returns in the bucket, all weeks together."),
    granularity="one value a bucket",
)

_MONOTONICITY: Final = record(
    "monotonicity",
    "Whether mean returns rise with the bucket.",
    figure(
        "spearman_bucket_vs_mean_forward_return",
        "Rank correlation of bucket number and mean forward return.",
        "Spearman(rank, mean_forward_return) over the buckets",
        unit=Unit.CORRELATION,
    ),
    figure(
        "top_minus_bottom",
        "Mean forward return of the highest bucket less that of the lowest.",
        f"mean_forward_return of {bucket_name(BUCKETS)} - mean_forward_return of {bucket_name(1)}",
    ),
)

DECILES: Final = record(
    "ic_deciles",
    "The cross-section cut into ten buckets by the signal before smoothing, averaged over weeks.",
    text(
        "score_field",
        f"The column the names are ranked by: {UNSMOOTHED_FIELD} when the run was not smoothed; null to a key without "
        "raw-book access when it is a column that key may not see.",
        vocabulary=(SCORE_FIELD, UNSMOOTHED_FIELD),
        nullable=True,
    ),
    text("signal", "The signal that the buckets are cut by.", vocabulary=(Signal.RAW,)),
    count("bucket_count", "Buckets."),
    count("weeks", "Weeks measured: not left out, and with at least one forward return."),
    _BUCKETS,
    _MONOTONICITY,
    text("forward_returns", "The window has forward returns.", vocabulary=(FORWARD_RETURNS_PRESENT,)),
    count(
        "weeks_skipped", f"Weeks left out: fewer than {MIN_DECILE_NAMES} scored names, or one score for all."
    ),
    formula=f"names ranked upwards by ({SCORE_FIELD}, symbol); bucket = floor(10 (rank - 1) / n) + 1",
    horizon=WEEK_AHEAD,
    granularity=WINDOW,
    source=CROSS_SECTIONS.meaning,
    signal=Signal.RAW,
    availability=(
        f"null when the run recorded no {SCORE_FIELD} and does not state that it was not smoothed, no week of the window has {MIN_DECILE_NAMES} scored names whose scores differ, "
        f"no forward return is known, or the key may not call {CROSS_SECTIONS.endpoint}"
    ),
    nullable=True,
)

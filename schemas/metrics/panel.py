"""The weekly panel."""

from __future__ import annotations

from typing import Final

from schemas.field import count, day, figure, integer, number, record, series, text
from schemas.metrics.deciles import bucket_name
from schemas.metrics.statistic import CROSS_SECTIONS, SCORE_FIELD, WEEK_AHEAD, WINDOW, Signal
from schemas.tables.weekly_signal import BUCKETS, HORIZONS, LAGS
from schemas.units import Unit

_IC_WEEKLY: Final = series(
    "ic_weekly",
    "Information coefficient of the delivered score in each measured week.",
    day("date", "Rebalance date."),
    number("ic", Unit.CORRELATION, "Rank correlation of the week.", "Spearman(score, forward_return)"),
    signal=Signal.CONDITIONED,
)

_SPREAD: Final = series(
    "decile_spread_weekly",
    "Return of the highest bucket less that of the lowest in each measured week.",
    day("date", "Rebalance date."),
    number(
        "spread",
        Unit.RATIO,
        "Difference of the week.",
        f"mean forward_return of {bucket_name(BUCKETS)} - mean forward_return of {bucket_name(1)}",
    ),
)

_TERM_STRUCTURE: Final = series(
    "ic_term_structure",
    f"Mean information coefficient by holding period: {', '.join(map(str, HORIZONS))} weeks.",
    integer("horizon_weeks", "weeks", "Holding period, in traded weeks."),
    figure(
        "mean_ic",
        "Mean over weeks of the rank correlation with the compounded return.",
        f"mean of Spearman({SCORE_FIELD}, product of (1 + forward_return) over the holding period - 1): doubles, "
        "multiplied in the order of the weeks, equal ones being ties; over one week, forward_return itself",
        unit=Unit.CORRELATION,
    ),
    count("weeks", "Weeks measured."),
    granularity="one value a horizon",
)

_AUTOCORRELATION: Final = series(
    "rank_autocorrelation",
    f"How slowly the ranking changes: lags of {LAGS[0]} to {LAGS[-1]} weeks.",
    integer("lag_weeks", "weeks", "Weeks between the two cross-sections, skipped ones not counted."),
    figure(
        "rho",
        "Mean over weeks of the rank correlation with the earlier cross-section.",
        f"mean of Spearman({SCORE_FIELD} of the week, {SCORE_FIELD} of the week lag_weeks before)",
        unit=Unit.CORRELATION,
    ),
    count("weeks", "Weeks measured."),
    granularity="one value a lag",
)

_COVERAGE: Final = record(
    "coverage",
    "Coverage of the traded cross-sections.",
    count("weeks", "Traded weeks with a cross-section."),
    figure("mean_n_symbols", "Names in the cross-section.", unit=Unit.COUNT),
    figure("mean_cohort_size", f"Names with a valid {SCORE_FIELD}.", unit=Unit.COUNT),
    figure("mean_share_with_return", f"Share with a {SCORE_FIELD} and a forward return."),
    formula="mean over traded weeks",
    granularity=WINDOW,
)

PANEL: Final = record(
    "panel",
    "The weekly series behind the averages; only with panel=1.",
    text(
        "signal",
        "Signal of every series except ic_weekly, which measures the conditioned one.",
        vocabulary=(Signal.RAW,),
    ),
    _IC_WEEKLY,
    _SPREAD,
    _TERM_STRUCTURE,
    _AUTOCORRELATION,
    _COVERAGE,
    formula="see each series",
    horizon=WEEK_AHEAD,
    granularity="one value a week of the window",
    source=CROSS_SECTIONS.meaning,
    signal=Signal.RAW,
    availability="absent without panel=1; null whenever ic_deciles is null",
    nullable=True,
    optional=True,
)

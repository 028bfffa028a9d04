"""Quality of the delivered score: IC decay, turnover-adjusted IC, and monotonicity of its deciles."""

from __future__ import annotations

from typing import Final

from schemas.field import Field, count, figure, integer, number, record, series, text
from schemas.metrics.deciles import bucket_name
from schemas.metrics.families.family import SAMPLES, make_family
from schemas.tables.weekly_signal import BUCKETS, MIN_DECILE_NAMES
from schemas.units import Unit

DELAYS: Final = tuple(range(9))
"""Ages of the score in weeks, from 0 at its own decision."""
SEED: Final = 2010
"""Seed of the bootstrap, the same for every run."""
_QHS: Final = (
    "Qian, Sorensen and Hua (2007), Information Horizon, Portfolio Turnover, and Optimal Alpha Models, "
    "Journal of Portfolio Management 34(1)"
)
_HAC: Final = "Newey and West (1987), Econometrica 55(3); lag floor(4 (n / 100)^(2/9))"
_MONOTONE: Final = (
    "Patton and Timmermann (2010), Monotonicity in Asset Returns, Journal of Financial Economics 98(3)"
)


def _in_errors(name: str, meaning: str, formula: str) -> Field:
    return figure(name, meaning, formula, _HAC, unit="standard errors")


def _side(name: str, which: str, where: str) -> Field:
    return record(
        name,
        f"Rank correlation within the {which} half of each week's names with a forward return, those of the middle rank left out.",
        figure(
            "mean_ic",
            "Mean over the weeks.",
            f"mean of Spearman(score, forward_return) of the names ranked {where} the middle of those with a forward return, ties averaged",
            unit=Unit.CORRELATION,
        ),
        _in_errors("t_stat", "Mean in HAC standard errors.", "mean / HAC error"),
        count("weeks", "Weeks measured."),
        nullable=True,
    )


def _deciles(name: str, meaning: str, score: str, **rules: bool) -> Field:
    return record(
        name,
        meaning,
        series(
            "deciles",
            "Mean forward return of each tenth of the names.",
            text("bucket", f"{bucket_name(1)} lowest to {bucket_name(BUCKETS)} highest."),
            number("mean_forward_return", Unit.RATIO, "Mean of the weekly means."),
            formula=f"mean over weeks of mean forward_return by tenth of {score}, over weeks with at least {MIN_DECILE_NAMES} scores that are not all equal, and a forward return in every "
            "tenth; rank r of n from below, ties by symbol, is in tenth floor(10 (r - 1) / n) + 1",
            nullable=True,
        ),
        count("weeks", "Weeks measured."),
        figure(
            "spread",
            "Weekly return of the highest tenth less that of the lowest.",
            f"mean of ({bucket_name(BUCKETS)} - {bucket_name(1)})",
        ),
        _in_errors("spread_t_stat", "The spread in HAC standard errors.", "spread / HAC error"),
        record(
            "monotonicity",
            "Test whether mean returns rise from each tenth to the next.",
            figure(
                "smallest_step",
                "Smallest rise from one tenth to the next: the test statistic.",
                "J = min over i of mean(Q_i+1 - Q_i)",
                _MONOTONE,
            ),
            figure(
                "p_value",
                "Probability of such a statistic if returns do not rise; small if they do.",
                f"share of {SAMPLES} stationary bootstrap samples with min over i of (mean* - mean)(Q_i+1 - Q_i) > J",
                _MONOTONE,
                minimum=0,
                maximum=1,
            ),
            figure(
                "mean_block",
                "Mean block length of the bootstrap, in weeks.",
                "as for the bands of /luck, on the spread",
                "Politis and White (2004), Econometric Reviews 23(1), as corrected in 2009",
                unit=Unit.COUNT,
                minimum=1,
            ),
            count("seed", "Seed of the random numbers."),
        ),
        nullable=True,
        **rules,
    )


SIGNAL: Final = make_family(
    "signal",
    "Decay of the delivered score, its turnover-adjusted IC, its IC by side, and monotonicity of its deciles, over the weeks in which a "
    "signal was in force.",
    series(
        "ic_by_delay",
        "Rank correlation of the forward return with older scores.",
        integer("delay_weeks", "weeks", "Age of the score."),
        figure("mean_ic", "Mean over the weeks; null when none is measured.", unit=Unit.CORRELATION),
        figure(
            "t_stat",
            "Mean in HAC standard errors; null with fewer than ten weeks, or when they do not vary.",
            unit="standard errors",
        ),
        count("weeks", "Weeks measured."),
        formula="mean of Spearman(score of the name delay_weeks before, forward_return)",
        source=_QHS,
        nullable=True,
    ),
    figure(
        "half_life_weeks",
        "Delay at which half of the IC is left, if the IC of a fresh score differs significantly from 0.",
        "first delay with mean_ic at half of that of delay 0, interpolated linearly; null if the t_stat of delay 0 is between -2 and 2",
        _QHS,
        unit="weeks",
    ),
    figure(
        "rank_autocorrelation",
        "Rank correlation of the score with that of the previous week.",
        "mean of Spearman(score, score of the name a week before)",
        _QHS,
        unit=Unit.CORRELATION,
    ),
    figure(
        "turnover_adjusted_ic",
        "IC over the turnover of a book that follows the score, relative to that of a score drawn independently each week.",
        "mean_ic of delay 0 / sqrt(1 - rank_autocorrelation)",
        _QHS,
    ),
    _side("long_side", "upper", "above"),
    _side("short_side", "lower", "below"),
    _deciles("delivered", "Deciles of the delivered score.", "score"),
    _deciles("unsmoothed", "Deciles of the score before smoothing.", "raw_score", raw=True, optional=True),
    model="SignalQuality",
    needs=("signals.rebalances.get",),
    by_book=False,
)

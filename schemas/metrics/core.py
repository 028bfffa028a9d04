"""The core statistics and the rank-IC statistics."""

from __future__ import annotations

from typing import Final

from schemas.metrics.statistic import (
    CROSS_SECTIONS,
    LEDGER,
    MONEY_UNIT,
    Annualisation,
    SealedName,
    Signal,
    Statistic,
)

_WEEK: Final = "one rebalance period: from the first open after the decision to the first open after the next"
_SESSION: Final = "one trading session"
_SPAN: Final = "the span measured, from its first session to its last"

PER_PERIOD: Final = Annualisation.PER_PERIOD
ANNUALISED: Final = Annualisation.ANNUALISED
NOT_ANNUALISABLE: Final = Annualisation.NOT_ANNUALISABLE

# Conventions that are the API's own definition.
_OWN_MEAN: Final = ("mean of the measured weeks",)
_OWN_IC_RATIO: Final = ("weekly, 52 periods, ddof 1", "weekly, ddof 1")
_OWN_RATIO: Final = ("daily, 252 periods, ddof 1",)
_OWN_MONEY: Final = ("equity units", "over equity_basis")
_OWN_ANNUAL: Final = ("mean of a session x 252",)
_OWN_SESSION: Final = ("mean of a session",)
_OWN_TOTAL: Final = ("sum of the sessions",)


def _weekly(
    name: str,
    meaning: str,
    formula: str,
    sealed: SealedName,
    annualisation: Annualisation,
    *,
    signal: Signal = Signal.CONDITIONED,
) -> Statistic:
    """Declare a ratio that is computed from the cross-sections."""
    return Statistic(name, meaning, formula, (sealed,), CROSS_SECTIONS, "ratio", annualisation, _WEEK, signal)


def _daily(
    name: str,
    meaning: str,
    formula: str,
    sealed: tuple[SealedName, ...] = (),
    *,
    unit: str = "ratio",
    aliases: tuple[str, ...] = (),
) -> Statistic:
    """Declare an annualised statistic of the sessions of the ledger."""
    return Statistic(name, meaning, formula, sealed, LEDGER, unit, ANNUALISED, _SESSION, aliases=aliases)


def _equity_statistic(
    name: str, meaning: str, formula: str, conventions: tuple[str, ...], unit: str
) -> Statistic:
    """Declare a statistic of the equity over a span."""
    sealed = (SealedName(name, NOT_ANNUALISABLE, conventions),)
    return Statistic(name, meaning, formula, sealed, LEDGER, unit, NOT_ANNUALISABLE, _SPAN)


CORE: Final = (
    _weekly(
        "ic",
        "Mean weekly information coefficient of the delivered (conditioned) score.",
        "mean over weeks of the Spearman rank correlation, ties averaged, of score and forward_return",
        SealedName("mean_ic", PER_PERIOD, _OWN_MEAN),
        PER_PERIOD,
    ),
    _weekly(
        "icir",
        "Steadiness of the weekly information coefficient: its mean over its deviation.",
        "mean / sample standard deviation (ddof 1) of the weekly ic x sqrt(52)",
        SealedName("icir", None, _OWN_IC_RATIO),
        ANNUALISED,
    ),
    _daily(
        "information_ratio",
        "Return of the long_short book per unit of its own risk, before the risk-free rate.",
        "mean / sample standard deviation (ddof 1) of the daily period_return x sqrt(252)",
        (SealedName("information_ratio", ANNUALISED, _OWN_RATIO, annualised_only=True),),
        aliases=("sharpe",),
    ),
    _daily(
        "excess_sharpe",
        "Return of the long_short book above the risk-free rate, per unit of risk.",
        "mean / sample standard deviation (ddof 1) of (period_return - risk_free_return), daily, x sqrt(252)",
        (SealedName("excess_sharpe", ANNUALISED, _OWN_RATIO, annualised_only=True),),
    ),
    _equity_statistic(
        "pnl",
        "Profit of the long_short book.",
        "last ending_equity - first starting_equity",
        _OWN_MONEY,
        MONEY_UNIT,
    ),
    _equity_statistic(
        "max_drawdown",
        "Deepest fall of the long_short book's equity below its running peak, in units of equity.",
        "max over sessions of (peak_equity - ending_equity); opening equity counts towards the peak",
        _OWN_MONEY,
        MONEY_UNIT,
    ),
    _equity_statistic(
        "max_drawdown_pct",
        "Deepest fall of the long_short book's equity as a percentage of its running peak.",
        "max over sessions of (peak_equity - ending_equity) / peak_equity x 100",
        ("percentage points of the peak",),
        "percentage_points",
    ),
    _daily(
        "turnover",
        "One-sided turnover of the long_short book. Its unit says whether it is per year, per session or a total.",
        "mean daily turnover x 252",
        (
            SealedName("annualised_turnover", ANNUALISED, _OWN_ANNUAL),
            SealedName("turnover", None, (*_OWN_ANNUAL, *_OWN_SESSION, *_OWN_TOTAL)),
            SealedName("mean_turnover", PER_PERIOD, _OWN_SESSION),
            SealedName("total_turnover", NOT_ANNUALISABLE, _OWN_TOTAL),
        ),
        unit="per_year",
    ),
)
"""The core statistics in the order they are served."""

RATE_OF: Final = "excess_sharpe"
"""The statistic whose entry also states the risk-free rate."""
RISK_FREE_RATE: Final = "risk_free_rate"
"""Name of the sealed record of the risk-free rate."""

RANK_IC_CONDITIONED: Final = (
    _weekly(
        "hit_rate",
        "Share of the measured weeks in which the information coefficient was above zero.",
        "weeks with ic > 0 / weeks with an ic",
        SealedName("ic_hit_rate", NOT_ANNUALISABLE, ("share of the measured weeks above 0",)),
        NOT_ANNUALISABLE,
    ),
    _weekly(
        "dispersion",
        "Variation of the information coefficient from week to week.",
        "sample standard deviation (ddof 1) of the weekly ic",
        SealedName("ic_dispersion", PER_PERIOD, ("ddof 1",)),
        PER_PERIOD,
    ),
    _weekly(
        "coverage",
        "Share of a traded week's cross-section that has both a score and a forward return.",
        "mean over traded weeks of names with score and forward_return / names in the cross-section",
        SealedName("ic_coverage", NOT_ANNUALISABLE, ("mean of the traded weeks",)),
        NOT_ANNUALISABLE,
    ),
)

RANK_IC_RAW: Final = (
    _weekly(
        "ic",
        "Mean weekly information coefficient of the score before smoothing.",
        "mean over weeks of the Spearman rank correlation, ties averaged, of raw_score and forward_return",
        SealedName("raw_mean_ic", PER_PERIOD, _OWN_MEAN),
        PER_PERIOD,
        signal=Signal.RAW,
    ),
    _weekly(
        "icir",
        "Steadiness of the information coefficient before smoothing.",
        "mean / sample standard deviation (ddof 1) of the weekly raw ic x sqrt(52)",
        SealedName("raw_icir", None, _OWN_IC_RATIO),
        ANNUALISED,
        signal=Signal.RAW,
    ),
)

RANK_IC: Final = {Signal.CONDITIONED: RANK_IC_CONDITIONED, Signal.RAW: RANK_IC_RAW}

STATISTICS: Final = (*CORE, *(statistic for family in RANK_IC.values() for statistic in family))
"""The statistics of `core` and `rank_ic`."""

SERVED_CONVENTIONS: Final = {
    RISK_FREE_RATE: _OWN_ANNUAL,
    **{name.name: name.conventions for statistic in STATISTICS for name in statistic.sealed},
}
"""Name of a sealed record -> conventions by which it is served: those that are the API's definition."""

REPRODUCTION_TOLERANCE: Final = 1e-6
"""Largest absolute difference of the rebuilt mean IC from the sealed one for `nwt.ic` to be published."""

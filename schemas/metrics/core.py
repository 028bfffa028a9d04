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

CORE: Final = (
    Statistic(
        "ic",
        "Mean weekly information coefficient of the delivered (conditioned) score.",
        "mean over weeks of the Spearman rank correlation, ties averaged, of score and forward_return",
        (SealedName("mean_ic", PER_PERIOD),),
        CROSS_SECTIONS,
        "ratio",
        PER_PERIOD,
        _WEEK,
        Signal.CONDITIONED,
    ),
    Statistic(
        "icir",
        "How steady the weekly information coefficient is: its mean over its deviation.",
        "mean / sample standard deviation (ddof 1) of the weekly ic x sqrt(52)",
        (SealedName("icir", None),),
        CROSS_SECTIONS,
        "ratio",
        ANNUALISED,
        _WEEK,
        Signal.CONDITIONED,
    ),
    Statistic(
        "information_ratio",
        "Return of the long_short book per unit of its own risk, before the risk-free rate.",
        "mean / sample standard deviation (ddof 1) of the daily period_return x sqrt(252)",
        (SealedName("information_ratio", ANNUALISED, annualised_only=True),),
        LEDGER,
        "ratio",
        ANNUALISED,
        _SESSION,
    ),
    Statistic(
        "excess_sharpe",
        "Return of the long_short book above the risk-free rate, per unit of risk.",
        "mean / sample standard deviation (ddof 1) of (period_return - risk_free_return), daily, x sqrt(252)",
        (SealedName("excess_sharpe", ANNUALISED, annualised_only=True),),
        LEDGER,
        "ratio",
        ANNUALISED,
        _SESSION,
    ),
    Statistic(
        "pnl",
        "Profit of the long_short book.",
        "last ending_equity - first starting_equity",
        (SealedName("pnl", NOT_ANNUALISABLE),),
        LEDGER,
        MONEY_UNIT,
        NOT_ANNUALISABLE,
        _SPAN,
    ),
    Statistic(
        "max_drawdown",
        "Deepest fall of the long_short book's equity below its running peak, in units of equity.",
        "max over sessions of (peak_equity - ending_equity); opening equity counts towards the peak",
        (SealedName("max_drawdown", NOT_ANNUALISABLE),),
        LEDGER,
        MONEY_UNIT,
        NOT_ANNUALISABLE,
        _SPAN,
    ),
    Statistic(
        "max_drawdown_pct",
        "Deepest fall of the long_short book's equity as a percentage of its running peak.",
        "max over sessions of (peak_equity - ending_equity) / peak_equity x 100",
        (SealedName("max_drawdown_pct", NOT_ANNUALISABLE),),
        LEDGER,
        "percentage_points",
        NOT_ANNUALISABLE,
        _SPAN,
    ),
    Statistic(
        "turnover",
        "One-sided turnover of the long_short book. Its unit tells which of the sealed forms it is.",
        "mean daily turnover x 252",
        (
            SealedName("annualised_turnover", ANNUALISED),
            SealedName("turnover", None),
            SealedName("mean_turnover", PER_PERIOD),
            SealedName("total_turnover", NOT_ANNUALISABLE),
        ),
        LEDGER,
        "per_year",
        ANNUALISED,
        _SESSION,
    ),
)
"""The core statistics in the order they are served; the alias stands in :data:`ALIASES`."""

ALIASES: Final = {"sharpe": "information_ratio"}
"""Deprecated name -> the statistic that supersedes it and whose entry it repeats."""
RATE_OF: Final = "excess_sharpe"
"""The statistic whose entry also states the risk-free rate."""
RISK_FREE_RATE: Final = "risk_free_rate"
"""Name of the sealed record that holds it."""

RANK_IC_CONDITIONED: Final = (
    Statistic(
        "hit_rate",
        "Share of the measured weeks in which the information coefficient was above zero.",
        "weeks with ic > 0 / weeks with an ic",
        (SealedName("ic_hit_rate", NOT_ANNUALISABLE),),
        CROSS_SECTIONS,
        "ratio",
        NOT_ANNUALISABLE,
        _WEEK,
        Signal.CONDITIONED,
    ),
    Statistic(
        "dispersion",
        "How much the information coefficient varies from week to week.",
        "sample standard deviation (ddof 1) of the weekly ic",
        (SealedName("ic_dispersion", PER_PERIOD),),
        CROSS_SECTIONS,
        "ratio",
        PER_PERIOD,
        _WEEK,
        Signal.CONDITIONED,
    ),
    Statistic(
        "coverage",
        "How much of a traded week's cross-section has both a score and a forward return.",
        "mean over traded weeks of names with score and forward_return / names in the cross-section",
        (SealedName("ic_coverage", NOT_ANNUALISABLE),),
        CROSS_SECTIONS,
        "ratio",
        NOT_ANNUALISABLE,
        _WEEK,
        Signal.CONDITIONED,
    ),
)

RANK_IC_RAW: Final = (
    Statistic(
        "ic",
        "Mean weekly information coefficient of the score before smoothing.",
        "mean over weeks of the Spearman rank correlation, ties averaged, of raw_score and forward_return",
        (SealedName("raw_mean_ic", PER_PERIOD),),
        CROSS_SECTIONS,
        "ratio",
        PER_PERIOD,
        _WEEK,
        Signal.RAW,
    ),
    Statistic(
        "icir",
        "How steady the information coefficient before smoothing is.",
        "mean / sample standard deviation (ddof 1) of the weekly raw ic x sqrt(52)",
        (SealedName("raw_icir", None),),
        CROSS_SECTIONS,
        "ratio",
        ANNUALISED,
        _WEEK,
        Signal.RAW,
    ),
)

RANK_IC: Final = {Signal.CONDITIONED: RANK_IC_CONDITIONED, Signal.RAW: RANK_IC_RAW}

REPRODUCTION_TOLERANCE: Final = 1e-6
"""How far, in absolute terms, the rebuilt mean IC may lie from the sealed one for `nwt.ic` to be published."""

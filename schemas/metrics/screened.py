"""Figures of the screen that are not in the metrics: recorded at publication, or relative to the alphas that a key may read."""

from __future__ import annotations

from typing import Final

from schemas.metrics.core import ANNUALISED, NOT_ANNUALISABLE
from schemas.metrics.statistic import INDEX, LEDGER, Source, Statistic

_AMONG: Final = "the alphas with a t_stat that the key may read"


def _figure(
    name: str,
    meaning: str,
    formula: str,
    unit: str = "ratio",
    *,
    annualised: bool = False,
    source: Source = LEDGER,
) -> Statistic:
    scaled = ANNUALISED if annualised else NOT_ANNUALISABLE
    return Statistic(name, meaning, formula, (), source, unit, scaled, "the run")


SCREENED: Final = (
    _figure("sessions", "Daily returns of the long_short book.", "sessions with a period_return", "count"),
    _figure(
        "tenure_years",
        "Length of the record.",
        "days from the first rebalance to the last / 365.25",
        "years",
        source=INDEX,
    ),
    _figure(
        "annualised_return",
        "Compounded return of the long_short book.",
        "product of (1 + period_return), to the power of 252 / sessions, less 1",
        annualised=True,
    ),
    _figure(
        "volatility",
        "Deviation of the daily return of the long_short book.",
        "sample standard deviation (ddof 1) of the daily period_return x sqrt(252)",
        annualised=True,
    ),
    _figure(
        "t_stat",
        "Mean daily return of the long_short book over its Newey-West error: nwt.ir of the metrics.",
        "mean / sqrt(long-run variance / n), Bartlett weights, lag floor(4 (n / 100)^(2/9))",
        "standard_errors",
    ),
    _figure(
        "probabilistic_sharpe",
        "Probability that the Sharpe ratio of the long_short book is above 0, as in /luck.",
        "Bailey and López de Prado (2012), equation 11, against 0",
    ),
    _figure(
        "cost_bp",
        "Execution cost of what the long_short book traded.",
        "- sum of execution_cost / sum of turnover_notional x 10,000",
        "basis_points",
    ),
)
"""Recorded in pointers along with those of the metrics."""
CORRECTED: Final = (
    _figure(
        "q_value",
        "Expected share of false discoveries among the alphas that the key may read with this t_stat or a better one.",
        f"Benjamini and Hochberg (1995) on the two-sided p-values of t_stat of {_AMONG}",
    ),
    _figure(
        "q_value_by",
        "The same under any dependence of the alphas.",
        f"Benjamini and Yekutieli (2001) on the same p-values of {_AMONG}",
    ),
    _figure(
        "haircut_sharpe",
        "Information ratio after a haircut for the number of alphas it was chosen from.",
        "information_ratio x (t whose p-value is q_value_by) / t_stat: Harvey and Liu (2015)",
        annualised=True,
    ),
)
"""Computed for a request from the recorded figures of all alphas that the key may read."""

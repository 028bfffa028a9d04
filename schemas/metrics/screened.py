"""Figures of the screen that the metrics do not have: recorded when a run is published, or judged among the alphas of a key."""

from __future__ import annotations

from typing import Final

from schemas.metrics.statistic import INDEX, LEDGER, Annualisation, Definition, Source, Statistic

_SESSIONS: Final = "sessions of the ledger"
_NET: Final = "net of execution costs and borrow, interest on cash included"
_AMONG: Final = "the alphas with a t_stat that the key may read"
_HORIZON: Final = "the whole run"


def _figure(
    name: str,
    meaning: str,
    formula: str,
    unit: str,
    *,
    annualised: bool = False,
    source: Source = LEDGER,
    definition: Definition | None = None,
) -> Statistic:
    scaled = Annualisation.ANNUALISED if annualised else Annualisation.NOT_ANNUALISABLE
    definition = Definition(_SESSIONS, _NET, risk_free="not deducted") if definition is None else definition
    return Statistic(name, meaning, formula, (), source, unit, scaled, _HORIZON, definition=definition)


SCREENED: Final = (
    _figure(
        "sessions",
        "Daily returns of the long_short book.",
        "sessions with a period_return",
        "count",
        definition=Definition(_SESSIONS),
    ),
    _figure(
        "tenure_years",
        "Length of the record.",
        "days from the first rebalance to the last / 365.25",
        "years",
        source=INDEX,
        definition=Definition("calendar days"),
    ),
    _figure(
        "annualised_return",
        "Compounded return of the long_short book.",
        "product of (1 + period_return), to the power of 252 / sessions, less 1",
        "ratio",
        annualised=True,
    ),
    _figure(
        "volatility",
        "Deviation of the daily return of the long_short book.",
        "sample standard deviation (ddof 1) of the daily period_return x sqrt(252)",
        "ratio",
        annualised=True,
        definition=Definition(_SESSIONS, _NET, 1, "sqrt(252)", "not deducted"),
    ),
    _figure(
        "t_stat",
        "Mean daily return of the long_short book over its Newey-West error: nwt.ir of the metrics.",
        "mean / sqrt(long-run variance / n), Bartlett weights, lag floor(4 (n / 100)^(2/9))",
        "standard_errors",
    ),
    _figure(
        "probabilistic_sharpe",
        "Probability that the Sharpe ratio of the long_short book is above 0, by /luck.",
        "Bailey and López de Prado (2012), equation 11, against 0",
        "ratio",
    ),
    _figure(
        "cost_bp",
        "Execution cost of what the long_short book traded.",
        "- sum of execution_cost / sum of turnover_notional x 10,000",
        "basis_points",
        definition=Definition(_SESSIONS, "execution costs without borrow"),
    ),
)
"""Recorded in pointers beside those of the metrics."""
JUDGED: Final = (
    _figure(
        "q_value",
        "Share of false discoveries that an alpha with this t_stat or a better one stands for, among those the key may read.",
        f"Benjamini and Hochberg (1995) on the two-sided p-values of t_stat of {_AMONG}",
        "ratio",
    ),
    _figure(
        "q_value_by",
        "The same whatever the dependence of the alphas.",
        f"Benjamini and Yekutieli (2001) on the same p-values of {_AMONG}",
        "ratio",
    ),
    _figure(
        "haircut_sharpe",
        "Information ratio less what its choice among so many makes of it.",
        "information_ratio x (t whose p-value is q_value_by) / t_stat: Harvey and Liu (2015)",
        "ratio",
        annualised=True,
    ),
)
"""Made for a request, of the recorded ones of all alphas that the key may read."""

"""Risk of a book: drawdowns, tails, rolling figures and the Sharpe ratio under autocorrelation."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from schemas.field import count, day, figure, integer, number, series
from schemas.metrics.families.family import (
    ANNUALISED_RETURN,
    KURTOSIS,
    SHARPE,
    SKEWNESS,
    VOLATILITY,
    make_family,
)
from schemas.units import Unit

DEEPEST: Final = 10
"""Maximum number of drawdowns listed."""
ROLLING: Final = 252
"""Window of rolling figures, in sessions."""
_EMPYRICAL: Final = "as in empyrical"
_TAIL: Final = (
    "Rockafellar and Uryasev (2000), Optimization of Conditional Value-at-Risk, Journal of Risk 2(3)"
)

_DRAWDOWNS: Final = series(
    "drawdowns",
    f"The {DEEPEST} deepest falls of equity below its running peak, deepest first.",
    day("start", "First session that closed below the peak."),
    day("trough", "Session of the lowest close relative to the peak."),
    day("recovery", "First session that closed at or above the peak; null if there is none.", nullable=True),
    number("depth_pct", Unit.PERCENTAGE_POINTS, "Fall from the peak to the trough.", above=0),
    count("sessions", "Sessions under water."),
    count("sessions_to_trough", "Sessions up to the trough."),
    integer("days", "days", "Calendar days from the start to the recovery, or to the last session."),
    formula="runs of sessions with ending_equity below the highest opening or closing equity so far",
    source="Magdon-Ismail and Atiya (2004), Maximum Drawdown, Risk 17(10)",
    nullable=True,
)
_ROLLING: Final = series(
    "rolling",
    f"Figures of the {ROLLING} sessions up to the last one of each month.",
    day("date", "Last session."),
    SHARPE,
    replace(VOLATILITY, nullable=False, minimum=0),
    source=_EMPYRICAL,
    nullable=True,
)

RISK: Final = make_family(
    "risk",
    "Drawdowns, tails, rolling figures and the Sharpe ratio under autocorrelation of one book.",
    ANNUALISED_RETURN,
    VOLATILITY,
    SHARPE,
    figure(
        "lo_sharpe",
        "Sharpe ratio, annualised with the autocorrelations of the returns instead of sqrt(252).",
        "mean / deviation x q / sqrt(q + 2 sum of (q - k) rho_k), q = 252, over k = 1 .. `lo_lags`",
        "Lo (2002), The Statistics of Sharpe Ratios, Financial Analysts Journal 58(4)",
    ),
    count(
        "lo_lags",
        "Autocorrelations in `lo_sharpe`, floor(4 (n / 100)^(2/9)); later ones count as 0.",
        nullable=True,
    ),
    figure(
        "sortino",
        "Mean daily return over the downside deviation, annualised.",
        "mean x 252 / (sqrt(mean of min(period_return, 0)^2) x sqrt(252))",
        "Sortino and Price (1994), Performance Measurement in a Downside Risk Framework, Journal of Investing 3(3)",
    ),
    figure(
        "calmar",
        "Annualised return over the deepest drawdown.",
        "annualised_return / (deepest depth_pct / 100)",
        "Young (1991), Calmar Ratio: A Smoother Tool, Futures 20(1)",
    ),
    *(
        figure(
            f"var_{100 - share}",
            f"{share}% quantile of the daily return; a loss is negative.",
            f"{share}% quantile of period_return, interpolated linearly",
            _TAIL,
        )
        for share in (5, 1)
    ),
    *(
        figure(
            f"cvar_{100 - share}",
            f"Mean return of the worst {share}% of the sessions.",
            f"mean of the floor({share / 100} (n - 1)) + 1 lowest period_return",
            _TAIL,
        )
        for share in (5, 1)
    ),
    figure(
        "tail_ratio",
        "Right tail over left tail.",
        "size of the 95% quantile / size of the 5% quantile of period_return",
        _EMPYRICAL,
    ),
    SKEWNESS,
    KURTOSIS,
    figure(
        "under_water",
        "Share of the sessions that closed below the running peak.",
        "sessions with a drawdown / sessions",
        minimum=0,
        maximum=1,
    ),
    _DRAWDOWNS,
    _ROLLING,
    model="Risk",
    needs=("portfolio.ledger",),
)

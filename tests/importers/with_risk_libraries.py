"""Prints risk figures by quantstats and skfolio of each name's returns as JSON."""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")  # warnings of the libraries about each other

import numpy as np  # noqa: E402 -- as below
import pandas as pd  # noqa: E402 -- as below
import quantstats.stats as qs  # noqa: E402 -- warns when it is imported
from skfolio import measures  # noqa: E402 -- as above

CLOSES = pd.read_parquet(Path(sys.argv[1]) / "closes.parquet").set_index("date")
RETURNS = CLOSES.pct_change().iloc[1:102]
"""With 101 observations, the quantiles of 1% and 5% fall on observations, so every definition of a quantile agrees."""


def of_quantstats(returns: Any) -> dict[str, Any]:
    """Return its figures under this project's names.

    Its value at risk assumes a normal distribution, and so does its CVaR unless "historical" is passed.
    """
    details = qs.drawdown_details(qs.to_drawdown_series(returns)).sort_values("max drawdown")
    return {
        "annualised_return": qs.cagr(returns),
        "volatility": qs.volatility(returns),
        "sharpe": qs.sharpe(returns),
        "sortino": qs.sortino(returns),
        "calmar": qs.calmar(returns),
        "cvar_95": qs.cvar(returns, confidence=0.95, method="historical"),
        "cvar_99": qs.cvar(returns, confidence=0.99, method="historical"),
        "tail_ratio": qs.tail_ratio(returns),
        "skewness": qs.skew(returns),
        "kurtosis": qs.kurtosis(returns) + 3.0,  # it has the excess
        "drawdowns": [
            list(row) for row in details[["start", "valley", "max drawdown"]].itertuples(index=False)
        ],
    }


def of_skfolio(returns: Any) -> dict[str, Any]:
    """Return its figures under this project's names.

    Its losses are positive. Its CVaR is the mean of exactly 5% of the observations, including a fraction of the last one; ours
    uses complete observations up to the quantile, six and two of 101, so their share is requested. Its skewness and kurtosis are not
    adjusted for sample size; its deviations are, unless "biased" is passed.
    """
    n = len(returns)
    downside = measures.semi_deviation(returns, min_acceptable_return=0.0, biased=True)
    excess = measures.kurtosis(returns) - 3.0
    return {
        "sortino": measures.mean(returns) / downside * math.sqrt(252),
        "volatility": measures.standard_deviation(returns) * math.sqrt(252),
        "var_95": -measures.value_at_risk(returns, 0.95),
        "var_99": -measures.value_at_risk(returns, 0.99),
        "cvar_95": -measures.cvar(returns, 1 - 6 / n),
        "cvar_99": -measures.cvar(returns, 1 - 2 / n),
        "skewness": measures.skew(returns) * math.sqrt(n * (n - 1)) / (n - 2),
        "kurtosis": ((n + 1) * excess + 6) * (n - 1) / (n - 2) / (n - 3) + 3.0,
        # skfolio has no peak before the first return, so a return of 0 is prepended.
        "max_drawdown_pct": 100
        * measures.max_drawdown(measures.get_drawdowns(np.append(0.0, returns), compounded=True)),
    }


def main() -> None:
    """Measure each name."""
    report = {
        name: {"quantstats": of_quantstats(returns), "skfolio": of_skfolio(returns.to_numpy())}
        for name, returns in RETURNS.items()
    }
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main()

"""Exposures of a book to benchmarks and factors."""

from __future__ import annotations

from typing import Final

from schemas.field import (
    Field,
    array,
    count,
    day,
    figure,
    fraction,
    mapping,
    number,
    record,
    series,
    text,
    withheld,
)
from schemas.objects.summaries import RETURN_BASES, WINDOW_DAYS
from schemas.units import Unit

BENCHMARK: Final = "benchmark"
FACTORS: Final = "factors"
KINDS: Final = (BENCHMARK, FACTORS)


def _errors(of: str) -> tuple[Field, ...]:
    return (
        figure("standard_error", f"Newey-West standard error {of}.", unit="as the coefficient"),
        figure("t_stat", "Coefficient over its standard error.", unit="standard errors"),
        fraction(
            "p_value",
            "Two-sided, from Student's t with observations - regressors - 1 degrees of freedom.",
            nullable=True,
        ),
    )


def regression(meaning: str, others: str) -> Field:
    """Declare a regression of a book's daily returns; `others` is the plural noun of the regressors."""
    return record(
        "regression",
        f"{meaning} Null if withheld; errors are null without residuals.",
        number("alpha_daily", Unit.RATIO, f"Intercept: mean daily return that the {others} do not explain."),
        *_errors("of the intercept"),
        number("alpha_annualised", Unit.RATIO, "Intercept x 252."),
        mapping(
            "betas",
            "Regressor to its coefficient.",
            record(
                "",
                "One coefficient.",
                number("beta", Unit.RATIO, "Change of the book's return with that of the regressor."),
                *_errors("of the coefficient"),
                model="Coefficient",
            ),
        ),
        fraction("r_squared", "Share of the variance explained."),
        figure("residual_sharpe", "Intercept over the sample deviation of the residuals, x sqrt(252)."),
        count("lags", "Autocovariances used: floor(4 (observations / 100)^(2/9)), Bartlett weights."),
        nullable=True,
    )


def _profit(name: str, meaning: str) -> Field:
    return number(name, Unit.EQUITY, meaning)


_MODEL: Final = record(
    "",
    "One regression.",
    text("name", "Symbol of the benchmark, or `factors`."),
    text("kind", "A single benchmark, or all factors of the operator's file together.", vocabulary=KINDS),
    text("return_basis", "Price of the returns; null for factors.", vocabulary=RETURN_BASES, nullable=True),
    count("measured", "Sessions on which all factors have a return."),
    regression(
        "OLS of the book's return less the risk-free return of the session, which is also deducted from a benchmark.",
        "factors",
    ),
    record(
        "attribution",
        "Attribution of the profit of the window; the parts add up to `pnl`.",
        _profit("pnl", "Last closing less first opening equity."),
        _profit("risk_free", "Sum over sessions of opening equity x risk-free return."),
        mapping(
            "factors",
            "Factor to the sum of opening equity x its return x coefficient.",
            _profit("", "Profit."),
        ),
        _profit("alpha", "Sum of opening equity x intercept."),
        _profit("residual", "Sum of opening equity x residual."),
        _profit("unmeasured", "Profit of the sessions on which a factor has no return."),
        nullable=True,
    ),
    series(
        "rolling",
        "The same regression over the last `rolling_sessions` measured sessions, at every fifth session, counted back from the last one.",
        day("date", "Its last session."),
        figure("alpha_annualised", "Intercept x 252."),
        mapping("betas", "Factor to its coefficient.", figure("", "Coefficient.")),
        fraction("r_squared", "Share explained.", nullable=True),
        one="One window; coefficients are null if its factors are constant or collinear.",
        model="RollingExposure",
        nullable=True,
    ),
    withheld("Null member to the reason."),
    model="ExposureModel",
)

EXPOSURES: Final = record(
    "exposures",
    "Regressions of a book's returns on benchmarks and factors.",
    text("book", "The book explained."),
    count("observations", "Sessions of the window."),
    *WINDOW_DAYS,
    count("rolling_sessions", "Sessions of a rolling regression."),
    array("models", "Benchmarks by symbol, then the factors.", _MODEL),
    withheld(
        "`benchmarks`, `factors` or `models` to the reason why there is no such model; empty if there are both."
    ),
    model="Exposures",
)

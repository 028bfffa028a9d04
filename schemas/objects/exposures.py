"""What explains the returns of a book."""

from __future__ import annotations

from typing import Any, Final

from schemas.field import Field, array, day, fraction, integer, mapping, number, record, text, withheld
from schemas.objects.summaries import RETURN_BASES, WINDOW_DAYS
from schemas.units import Unit

BENCHMARK: Final = "benchmark"
FACTORS: Final = "factors"
KINDS: Final = (BENCHMARK, FACTORS)
_NULL: Final[dict[str, Any]] = {"nullable": True}


def _errors(of: str) -> tuple[Field, ...]:
    return (
        number(
            "standard_error", Unit.NONE, f"Newey-West error {of}.", unit_text="as the coefficient", **_NULL
        ),
        number("t_stat", Unit.NONE, "Coefficient over its error.", unit_text="standard errors", **_NULL),
        fraction(
            "p_value",
            "Two-sided, from Student's t with sessions - factors - 1 degrees of freedom.",
            **_NULL,
        ),
    )


def _profit(name: str, meaning: str) -> Field:
    return number(name, Unit.EQUITY, meaning)


_MODEL: Final = record(
    "",
    "One regression.",
    text("name", "Symbol of the benchmark, or `factors`."),
    text("kind", "One benchmark by itself, or all factors of the operator's file at once.", vocabulary=KINDS),
    text(
        "return_basis",
        "Prices that the returns of the benchmark are computed from; null of factors.",
        vocabulary=RETURN_BASES,
        **_NULL,
    ),
    integer("measured", Unit.COUNT, "Sessions on which all factors have a return."),
    record(
        "regression",
        "Least squares of the book's return less the risk-free return of the session; that is taken off a benchmark too.",
        number(
            "alpha_daily",
            Unit.RATIO,
            "The intercept: mean return of a session that the factors do not explain.",
        ),
        *_errors("of the intercept"),
        number("alpha_annualised", Unit.RATIO, "The intercept x 252."),
        mapping(
            "betas",
            "Factor to its coefficient.",
            record(
                "",
                "One coefficient.",
                number("beta", Unit.RATIO, "Change of the book's return with that of the factor."),
                *_errors("of the coefficient"),
                model="Exposure",
            ),
        ),
        fraction("r_squared", "Share of the variance that is explained."),
        number(
            "residual_sharpe",
            Unit.RATIO,
            "Intercept over the sample deviation of the residuals, x sqrt(252).",
            **_NULL,
        ),
        integer(
            "lags", Unit.COUNT, "Autocovariances used: floor(4 (sessions / 100)^(2/9)), Bartlett weights."
        ),
        model="ExposureRegression",
        **_NULL,
    ),
    record(
        "attribution",
        "The profit of the window by what explains it; the parts add up to `pnl`.",
        _profit("pnl", "Last closing less first opening equity."),
        _profit("risk_free", "Sum over sessions of opening equity x risk-free return."),
        mapping("factors", "Factor to the same of its return x coefficient.", _profit("", "Profit.")),
        _profit("alpha", "The same of the intercept."),
        _profit("residual", "The same of the residuals."),
        _profit("unmeasured", "Profit of the sessions on which a factor has no return."),
        **_NULL,
    ),
    array(
        "rolling",
        "The same regression over the `rolling_sessions` measured sessions up to each fifth one, the last among them.",
        record(
            "",
            "One of these windows; coefficients are null where the factors do not vary in it or determine one another.",
            day("date", "Its last session."),
            number("alpha_annualised", Unit.RATIO, "The intercept x 252.", **_NULL),
            mapping("betas", "Factor to its coefficient.", number("", Unit.RATIO, "Coefficient.", **_NULL)),
            fraction("r_squared", "Share explained.", **_NULL),
            model="RollingExposure",
        ),
        **_NULL,
    ),
    withheld("Member that is null to the reason."),
    model="ExposureModel",
)

EXPOSURES: Final = record(
    "exposures",
    "What of a book's returns benchmarks and factors explain.",
    text("book", "The book explained."),
    integer("observations", Unit.COUNT, "Sessions of the window."),
    *WINDOW_DAYS,
    integer("rolling_sessions", Unit.COUNT, "Sessions of a rolling regression."),
    array("models", "Benchmarks by symbol, then the factors.", _MODEL),
    withheld(
        "`benchmarks`, `factors` or `models` to why there is no such model; empty where there are both."
    ),
    model="Exposures",
)

"""Payload of exposures: one regression per benchmark, and one on all factors of the operator's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from datasets.figures.exposures import Attribution, Exposures, Rolling, exposures, returns_between
from datasets.figures.newey_west import Coefficient
from datasets.figures.price import Benchmark
from datasets.figures.run_figures import Ledger
from datasets.figures.series import SESSIONS_PER_YEAR, Dates, Matrix, null_if_nan
from datasets.figures.unavailable import Unavailable
from datasets.figures.window import Window, day, observed
from datasets.figures.withheld import settle
from schemas.objects.exposures import BENCHMARK, FACTORS
from schemas.objects.summaries import RETURN_BASES


@dataclass(frozen=True, slots=True)
class Model:
    """The regressors of a book.

    Attributes
    ----------
    name : str
        Symbol of the benchmark, or ``factors``.
    kind : str
        ``benchmark`` or ``factors``.
    factors : tuple of str, length n_factors
        Names of the regressors.
    days : Dates, shape (n_days,)
        Ascending.
    returns : Matrix, shape (n_days, n_factors)
        Daily returns, fractions; NaN stands for null.
    basis : str or None
        Prices behind the returns of a benchmark, one of :data:`schemas.objects.summaries.RETURN_BASES`; None for factors.
    """

    name: str
    kind: str
    factors: tuple[str, ...]
    days: Dates
    returns: Matrix
    basis: str | None = None

    @classmethod
    def of_benchmark(cls, benchmark: Benchmark, window: Window) -> Model:
        """Return the model of a benchmark, by adjusted closes if the window has all of them, else by closes.

        Parameters
        ----------
        benchmark : Benchmark
            Prices of an index; the first return of the window is from the close before it.
        window : Window
            From the first to the last session to explain.

        Returns
        -------
        Model
            With one regressor.
        """
        days, returns, adjusted = benchmark.returns(window.rows(benchmark.dates), before=1)
        basis = RETURN_BASES[0 if adjusted else 1]
        return cls(benchmark.symbol, BENCHMARK, (benchmark.symbol,), days, returns[:, None], basis)

    @classmethod
    def of_factors(cls, names: tuple[str, ...], days: Dates, returns: Matrix) -> Model:
        """Return the model of all factors of a file together.

        Parameters
        ----------
        names : tuple of str, length n_factors
            Names of the factors.
        days : Dates, shape (n_days,)
            Ascending.
        returns : Matrix, shape (n_days, n_factors)
            Daily returns, fractions; NaN stands for null.

        Returns
        -------
        Model
            With one regressor per factor.
        """
        return cls(FACTORS, FACTORS, names, days, returns)


def explain(
    ledger: Ledger, window: Window, models: Sequence[Model], rolling: int, withheld: Mapping[str, str]
) -> dict[str, Any]:
    """Regress the returns of a book on each of several models.

    Parameters
    ----------
    ledger : Ledger
        Sessions of the complete run.
    window : Window
        Days to explain.
    models : sequence of Model
        In the order of the answer.
    rolling : int
        Measured sessions of a rolling regression.
    withheld : Mapping[str, str]
        ``benchmarks`` or ``factors`` -> why none of them is among the models.

    Returns
    -------
    dict
        The members of the interface from ``observations`` on; JSON-ready.
    """
    rows = window.rows(ledger.date)
    sessions = ledger.within(window)
    # A compounded return starts at the session before the window, if there is one.
    begin = max(0, rows.start - 1)
    payloads = []
    for model in models:
        factors = returns_between(model.days, model.returns, ledger.date[begin : rows.stop])
        fitted = exposures(
            sessions, factors[rows.start - begin :], rolling, less_risk_free=model.kind == BENCHMARK
        )
        payloads.append(_model(model, fitted))
    return {
        **observed(sessions.date),
        "rolling_sessions": rolling,
        "models": payloads,
        "withheld": dict(withheld),
    }


def session_window(ledger: Ledger, window: Window) -> Window:
    """Narrow a window to its sessions.

    Parameters
    ----------
    ledger : Ledger
        Sessions of the complete run.
    window : Window
        Any window.

    Returns
    -------
    Window
        From the first to the last session inside; `window` itself if there is none.
    """
    dates = ledger.within(window).date
    return Window(day(dates, 0), day(dates, -1)) if dates.size else window


def _model(model: Model, fitted: Exposures) -> dict[str, Any]:
    return settle(
        {
            "name": model.name,
            "kind": model.kind,
            "return_basis": model.basis,
            "measured": int(np.count_nonzero(fitted.measured)),
            "regression": _regression(model, fitted),
            "attribution": _attribution(model, fitted.attribution),
            "rolling": _rolling(model, fitted.rolling),
        }
    )


def _regression(model: Model, fitted: Exposures) -> dict[str, Any] | Unavailable:
    fit = fitted.fit
    if isinstance(fit, Unavailable):
        return fit
    alpha: dict[str, Any] = _coefficient("alpha_daily", fit.intercept)
    if fit.intercept.t_stat is None:
        alpha["t_stat"] = Unavailable("insufficient_data", "no residuals are left to estimate an error from")
    return {
        **alpha,
        "alpha_annualised": fit.intercept.value * SESSIONS_PER_YEAR,
        "betas": {
            name: _coefficient("beta", slope) for name, slope in zip(model.factors, fit.slopes, strict=True)
        },
        "r_squared": fit.r_squared,
        "residual_sharpe": fitted.residual_sharpe,
        "lags": fit.lags,
    }


def _coefficient(name: str, coefficient: Coefficient) -> dict[str, float | None]:
    value, *error = asdict(coefficient).items()
    return {name: value[1], **dict(error)}


def _attribution(model: Model, attribution: Attribution | Unavailable) -> dict[str, Any] | Unavailable:
    if isinstance(attribution, Unavailable):
        return attribution
    return {**asdict(attribution), "factors": dict(zip(model.factors, attribution.factors, strict=True))}


def _rolling(model: Model, rolling: Rolling | Unavailable) -> list[dict[str, Any]] | Unavailable:
    if isinstance(rolling, Unavailable):
        return rolling
    windows = zip(
        rolling.days,
        rolling.intercept.tolist(),
        rolling.slopes.tolist(),
        rolling.r_squared.tolist(),
        strict=True,
    )
    return [
        {
            "date": str(day),
            "alpha_annualised": null_if_nan(intercept * SESSIONS_PER_YEAR),
            "betas": {name: null_if_nan(beta) for name, beta in zip(model.factors, slopes, strict=True)},
            "r_squared": null_if_nan(share),
        }
        for day, intercept, slopes, share in windows
    ]

"""Exposures of a book's returns to benchmarks and factors: coefficients, residual, attribution of profit, and their payload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from datasets.figures.equity import solvent_returns
from datasets.figures.newey_west import MAX_CONDITION, Regression, regress, regression_payload
from datasets.figures.price import Benchmark
from datasets.figures.run_figures import Ledger
from datasets.figures.series import (
    MIN_HAC_OBSERVATIONS,
    ROUNDING,
    SESSIONS_PER_YEAR,
    Dates,
    Flags,
    Floats,
    Matrix,
    Window,
    cut,
    day,
    observed,
)
from datasets.figures.unavailable import Unavailable, too_few
from datasets.figures.withheld import settle
from schemas.objects.exposures import BENCHMARK, FACTORS
from schemas.objects.summaries import RETURN_BASES

ROLLING_STEP: Final = 5
"""Sessions between two rolling regressions: a week."""


@dataclass(frozen=True, slots=True)
class Factors:
    """Returns of factors that jointly explain a book.

    Attributes
    ----------
    names : tuple of str, length n_factors
        Names of the factors.
    days : Dates, shape (n_days,)
        Ascending.
    returns : Matrix, shape (n_days, n_factors)
        Daily returns, fractions; NaN stands for null.
    """

    names: tuple[str, ...]
    days: Dates
    returns: Matrix


def returns_between(days: Dates, returns: Matrix, sessions: Dates) -> Matrix:
    """Compound the returns of factors between consecutive sessions of a book.

    Parameters
    ----------
    days : Dates, shape (n_days,)
        Ascending, unique.
    returns : Matrix, shape (n_days, n_factors)
        Daily returns, fractions; NaN stands for null.
    sessions : Dates, shape (n_sessions,)
        Sessions of the book, ascending.

    Returns
    -------
    Matrix, shape (n_sessions, n_factors)
        Fractions: the return of the day on the first session, later the return compounded over the days since the previous
        session. NaN if a session or the one before it is not among `days`, or if any of the compounded returns is NaN.
    """
    aligned = np.full((sessions.size, returns.shape[1]), np.nan)
    if not days.size or not sessions.size:
        return aligned
    end = np.searchsorted(days, sessions, side="right")
    among_days = (end > 0) & (days[end - 1] == sessions)
    # After a session that is not among the days, the return would begin before the book's.
    has_return = among_days & np.concatenate([[True], among_days[:-1]])
    aligned[has_return] = returns[end[has_return] - 1]
    begin = np.concatenate([end[:1] - 1, end[:-1]])
    for session in np.flatnonzero(has_return & (end - begin > 1)):
        aligned[session] = np.prod(1.0 + returns[begin[session] : end[session]], axis=0) - 1.0
    return aligned


def exposures(
    ledger: Ledger, names: Sequence[str], factors: Matrix, window: int, *, less_risk_free: bool
) -> dict[str, Any]:
    """Regress the excess return of a book on factors, with Newey-West errors, and attribute its P&L.

    Parameters
    ----------
    ledger : Ledger
        Sessions of the window.
    names : sequence of str, length n_factors
        Names of the factors.
    factors : Matrix, shape (n_sessions, n_factors)
        Return of each factor on each session, a fraction, as :func:`returns_between` returns it; NaN stands for null.
    window : int
        Measured sessions per rolling regression.
    less_risk_free : bool
        Whether to subtract the risk-free return from the factors, as for the return of an index. Returns of long-short
        portfolios are used unchanged.

    Returns
    -------
    dict
        ``measured``, the number of sessions with a return of the book, a risk-free return and a return of every factor;
        ``regression`` over them (:func:`datasets.figures.newey_west.regression_payload`); ``attribution`` of the P&L in
        equity units, whose parts sum to ``pnl``; and ``rolling``, the same regression over rolling windows. Parts are
        Unavailable with too few measured sessions, in the run or in a window, if the returns or a factor are constant, if the
        factors are collinear (:func:`datasets.figures.newey_west.regress`), if a session opens with equity not above 0, and if
        the ledger has no risk-free return.

    References
    ----------
    Jensen (1968), "The Performance of Mutual Funds in the Period 1945-1964", Journal of Finance 23.
    """
    returns = solvent_returns(ledger.starting, ledger.ending)
    if not isinstance(returns, Unavailable) and ledger.date.size and np.isnan(ledger.risk_free).all():
        returns = Unavailable("insufficient_data", "the ledger states no risk-free return to deduct")
    if isinstance(returns, Unavailable):
        return {"measured": 0, **dict.fromkeys(("regression", "attribution", "rolling"), returns)}
    explained = factors - ledger.risk_free[:, None] if less_risk_free else factors
    excess = returns - ledger.risk_free
    measured = ~(np.isnan(excess) | np.isnan(explained).any(axis=1))
    x, y = explained[measured], excess[measured]
    fit = regress(y, x, what="the factors")
    return {
        "measured": int(np.count_nonzero(measured)),
        "regression": regression_payload(fit, names),
        "attribution": fit
        if isinstance(fit, Unavailable)
        else _attribution(ledger, names, y, x, fit, measured=measured),
        "rolling": _rolling(ledger.date[measured], names, y, x, window),
    }


def _attribution(
    ledger: Ledger,
    names: Sequence[str],
    excess: Floats,
    explained: Matrix,
    fit: Regression,
    *,
    measured: Flags,
) -> dict[str, Any] | Unavailable:
    """Attribute the P&L: each part is a return per session times its opening equity, summed over the measured sessions."""
    profit = ledger.ending - ledger.starting
    if np.isnan(profit).any():
        return Unavailable("insufficient_data", "the ledger has sessions without equity")
    opening = ledger.starting[measured]
    slopes = np.array([x.value for x in fit.slopes])
    residuals = excess - fit.intercept.value - explained @ slopes
    return {
        "pnl": float(ledger.ending[-1] - ledger.starting[0]),
        "risk_free": float(opening @ ledger.risk_free[measured]),
        "factors": dict(zip(names, (opening @ explained * slopes).tolist(), strict=True)),
        "alpha": float(opening.sum() * fit.intercept.value),
        "residual": float(opening @ residuals),
        "unmeasured": float(profit[~measured].sum()),
    }


def _rolling(
    days: Dates, names: Sequence[str], outcome: Floats, factors: Matrix, window: int
) -> list[dict[str, Any]] | Unavailable:
    """Regress over rolling windows; null where the returns or a factor are constant or the factors are collinear."""
    n, k = factors.shape
    if n < window:
        return too_few(n, window, "measured sessions")
    if window < MIN_HAC_OBSERVATIONS + k:
        return too_few(window, MIN_HAC_OBSERVATIONS + k, "sessions of a rolling regression")
    ends = np.arange(n - 1, window - 2, -ROLLING_STEP)[::-1]
    rows = ends[:, None] + np.arange(1 - window, 1)
    y, x = outcome[rows], factors[rows]
    y_mean, x_mean = y.mean(axis=1, keepdims=True), x.mean(axis=1, keepdims=True)
    y, x = y - y_mean, x - x_mean
    scale = x.std(axis=1, keepdims=True)
    total = np.square(y).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(scale > ROUNDING, x / scale, 0.0)
        u, singular, v = np.linalg.svd(z, full_matrices=False)
        identified = (singular[:, -1] * MAX_CONDITION >= singular[:, 0]) & (singular[:, -1] > 0)
        identified &= total > ROUNDING**2 * window
        projected = (u.transpose(0, 2, 1) @ y[..., None])[..., 0]
        slopes = (v.transpose(0, 2, 1) @ (projected / singular)[..., None])[..., 0] / scale[:, 0, :]
        intercept = y_mean[:, 0] - np.vecdot(slopes, x_mean[:, 0, :])
        residual = np.square(y - (x @ slopes[..., None])[..., 0]).sum(axis=1)
        r_squared = np.clip(1.0 - residual / total, 0.0, 1.0)
    figures = np.column_stack([intercept * SESSIONS_PER_YEAR, r_squared, slopes])
    served = figures.astype(object)
    served[np.isnan(figures) | ~identified[:, None]] = None
    return [
        {
            "date": str(last),
            "alpha_annualised": alpha,
            "betas": dict(zip(names, betas, strict=True)),
            "r_squared": share,
        }
        for last, (alpha, share, *betas) in zip(days[ends], served.tolist(), strict=True)
    ]


def explain(
    ledger: Ledger | Unavailable,
    window: Window,
    benchmarks: Sequence[Benchmark],
    factors: Factors | None,
    *,
    rolling: int,
    withheld: Mapping[str, str],
) -> dict[str, Any]:
    """Regress the returns of a book on each of several benchmarks, and on the factors together.

    Parameters
    ----------
    ledger : Ledger or Unavailable
        Sessions of the complete run, or the reason why there are none.
    window : Window
        Days to explain.
    benchmarks : sequence of Benchmark
        One regression per benchmark, on adjusted closes if the window has all of them, else on closes. The first return starts
        at the close before the window.
    factors : Factors or None
        The factors of the operator's file.
    rolling : int
        Measured sessions per rolling regression.
    withheld : Mapping[str, str]
        ``benchmarks`` or ``factors`` -> reason why there are none.

    Returns
    -------
    dict
        The members of the payload from ``observations`` onwards; JSON-ready.
    """
    if isinstance(ledger, Unavailable):
        return {
            **observed(np.empty(0, "datetime64[D]")),
            "rolling_sessions": rolling,
            "models": [],
            "withheld": {"models": ledger.text},
        }
    rows = window.rows(ledger.date)
    sessions = cut(ledger, rows)
    # A compounded return starts at the session before the window, if there is one.
    begin = max(0, rows.start - 1)

    def model(name: str, kind: str, basis: str | None, series: Factors) -> dict[str, Any]:
        returns = returns_between(series.days, series.returns, ledger.date[begin : rows.stop])[
            rows.start - begin :
        ]
        fitted = exposures(sessions, series.names, returns, rolling, less_risk_free=kind == BENCHMARK)
        return settle({"name": name, "kind": kind, "return_basis": basis, **fitted})

    models = []
    ends = Window(day(sessions.date, 0), day(sessions.date, -1)) if sessions.date.size else window
    for benchmark in benchmarks:
        quoted = ends.rows(benchmark.dates)
        # Days that the book lacks before the window's first session belong to its return.
        before = quoted.start - Window(day(ledger.date, begin)).rows(benchmark.dates).start
        days, returns, adjusted = benchmark.returns(quoted, before=max(1, before))
        regressor = Factors((benchmark.symbol,), days, returns[:, None])
        models.append(model(benchmark.symbol, BENCHMARK, RETURN_BASES[0 if adjusted else 1], regressor))
    if factors is not None:
        models.append(model(FACTORS, FACTORS, None, factors))
    return {
        **observed(sessions.date),
        "rolling_sessions": rolling,
        "models": models,
        "withheld": dict(withheld),
    }

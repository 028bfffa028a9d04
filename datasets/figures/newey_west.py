"""Newey-West standard errors: t-test of a mean, and ordinary least squares."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from datasets.figures.series import (
    MIN_HAC_OBSERVATIONS,
    SESSIONS_PER_YEAR,
    Floats,
    Matrix,
    constant_rows,
    is_constant,
    measured,
    unmeasurable,
)
from datasets.figures.unavailable import Unavailable, no_variation, too_few


@dataclass(frozen=True, slots=True)
class NeweyWest:
    """Test of the mean of a series against zero, with a heteroskedasticity and autocorrelation consistent (HAC) standard error.

    Attributes
    ----------
    t_stat : float
        Mean over standard error.
    lag : int
        Number of autocovariances used.
    n : int
        Number of observations.
    mean, standard_error : float
        In the unit of the series.
    """

    t_stat: float
    lag: int
    n: int
    mean: float
    standard_error: float

    @property
    def p_value(self) -> float:
        """Two-sided, from Student's t with n - 1 degrees of freedom."""
        from scipy.special import stdtr  # noqa: PLC0415 - slow to load, and the checker of seals does not install it

        return 2.0 * float(stdtr(self.n - 1, -abs(self.t_stat)))


def bandwidth(n: int) -> int:
    """Lag of the rule ``floor(4 (n / 100)^(2/9))``.

    Computed with integers, because the rule gives whole numbers at n = 100 and n = 51,200, where a floating-point power may
    fall just below.

    Parameters
    ----------
    n : int
        Number of observations, at least 0.

    Returns
    -------
    int
        The largest L with ``L^9 100^2 <= 4^9 n^2``.

    References
    ----------
    Newey and West (1994), "Automatic Lag Selection in Covariance Matrix Estimation", Review of Economic Studies 61.

    Examples
    --------
    >>> bandwidth(100), bandwidth(252)
    (4, 4)
    """
    lag = 0
    while (lag + 1) ** 9 * 100**2 <= 4**9 * n**2:
        lag += 1
    return lag


def long_run_variance(residuals: Floats, lag: int) -> float:
    """Bartlett-weighted sum of the autocovariances of a series about its mean.

    ``g_0 + 2 sum_{l=1..lag} (1 - l / (lag + 1)) g_l`` with ``g_l = (1/n) sum_t e_t e_{t-l}``, computed as the equal
    mean square of moving sums over ``lag + 1`` terms (the series padded with zeros at both ends). The second form
    cannot become negative by rounding, unlike the difference of large autocovariances.

    Parameters
    ----------
    residuals : Floats, shape (n_observations,)
        Deviations from the mean in order of date, without NaN; at least one.
    lag : int
        Number of autocovariances to use, at least 0.

    Returns
    -------
    float
        In the square of the unit of the series; at least 0.

    References
    ----------
    Newey and West (1987), "A Simple, Positive Semi-Definite, Heteroskedasticity and Autocorrelation Consistent
    Covariance Matrix", Econometrica 55.
    """
    window_sums = np.convolve(residuals, np.ones(lag + 1))
    return float(np.square(window_sums).sum()) / (residuals.size * (lag + 1))


def newey_west(series: Floats) -> NeweyWest | Unavailable:
    """Test the mean of an autocorrelated series against zero.

    Parameters
    ----------
    series : Floats, shape (n_observations,)
        Weekly ICs or daily returns in order of date. NaN is dropped, so lags count measured observations.

    Returns
    -------
    NeweyWest or Unavailable
        ``insufficient_data`` with fewer than ten observations; ``nonpositive_variance`` when they are constant.

    References
    ----------
    Newey and West (1987), "A Simple, Positive Semi-Definite, Heteroskedasticity and Autocorrelation Consistent
    Covariance Matrix", Econometrica 55. No small-sample correction of the variance.
    """
    values = measured(series)
    reason = unmeasurable(values, MIN_HAC_OBSERVATIONS, "observations")
    if reason is not None:
        return reason
    n, mean = int(values.size), float(values.mean())
    lag = bandwidth(n)
    standard_error = math.sqrt(long_run_variance(values - mean, lag) / n)
    return NeweyWest(mean / standard_error, lag, n, mean, standard_error)


def mean_payload(series: Floats, **labels: str) -> dict[str, Any] | Unavailable:
    """Return the payload of the test of a mean.

    Parameters
    ----------
    series : Floats, shape (n_observations,)
        As for :func:`newey_west`.
    **labels : str
        Further members, such as the source of the series.

    Returns
    -------
    dict or Unavailable
        As declared in :mod:`schemas.metrics.newey_west`; withheld as by :func:`newey_west`, or if a figure is not finite.
    """
    test = newey_west(series)
    if isinstance(test, Unavailable):
        return test
    names = ("t_stat", "p_value", "lag", "n", "mean", "standard_error")
    figures = {name: getattr(test, name) for name in names}
    if not all(math.isfinite(figure) for figure in figures.values()):
        return Unavailable(
            "insufficient_data",
            "the series has values that are not finite, for instance because equity almost fell to 0",
        )
    return {**figures, **labels}


MAX_CONDITION: Final = 1e8
"""Maximum ratio of the largest to the smallest singular value of the standardised regressors. Beyond it, half of the digits of
a double are lost and the coefficients cannot be separated."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of a regression; its errors are None if the residuals are 0.

    Attributes
    ----------
    value : float
        In the unit of the outcome per unit of the regressor.
    standard_error : float or None
        In the same unit.
    t_stat : float or None
        Value over standard error.
    p_value : float or None
        Two-sided, from Student's t with (observations - coefficients) degrees of freedom.
    """

    value: float
    standard_error: float | None
    t_stat: float | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class Regression:
    """Result of a regression.

    Attributes
    ----------
    intercept : Coefficient
        Per observation, in the unit of the outcome.
    slopes : tuple of Coefficient, length n_regressors
        In the order of the regressors.
    r_squared : float
        Explained share of the outcome's variance, between 0 and 1.
    lags : int
        Number of autocovariances used.
    observations : int
        Number of rows.
    residual_deviation : float
        Root of the sum of squared residuals over (observations - coefficients); 0 for a perfect fit.
    """

    intercept: Coefficient
    slopes: tuple[Coefficient, ...]
    r_squared: float
    lags: int
    observations: int
    residual_deviation: float


def regress(outcome: Floats, regressors: Matrix, *, what: str = "the others") -> Regression | Unavailable:
    """Regress a series on others and an intercept, with Newey-West standard errors.

    The lag is that of :func:`bandwidth`, the weights are Bartlett's, and there is no small-sample correction, as in
    :func:`newey_west`.

    Parameters
    ----------
    outcome : Floats, shape (n_observations,)
        In order of date, without NaN.
    regressors : Matrix, shape (n_observations, n_regressors)
        At least one regressor, without NaN.
    what : str
        Name of the regressors in the plural, for the reason.

    Returns
    -------
    Regression or Unavailable
        ``insufficient_data`` with fewer than ten observations plus one per regressor; ``nonpositive_variance`` if the outcome
        or a regressor is constant, or the regressors are collinear.

    References
    ----------
    Newey and West (1987), "A Simple, Positive Semi-Definite, Heteroskedasticity and Autocorrelation Consistent
    Covariance Matrix", Econometrica 55.
    """
    from scipy.special import stdtr  # noqa: PLC0415 - slow to load: programs start without it

    n, k = regressors.shape
    minimum = MIN_HAC_OBSERVATIONS + k
    if n < minimum:
        return too_few(n, minimum, "common sessions")
    if is_constant(outcome) or constant_rows(regressors.T).any():
        return no_variation(f"returns of the alpha, or of one of {what},")
    means, scales = regressors.mean(axis=0), regressors.std(axis=0)
    standardised = (regressors - means) / scales
    singular = np.linalg.svd(standardised, compute_uv=False)
    if singular[-1] * MAX_CONDITION < singular[0]:
        return Unavailable("nonpositive_variance", f"the returns of {what} are collinear")
    design = np.column_stack([np.ones(n), standardised])
    q, r = np.linalg.qr(design)
    fitted = np.linalg.solve(r, q.T @ outcome)
    # Converts coefficients of the standardised regressors to those of the original ones.
    rescale = np.diag(np.concatenate([[1.0], 1.0 / scales]))
    rescale[0, 1:] = -means / scales
    residuals = outcome - design @ fitted
    coefficients = rescale @ fitted
    influence = (q @ np.linalg.inv(r).T @ rescale.T) * residuals[:, np.newaxis]
    lags = bandwidth(n)
    errors = [float(np.sqrt(n * long_run_variance(column, lags))) for column in influence.T]
    exact = is_constant(residuals)

    def coefficient(place: int) -> Coefficient:
        value = float(coefficients[place])
        if exact or errors[place] <= 0:
            return Coefficient(value, None, None, None)
        t_stat = value / errors[place]
        return Coefficient(value, errors[place], t_stat, 2.0 * float(stdtr(n - k - 1, -abs(t_stat))))

    total = outcome - outcome.mean()
    r_squared = 1.0 - float(residuals @ residuals) / float(total @ total)
    slopes = tuple(coefficient(place) for place in range(1, k + 1))
    error = 0.0 if exact else float(np.sqrt(residuals @ residuals / (n - k - 1)))
    return Regression(coefficient(0), slopes, min(1.0, max(0.0, r_squared)), lags, n, error)


def residual_sharpe(fit: Regression) -> float | Unavailable:
    """Return the intercept over the deviation of the residuals, annualised: the appraisal ratio.

    Parameters
    ----------
    fit : Regression
        A regression of daily returns.

    Returns
    -------
    float or Unavailable
        ``nonpositive_variance`` for a perfect fit.

    References
    ----------
    Treynor and Black (1973), "How to Use Security Analysis to Improve Portfolio Selection", Journal of Business 46.
    """
    if fit.residual_deviation <= 0:
        return Unavailable("nonpositive_variance", "the regressors explain the returns completely")
    return fit.intercept.value / fit.residual_deviation * math.sqrt(SESSIONS_PER_YEAR)


def regression_payload(
    fit: Regression | Unavailable, regressors: Iterable[str]
) -> dict[str, Any] | Unavailable:
    """Return the payload of a regression of daily returns.

    Parameters
    ----------
    fit : Regression or Unavailable
        The regression, or the reason why there is none.
    regressors : iterable of str
        Names of the regressors, in their order.

    Returns
    -------
    dict or Unavailable
        As declared by :func:`schemas.objects.exposures.regression`; individual figures may be Unavailable.
    """
    if isinstance(fit, Unavailable):
        return fit
    intercept = _served("alpha_daily", fit.intercept)
    if fit.intercept.t_stat is None:
        intercept["t_stat"] = Unavailable(
            "insufficient_data", "no residuals are left to estimate an error from"
        )
    return {
        **intercept,
        "alpha_annualised": fit.intercept.value * SESSIONS_PER_YEAR,
        "betas": {name: _served("beta", slope) for name, slope in zip(regressors, fit.slopes, strict=True)},
        "r_squared": fit.r_squared,
        "residual_sharpe": residual_sharpe(fit),
        "lags": fit.lags,
    }


def _served(name: str, coefficient: Coefficient) -> dict[str, Any]:
    errors = asdict(coefficient)
    return {name: errors.pop("value"), **errors}

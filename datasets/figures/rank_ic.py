"""Figures of a weekly information coefficient (IC) over a window.

A week without a measurable IC is null and ignored, never counted as 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from datasets.figures.series import (
    WEEKS_PER_YEAR,
    Flags,
    Floats,
    is_constant,
    mean_or_null,
    measured,
    unmeasurable,
)
from datasets.figures.unavailable import Figure, Unavailable, too_few

_WEEKS = "weeks with a measured IC"


def mean_ic(ic: Floats) -> float | Unavailable:
    """Mean of the weekly ICs.

    Parameters
    ----------
    ic : Floats, shape (n_weeks,)
        One IC per week, between -1 and 1; NaN is ignored.

    Returns
    -------
    float or Unavailable
        Between -1 and 1; withheld without a measured week.
    """
    mean = mean_or_null(ic)
    return too_few(0, 1, _WEEKS) if mean is None else mean


def icir(ic: Floats) -> float | Unavailable:
    """Mean over sample deviation of the weekly ICs, annualised.

    Parameters
    ----------
    ic : Floats, shape (n_weeks,)
        One IC per week, between -1 and 1; NaN is ignored.

    Returns
    -------
    float or Unavailable
        Annualised with the square root of 52; withheld with fewer than two measured weeks, or when all are equal.

    References
    ----------
    Grinold and Kahn (2000), "Active Portfolio Management", second edition.
    """
    values = measured(ic)
    reason = unmeasurable(values, 2, _WEEKS, "weekly ICs")
    return reason or float(values.mean() / values.std(ddof=1)) * math.sqrt(WEEKS_PER_YEAR)


def hit_rate(ic: Floats) -> float | Unavailable:
    """Share of the measured weeks whose IC is above zero.

    Parameters
    ----------
    ic : Floats, shape (n_weeks,)
        One IC per week; NaN is ignored, and an IC of exactly 0 is not a hit.

    Returns
    -------
    float or Unavailable
        Fraction between 0 and 1; withheld without a measured week.

    Examples
    --------
    >>> hit_rate(np.array([0.02, -0.01, np.nan, 0.0]))
    0.3333333333333333
    """
    values = measured(ic)
    return float((values > 0).mean()) if values.size else too_few(0, 1, _WEEKS)


def dispersion(ic: Floats) -> float | Unavailable:
    """Sample standard deviation (ddof 1) of the weekly ICs.

    Parameters
    ----------
    ic : Floats, shape (n_weeks,)
        One IC per week, between -1 and 1; NaN is ignored.

    Returns
    -------
    float or Unavailable
        At least 0; 0 when all measured weeks are equal. Withheld with fewer than two measured weeks.
    """
    values = measured(ic)
    if values.size < 2:
        return too_few(int(values.size), 2, _WEEKS)
    return 0.0 if is_constant(values) else float(values.std(ddof=1))


def coverage(n_return_obs: Floats, n_symbols: Floats, traded: Flags) -> float | Unavailable:
    """Mean share of names with a known forward return in the cross-sections of traded weeks.

    Only traded weeks count, because the forward return of a pending week lies in the future. A traded week without any
    return counts as 0.

    Parameters
    ----------
    n_return_obs : Floats, shape (n_weeks,)
        Names with both a score and a forward return, by rebalance week; without NaN.
    n_symbols : Floats, shape (n_weeks,)
        Names in the cross-section, by rebalance week; without NaN.
    traded : Flags, shape (n_weeks,)
        Whether the week's status is ``traded``.

    Returns
    -------
    float or Unavailable
        Fraction between 0 and 1; withheld when no traded week has a name.
    """
    counted = traded & (n_symbols > 0)
    if not np.any(counted):
        return too_few(0, 1, "traded weeks with a cross-section")
    return float((n_return_obs[counted] / n_symbols[counted]).mean())


FROM_CROSS_SECTIONS: Final[Mapping[str, Callable[[Any], Figure]]] = {
    "ic": lambda rows: mean_ic(rows.ic),
    "icir": lambda rows: icir(rows.ic),
    "hit_rate": lambda rows: hit_rate(rows.ic),
    "dispersion": lambda rows: dispersion(rows.ic),
    "coverage": lambda rows: coverage(rows.n_return_obs, rows.n_symbols, rows.traded),
}
"""Statistics of a signal by name: of CrossSections, and those that only need the ic also of a RawSignal."""

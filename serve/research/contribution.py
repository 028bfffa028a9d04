"""What one alpha adds to an equal-weight book of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np

from datasets.maths.conventions import SESSIONS_PER_YEAR
from datasets.maths.equal_weight import FIGURES, book_figures, difference, equal_weight
from datasets.maths.regression import Regression, regress
from datasets.maths.series import Floats
from datasets.maths.unavailable import Unavailable
from serve.research.returns import DailyReturns, Days, span

_BLOCKS: Final = ("with", "without", "marginal")


def contribution(own: DailyReturns, others: Mapping[str, DailyReturns]) -> dict[str, Any]:
    """Measure what an alpha adds, over the sessions that it and all of the others have.

    Parameters
    ----------
    own
        Returns of the alpha in the window.
    others
        Address to the returns of the alphas of the book; at least one.

    Returns
    -------
    dict
        The members of the interface from `observations` on.
    """
    days, table = _common([own, *others.values()])
    blocks = {
        "with": book_figures(equal_weight(table)),
        "without": book_figures(equal_weight(table[1:])),
    }
    shown = {name: {figure: getattr(block, figure) for figure in FIGURES} for name, block in blocks.items()}
    shown["marginal"] = difference(blocks["with"], blocks["without"])
    fit = regress(table[0], table[1:].T)
    return _told(days, shown, fit, tuple(others))


def nothing(reason: Unavailable) -> dict[str, Any]:
    """Return the answer where a run holds nothing to combine."""
    shown = {name: dict.fromkeys(FIGURES, reason) for name in _BLOCKS}
    return _told(np.empty(0, np.int32), shown, reason, ())


def _common(series: Sequence[DailyReturns]) -> tuple[Days, Floats]:
    """Return the days that all have, and the returns on them, a row for each series."""
    days = reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), (x.days for x in series))
    return days, np.array([x.values[np.searchsorted(x.days, days)] for x in series])


def _told(
    days: Days,
    blocks: Mapping[str, Mapping[str, float | Unavailable]],
    fit: Regression | Unavailable,
    others: Sequence[str],
) -> dict[str, Any]:
    withheld: dict[str, str] = {}

    def figure(name: str, value: float | Unavailable) -> float | None:
        if isinstance(value, Unavailable):
            withheld[name] = value.text
            return None
        return value

    first, last = span(days)
    found: dict[str, Any] = {"observations": int(days.size), "first_date": first, "last_date": last}
    for block in _BLOCKS:
        found[block] = {name: figure(f"{block}.{name}", value) for name, value in blocks[block].items()}
    if isinstance(fit, Unavailable):
        withheld["regression"] = fit.text
        found["regression"] = None
    else:
        found["regression"] = _regression(fit, others)
        if fit.intercept.t_stat is None:
            withheld["regression.t_stat"] = (
                "the others explain the alpha wholly, so that no error is left to judge by"
            )
    return {**found, "withheld": withheld}


def _regression(fit: Regression, others: Sequence[str]) -> dict[str, Any]:
    return {
        "alpha_daily": fit.intercept.value,
        "alpha_annualised": fit.intercept.value * SESSIONS_PER_YEAR,
        "t_stat": fit.intercept.t_stat,
        "p_value": fit.intercept.p_value,
        "lags": fit.lags,
        "betas": {
            name: {"beta": slope.value, "t_stat": slope.t_stat}
            for name, slope in zip(others, fit.slopes, strict=True)
        },
        "r_squared": fit.r_squared,
    }

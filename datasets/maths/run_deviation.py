"""How far the Sharpe ratios of runs of very different lengths lie apart."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from datasets.maths.conventions import SESSIONS_PER_YEAR
from datasets.maths.series import Floats

OUTLIER: Final = 3.0
"""Deviations from the centre beyond which a ratio is taken for one at that distance."""
_NORMAL_MAD: Final = 1.482602218505602
"""Deviation of a normal distribution over its median absolute deviation."""


def run_deviation(ratios: Floats, sessions: Floats, length: int) -> float | None:
    """Deviation of the Sharpe ratios that runs would show over records of one length.

    A ratio measured over *T* sessions is off by about ``sqrt(252 / T)``: over ten of them it says next to nothing. So
    runs are weighed by their sessions, the part of their spread that is such error is taken out, and the error of a
    record of the length asked for is put in its place, which is the least that comes out. Runs of that one length
    have their sample deviation.

    A ratio further from the median than three deviations counts as one at that distance, where the deviation is that
    of the others (median absolute deviation x 1.4826) and of its own error together. Medians are weighed as well.

    Parameters
    ----------
    ratios, sessions
        Annualised Sharpe ratio of each run and the returns it was measured over; a run that lacks either (NaN), or has
        no sessions, is left out.
    length
        Sessions of the record that is compared with them, at least 1.

    Returns
    -------
    float or None
        Annualised; None with fewer than two runs.

    References
    ----------
    Error of the ratio without skill: Lo (2002), "The Statistics of Sharpe Ratios", Financial Analysts Journal 58(4).
    Spread beyond the error: DerSimonian and Laird (1986), "Meta-analysis in clinical trials", Controlled Clinical
    Trials 7(3). Median and three deviations: Hampel (1974), "The influence curve and its role in robust estimation",
    JASA 69.
    """
    known = ~np.isnan(ratios) & (sessions > 0)
    ratios, weights = ratios[known], sessions[known] / SESSIONS_PER_YEAR
    if ratios.size < 2:
        return None
    centre = _median(ratios, weights)
    spread = _NORMAL_MAD * _median(np.abs(ratios - centre), weights)
    reach = OUTLIER * np.sqrt(spread**2 + 1 / weights)
    ratios = np.clip(ratios, centre - reach, centre + reach)
    total = float(weights.sum())
    mean = float(weights @ ratios) / total
    excess = float(weights @ (ratios - mean) ** 2) - (ratios.size - 1)
    between = max(0.0, excess / (total - float(weights @ weights) / total))
    return math.sqrt(between + SESSIONS_PER_YEAR / length)


def _median(values: Floats, weights: Floats) -> float:
    """Return the middle of the values by weight; of two in the middle their mean."""
    order = np.argsort(values)
    values, reached = values[order], np.cumsum(weights[order])
    half = reached[-1] / 2
    # Rounding must not decide whether two values share the middle.
    near = 1e-12 * reached[-1]
    low, high = np.searchsorted(reached, [half - near, half + near])
    return float(values[low] + values[min(high, values.size - 1)]) / 2

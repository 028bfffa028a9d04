"""The reference signals: one number per name and week, from closes up to the decision only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from examples.reference_engine.alpha import SignalName
from examples.reference_engine.sessions import Floats

LOOKBACK = {"momentum": 60, "reversal": 5, "low_volatility": 40}
"""Sessions of history before the decision that a score needs."""

MOMENTUM_GAP = 5
"""Number of latest sessions that momentum leaves out, since reversal dominates them."""


def raw_signal(
    kind: SignalName,
    closes: Floats,
    marks: Floats,
    first: npt.NDArray[np.int64],
    decisions: npt.NDArray[np.int64],
) -> Floats:
    """Score every name on every decision day; higher is stronger.

    - momentum: log of the close five sessions ago over the close sixty sessions ago;
    - reversal: minus the log return of the latest five sessions;
    - low volatility: minus the standard deviation (ddof 1) of the latest forty daily log returns.

    Parameters
    ----------
    kind
        The signal.
    closes, marks
        Shape (T, N): closes, with NaN for a missing bar, and the same carried forward.
    first
        Shape (N,): the session on which each name was listed.
    decisions
        Shape (W,): positions of the decision sessions.

    Returns
    -------
    numpy.ndarray
        Shape (W, N); NaN where the name has no close on the day or was listed too recently.
    """
    lookback = LOOKBACK[kind]
    scores = np.full((len(decisions), closes.shape[1]), np.nan)
    for week, day in enumerate(decisions):
        if day < lookback:
            continue
        valid = np.isfinite(closes[day]) & (first <= day - lookback)
        past = np.log(marks[day - lookback : day + 1, valid])
        if kind == "momentum":
            scores[week, valid] = past[-1 - MOMENTUM_GAP] - past[0]
        elif kind == "reversal":
            scores[week, valid] = past[0] - past[-1]
        else:
            scores[week, valid] = -np.diff(past, axis=0).std(axis=0, ddof=1)
    return scores


def smoothed(raw: Floats, half_life_weeks: float | None) -> Floats:
    """Condition a weekly signal by exponential smoothing.

    ``s = a x + (1 - a) s_previous`` with ``a = 1 - 2 ** (-1 / half_life)``. A name's first score stays unsmoothed.
    A week without a score has no smoothed score either, and does not age the memory.

    Parameters
    ----------
    raw
        Shape (W, N), weeks ascending; NaN means no score.
    half_life_weeks
        Weeks after which a score counts half; None returns a copy.

    Returns
    -------
    numpy.ndarray
        Shape (W, N), NaN exactly where `raw` is.
    """
    if half_life_weeks is None:
        return raw.copy()
    gain = 1.0 - 2.0 ** (-1.0 / half_life_weeks)
    out = np.full_like(raw, np.nan)
    memory = np.full(raw.shape[1], np.nan)
    for week, row in enumerate(raw):
        scored = np.isfinite(row)
        blended = np.where(np.isfinite(memory), gain * row + (1.0 - gain) * memory, row)
        memory = np.where(scored, blended, memory)
        out[week] = np.where(scored, memory, np.nan)
    return out

"""Probability that picking the best of several trials overfits the past."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from datasets.maths.series import ROUNDING, Floats
from datasets.maths.unavailable import Unavailable, no_variation, too_few

Matrix: TypeAlias = npt.NDArray[np.float64]
"""Two-dimensional float64 array."""

BLOCKS: Final = 16
"""Blocks of days, as in the paper: 12,870 ways to choose one half of them."""
MIN_BLOCK: Final = 5
"""Days in a block at least; with fewer the halves measure nothing but noise."""
_PART: Final = 2**18
"""Numbers of one intermediate array at most, so that many trials take no more memory than few."""


@dataclass(frozen=True, slots=True)
class Overfitting:
    """Result of a combinatorially symmetric cross-validation.

    Attributes
    ----------
    probability
        Share of the splits in which the trial that was best in sample was at most the median out of sample.
    trials, blocks, splits
        Columns compared; blocks of days; ways to choose one half of the blocks.
    """

    probability: float
    trials: int
    blocks: int
    splits: int


def overfitting(returns: Matrix, blocks: int = BLOCKS) -> Overfitting | Unavailable:
    """Estimate the probability of overfitting from the returns of every trial.

    The days are cut into blocks. For every choice of half of them, the trial with the highest Sharpe ratio inside (the
    first of equal ones) is looked up among the ratios of all trials in the other half: its rank, ties averaged, over
    one more than the trials. The probability is the share of choices where that is at most one half.

    Parameters
    ----------
    returns
        A row a day in order of date, a column a trial; no NaN.
    blocks
        Even, at least 2. Days beyond a multiple of it are left out at the end.

    Returns
    -------
    Overfitting or Unavailable
        ``insufficient_data`` with fewer than two trials or five days a block; ``nonpositive_variance`` when a trial
        does not vary over one half, so that it has no ratio there.

    References
    ----------
    Bailey, Borwein, López de Prado and Zhu (2017), "The Probability of Backtest Overfitting", Journal of
    Computational Finance 20(4).
    """
    days, trials = returns.shape
    if trials < 2:
        return too_few(trials, 2, "sealed trials")
    length = days // blocks
    if length < MIN_BLOCK:
        return too_few(days, MIN_BLOCK * blocks, "days with the returns of every trial")
    # About each trial's own mean, so that the sums of squares lose no digits; ratios get the mean back below.
    centre = returns.mean(axis=0)
    cut = (returns[: length * blocks] - centre).reshape(blocks, length, trials)
    sums, squares = cut.sum(axis=1), np.square(cut).sum(axis=1)
    halves = _halves(blocks)
    below = 0
    step = max(1, _PART // trials)
    for start in range(0, len(halves), step):
        inside = halves[start : start + step]
        fitted, tested = (_ratios(half, sums, squares, centre, length) for half in (inside, 1.0 - inside))
        if fitted is None or tested is None:
            return no_variation("returns of a trial over one half of the days")
        rows = np.arange(len(inside))
        picked = tested[rows, fitted.argmax(axis=1)][:, None]
        # Twice the average rank: those below count twice, equal ones (the trial itself among them) once, and one more.
        twice_rank = 2 * (tested < picked).sum(axis=1) + (tested == picked).sum(axis=1) + 1
        below += int((twice_rank <= trials + 1).sum())
    return Overfitting(below / len(halves), trials, blocks, len(halves))


@lru_cache(maxsize=4)
def _halves(blocks: int) -> Matrix:
    """Return every choice of half of the blocks: a row each, 1 where a block is chosen."""
    chosen = np.array(list(combinations(range(blocks), blocks // 2)))
    found = np.zeros((len(chosen), blocks))
    np.put_along_axis(found, chosen, 1.0, axis=1)
    return found


def _ratios(half: Matrix, sums: Matrix, squares: Matrix, centre: Floats, length: int) -> Matrix | None:
    """Return the Sharpe ratio of each trial over each choice of blocks; None where one does not vary."""
    days = length * half.shape[1] // 2
    mean = half @ sums / days
    variance = (half @ squares - days * mean**2) / (days - 1)
    if (variance <= ROUNDING**2).any():
        return None
    ratios: Matrix = (mean + centre) / np.sqrt(variance)
    return ratios

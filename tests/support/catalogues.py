"""Simulated catalogues of alphas with and without an edge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datasets.figures.false_discoveries import benjamini_hochberg, hac_degrees, mean_p_values
from datasets.figures.newey_west import bandwidth
from datasets.figures.series import Flags, Floats


@dataclass(frozen=True)
class SimulatedCatalogue:
    """Daily returns with one row per alpha, whether each has an edge, and the Newey-West t of each mean."""

    returns: npt.NDArray[np.float64]
    real: Flags
    t_stats: Floats


def draw_catalogue(
    seed: int, *, noise: int, real: int, sessions: int, common: float = 0.0
) -> SimulatedCatalogue:
    """Draw alphas that share a factor without a mean; those with an edge have Sharpe ratios of 1 to 3."""
    draw = np.random.default_rng(seed)
    count = noise + real
    has_edge = np.arange(count) >= noise
    sharpe = np.where(has_edge, draw.uniform(1.0, 3.0, count), 0.0)
    returns = math.sqrt(1 - common**2) * draw.standard_normal((count, sessions))
    returns += common * draw.standard_normal(sessions)
    returns = 0.01 * (returns + sharpe[:, None] / math.sqrt(252))
    return SimulatedCatalogue(returns, has_edge, _t_stats(returns))


def _t_stats(returns: npt.NDArray[np.float64]) -> Floats:
    """Return the statistic of :func:`datasets.figures.newey_west.newey_west` of many rows at once, by autocovariances."""
    n = returns.shape[1]
    mean = returns.mean(axis=1)
    deviations = returns - mean[:, None]
    lag = bandwidth(n)
    variance = np.vecdot(deviations, deviations) / n
    for step in range(1, lag + 1):
        covariance = np.vecdot(deviations[:, step:], deviations[:, :-step]) / n
        variance += 2 * (1 - step / (lag + 1)) * covariance
    t_stats: Floats = mean / np.sqrt(variance / n)
    return t_stats


def share_of_false_discoveries(
    catalogue: SimulatedCatalogue, level: float, q_values: Callable[[Floats], Floats] = benjamini_hochberg
) -> float:
    """Return the share of false discoveries among alphas with a q-value up to a level; 0 without any."""
    n = np.full(catalogue.t_stats.size, float(catalogue.returns.shape[1]))
    result = q_values(mean_p_values(catalogue.t_stats, hac_degrees(n))) <= level
    return float((result & ~catalogue.real).sum() / max(1, result.sum()))

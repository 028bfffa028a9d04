"""How each declared statistic is computed where the run did not seal it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from datasets.maths import rank_ic, ratios
from datasets.maths.conventions import SESSIONS_PER_YEAR
from datasets.maths.series import Floats, mean_or_null
from datasets.maths.unavailable import Unavailable
from datasets.run_metrics.figures import CrossSections, Ledger, RawSignal
from datasets.run_metrics.sources import Sources
from schemas.metrics.core import RANK_IC_RAW
from schemas.metrics.statistic import LEDGER, Statistic

Figure = float | Unavailable

FROM_LEDGER: Final[Mapping[str, Callable[[Ledger], Figure]]] = {
    "information_ratio": lambda rows: ratios.information_ratio(rows.starting, rows.ending),
    "excess_sharpe": lambda rows: ratios.excess_sharpe(rows.starting, rows.ending, rows.risk_free),
    "pnl": lambda rows: ratios.pnl(rows.starting, rows.ending),
    "max_drawdown": lambda rows: ratios.max_drawdown(rows.starting, rows.ending),
    "max_drawdown_pct": lambda rows: ratios.max_drawdown_pct(rows.starting, rows.ending),
    "turnover": lambda rows: ratios.turnover(rows.turnover),
}
"""Core statistics by name."""

FROM_CROSS_SECTIONS: Final[Mapping[str, Callable[[CrossSections], Figure]]] = {
    "ic": lambda rows: rank_ic.mean_ic(rows.ic),
    "icir": lambda rows: rank_ic.icir(rows.ic),
    "hit_rate": lambda rows: rank_ic.hit_rate(rows.ic),
    "dispersion": lambda rows: rank_ic.dispersion(rows.ic),
    "coverage": lambda rows: rank_ic.coverage(rows.n_return_obs, rows.n_symbols, rows.traded),
}
"""Statistics of the conditioned signal by name."""

FROM_RAW: Final[Mapping[str, Callable[[RawSignal], Figure]]] = {
    "ic": lambda rows: rank_ic.mean_ic(rows.ic),
    "icir": lambda rows: rank_ic.icir(rows.ic),
}
"""Statistics of the signal before smoothing by name."""


def derive(statistic: Statistic, sources: Sources) -> float | Unavailable:
    """Compute a statistic from what can be read.

    Parameters
    ----------
    statistic
        A declared one.
    sources
        Cut to the span it is to describe.

    Returns
    -------
    float or Unavailable
        The reason when its data cannot be read or do not determine it.
    """
    figure: Figure
    if statistic.source is LEDGER:
        if isinstance(sources.ledger, Unavailable):
            return sources.ledger
        figure = FROM_LEDGER[statistic.name](sources.ledger)
    elif statistic in RANK_IC_RAW:
        if isinstance(sources.raw, Unavailable):
            return sources.raw
        figure = without_returns(sources.raw.n_return_obs) or FROM_RAW[statistic.name](sources.raw)
    else:
        if isinstance(sources.cross_sections, Unavailable):
            return sources.cross_sections
        rows = sources.cross_sections
        figure = without_returns(rows.n_return_obs) or FROM_CROSS_SECTIONS[statistic.name](rows)
    return figure


def without_returns(n_return_obs: Floats) -> Unavailable | None:
    """Recognise weeks that all lack forward returns: none of their figures is measurable, not even as 0.

    Parameters
    ----------
    n_return_obs
        Names with a signal and a forward return, by week; an empty series is not such a case.
    """
    if n_return_obs.size and not n_return_obs.any():
        return Unavailable("forward_returns_absent", "no forward return is known in the window")
    return None


def annual_risk_free_rate(ledger: Ledger) -> float | None:
    """Return the mean risk-free return of a session, scaled to a year; None without a session that has one."""
    mean = mean_or_null(ledger.risk_free)
    return None if mean is None else mean * SESSIONS_PER_YEAR

"""Computation of statistics from a ledger or from cross-sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from datasets.figures import rank_ic, ratios
from datasets.figures.run_figures import CrossSections, Ledger, RawSignal, Sources
from datasets.figures.unavailable import Figure, Unavailable
from schemas.metrics.core import RANK_IC_RAW
from schemas.metrics.statistic import LEDGER, Statistic

FROM_LEDGER: Final[Mapping[str, Callable[[Ledger], Figure]]] = {
    "information_ratio": lambda rows: ratios.information_ratio(rows.starting, rows.ending),
    "excess_sharpe": lambda rows: ratios.excess_sharpe(rows.starting, rows.ending, rows.risk_free),
    "pnl": lambda rows: ratios.pnl(rows.starting, rows.ending),
    "max_drawdown": lambda rows: ratios.max_drawdown(rows.starting, rows.ending),
    "max_drawdown_pct": lambda rows: ratios.max_drawdown_pct(rows.starting, rows.ending),
    "turnover": lambda rows: ratios.turnover(rows.turnover),
}
"""Statistics of the ledger by name."""
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
    """Compute a statistic from the available data.

    Parameters
    ----------
    statistic : Statistic
        Declaration of the statistic.
    sources : Sources
        Data of the span to describe.

    Returns
    -------
    float or Unavailable
        In the unit of :meth:`Span.unit_of`; withheld if the data cannot be read or do not determine it.

    Raises
    ------
    KeyError
        When no function computes the statistic.
    """
    measures: Mapping[str, Callable[[Any], Figure]]
    part: Ledger | CrossSections | RawSignal | Unavailable
    if statistic.source is LEDGER:
        part, measures = sources.ledger, FROM_LEDGER
    elif statistic in RANK_IC_RAW:
        part, measures = sources.raw, FROM_RAW
    else:
        part, measures = sources.cross_sections, FROM_CROSS_SECTIONS
    if isinstance(part, Unavailable):
        return part
    absent = None if isinstance(part, Ledger) else without_returns(part)
    return absent or measures[statistic.name](part)


def without_returns(weeks: CrossSections | RawSignal) -> Unavailable | None:
    """Return the reason to withhold every figure when no scored name has a forward return.

    Parameters
    ----------
    weeks : CrossSections or RawSignal
        Weekly figures of the signal in the window.

    Returns
    -------
    Unavailable or None
        ``insufficient_data`` if no name has a score, else ``forward_returns_absent``; None if any scored name has a forward
        return, and for a window without weeks.
    """
    if not weeks.n_return_obs.size or weeks.n_return_obs.any():
        return None
    if not weeks.cohort_size.any():
        return Unavailable("insufficient_data", "no name has a score in the window")
    return Unavailable("forward_returns_absent", "no forward return is known in the window")

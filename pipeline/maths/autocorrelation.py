"""Rank correlation of the unconditioned signal with itself some weeks before."""

from __future__ import annotations

import numpy as np
import polars as pl

from pipeline.maths.week_clock import ClockedPanel
from schemas.tables.weekly_signal import LAGS


def rank_autocorrelations(
    rebalances: pl.DataFrame, decisions: pl.DataFrame, panel: ClockedPanel | None = None
) -> pl.DataFrame:
    """Rank correlation of ``raw_score`` with its own value L weeks before, over the names scored in both weeks.

    Parameters
    ----------
    rebalances
        One row per rebalance date: ``date``, ``week_status``.
    decisions
        One row per name and week: ``date``, ``symbol``, ``raw_score``.
    panel
        The column on the clock, where it is at hand already.

    Returns
    -------
    polars.DataFrame
        ``date`` and ``rho_lag1`` to ``rho_lag8``; one row per week on the clock of :mod:`pipeline.maths.week_clock`,
        ascending, and lags counted on that clock. Null where fewer than two names were scored in both weeks, a side
        is constant, or the run began later.
    """
    if panel is None:
        panel = ClockedPanel.of(rebalances, decisions, "raw_score")
    code, scored = panel.codes("raw_score"), ~np.isnan(panel.columns["raw_score"])
    every = np.flatnonzero(scored)
    measured = [panel.clock.select("date")]
    for lag in LAGS:
        place, before = panel.same_name(every, -lag)
        both = scored[before]
        now, before = every[place[both]], before[both]
        measured.append(panel.rank_correlation(f"rho_lag{lag}", code[now], code[before], panel.tick[now]))
    return pl.concat(measured, how="horizontal")

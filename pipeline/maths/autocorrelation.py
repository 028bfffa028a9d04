"""Rank correlation of the unconditioned signal with itself some weeks before."""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import spearman_by_group
from pipeline.maths.week_clock import WeeklyPanel
from schemas.tables.weekly_signal import LAGS


def rank_autocorrelations(
    rebalances: pl.DataFrame, decisions: pl.DataFrame, panel: WeeklyPanel | None = None
) -> pl.DataFrame:
    """Rank correlation of ``raw_score`` with its own value L weeks before, over the names scored in both weeks.

    Parameters
    ----------
    rebalances : polars.DataFrame
        One row per rebalance date: ``date``, ``week_status``.
    decisions : polars.DataFrame
        One row per name and week: ``date``, ``symbol``, ``raw_score``.
    panel : WeeklyPanel or None
        The column on the clock, where it is already computed.

    Returns
    -------
    polars.DataFrame
        ``date`` and ``rho_lag1`` to ``rho_lag8``; one row per week on the clock of :mod:`pipeline.maths.week_clock`,
        ascending, and lags counted on that clock. Null where fewer than two names were scored in both weeks, a side
        is constant, or the run began later.
    """
    if panel is None:
        panel = WeeklyPanel.of(rebalances, decisions, "raw_score")
    code, scored = panel.codes("raw_score"), ~np.isnan(panel.columns["raw_score"])
    rho = {lag: np.full(panel.clock.height, np.nan) for lag in LAGS}
    for weeks, rows in panel.blocks():
        every = rows.start + np.flatnonzero(scored[rows])
        for lag in LAGS:
            place, before = panel.same_name(every, -lag)
            both = scored[before]
            now, before = every[place[both]], before[both]
            week = panel.week_index[now] - weeks.start
            rho[lag][weeks], _ = spearman_by_group(code[now], code[before], week, weeks.stop - weeks.start)
    return panel.weekly({f"rho_lag{lag}": values for lag, values in rho.items()})

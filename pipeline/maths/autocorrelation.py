"""Rank correlation of a column with a signal of earlier weeks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import spearman_by_group
from datasets.figures.series import Floats
from pipeline.maths.week_clock import WeeklyPanel
from schemas.tables.weekly_signal import LAGS


def rank_autocorrelations(panel: WeeklyPanel) -> pl.DataFrame:
    """Compute the rank correlation of ``raw_score`` with its own value L weeks before, over names scored in both weeks.

    Parameters
    ----------
    panel : WeeklyPanel
        With the column ``raw_score``.

    Returns
    -------
    polars.DataFrame
        ``date`` and ``rho_lag1`` to ``rho_lag8``, between -1 and 1; one row per week of the clock
        (:mod:`pipeline.maths.week_clock`), ascending, and lags counted in weeks of the clock. Null where fewer than two names
        were scored in both weeks, either side is constant, or the run began less than L weeks before.
    """
    rho = correlate_with_earlier(panel, "raw_score", "raw_score", LAGS)
    return panel.weekly({f"rho_lag{lag}": values for lag, values in rho.items()})


def correlate_with_earlier(
    panel: WeeklyPanel, outcome: str, signal: str, delays: Sequence[int]
) -> dict[int, Floats]:
    """Compute the rank correlation of a column with an earlier signal of the same names.

    Parameters
    ----------
    panel : WeeklyPanel
        With both columns.
    outcome, signal : str
        Names of the columns, such as ``forward_return`` and ``score``; they may be the same.
    delays : sequence of int
        Weeks of the clock between signal and outcome, at least 1.

    Returns
    -------
    dict of int to Floats, shape (n_weeks,)
        Delay -> Spearman's correlation by week of the outcome, over the names that have both; NaN with fewer than two names
        or when either side is constant.
    """
    outcome_code, signal_code = panel.codes(outcome), panel.codes(signal)
    known, scored = ~np.isnan(panel.columns[outcome]), ~np.isnan(panel.columns[signal])
    correlations = {delay: np.full(panel.clock.height, np.nan) for delay in delays}
    for weeks, rows in panel.blocks():
        with_outcome = rows.start + np.flatnonzero(known[rows])
        for delay in delays:
            position, partner = panel.same_name(with_outcome, -delay)
            both = scored[partner]
            current, before = with_outcome[position[both]], partner[both]
            week = panel.week_index[current] - weeks.start
            correlations[delay][weeks], _ = spearman_by_group(
                outcome_code[current], signal_code[before], week, weeks.stop - weeks.start
            )
    return correlations

"""Rank correlation of the unconditioned signal with returns compounded over several weeks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers, spearman_by_group
from datasets.figures.series import Floats
from pipeline.maths.ordering import order_codes
from pipeline.maths.week_clock import WeeklyPanel
from schemas.tables.weekly_signal import HORIZONS


def horizon_ics(panel: WeeklyPanel) -> pl.DataFrame:
    """IC of ``raw_score`` by holding period.

    For a horizon of K, the signal of a week is correlated with the product of one plus the forward returns of that
    week and of the K - 1 traded weeks after it, less one, over the names for which the signal and every one of the
    K returns are known. The product is that of doubles in the order of the weeks, so that whoever computes it from
    the served returns finds the same ties; over one week it is the forward return as it stands.

    Parameters
    ----------
    panel : WeeklyPanel
        With ``raw_score`` and ``forward_return``.

    Returns
    -------
    polars.DataFrame
        ``date`` and ``ic_h1``, ``ic_h2``, ``ic_h4``, ``ic_h8``; one row per week on the clock of
        :mod:`pipeline.maths.week_clock`, ascending. Null where fewer than two names qualify, a side is constant, or
        the run ends first.
    """
    ic = {horizon: np.full(panel.clock.height, np.nan) for horizon in HORIZONS}
    for weeks, rows in panel.blocks():
        for horizon, base, compounded in _compounded(panel, rows):
            week = panel.week_index[base] - weeks.start
            code = panel.codes("raw_score")[base]
            outcome = panel.codes("forward_return")[base] if horizon == 1 else order_codes(compounded, week)
            ic[horizon][weeks], _ = spearman_by_group(code, outcome, week, weeks.stop - weeks.start)
    return panel.weekly({f"ic_h{horizon}": values for horizon, values in ic.items()})


def _compounded(panel: WeeklyPanel, some: slice) -> Iterator[tuple[int, Integers, Floats]]:
    """Yield each horizon with those of some rows that have their signal and all their returns, and what these make."""
    forward = panel.columns["forward_return"]
    rows = some.start + np.flatnonzero(
        ~(np.isnan(panel.columns["raw_score"][some]) | np.isnan(forward[some]))
    )
    growth = 1 + forward[rows]
    for horizon in range(1, max(HORIZONS) + 1):
        if horizon > 1:
            base, later = panel.same_name(rows, horizon - 1)
            known = ~np.isnan(forward[later])
            base, later = base[known], later[known]
            with np.errstate(over="ignore"):  # infinity still ranks as the largest
                rows, growth = rows[base], growth[base] * (1 + forward[later])
        if horizon in HORIZONS:
            yield horizon, rows, growth - 1

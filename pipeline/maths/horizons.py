"""Rank correlation of the unconditioned signal with returns compounded over several weeks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import Integers, order_codes, spearman_by_group
from datasets.figures.series import Floats
from pipeline.maths.week_clock import WeeklyPanel
from schemas.tables.weekly_signal import HORIZONS


def horizon_ics(panel: WeeklyPanel) -> pl.DataFrame:
    """Compute the IC of ``raw_score`` by holding period.

    For a horizon of K weeks, the signal is rank-correlated with the return compounded over the forward returns of the week
    and of the K - 1 weeks of the clock after it, over the names for which the signal and all K returns are known. Returns are
    multiplied as doubles in week order, so that readers get the same ties from the served returns; over one week the forward
    return is used unchanged.

    Parameters
    ----------
    panel : WeeklyPanel
        With the columns ``raw_score`` and ``forward_return``.

    Returns
    -------
    polars.DataFrame
        ``date`` and ``ic_h1``, ``ic_h2``, ``ic_h4``, ``ic_h8``, between -1 and 1; one row per week of the clock
        (:mod:`pipeline.maths.week_clock`), ascending. Null where fewer than two names qualify, either side is constant, or
        the run ends before the horizon.
    """
    ic = {horizon: np.full(panel.clock.height, np.nan) for horizon in HORIZONS}
    for weeks, rows in panel.blocks():
        for horizon, base, compounded in _compounded(panel, rows):
            week = panel.week_index[base] - weeks.start
            code = panel.codes("raw_score")[base]
            outcome = panel.codes("forward_return")[base] if horizon == 1 else order_codes(compounded, week)
            ic[horizon][weeks], _ = spearman_by_group(code, outcome, week, weeks.stop - weeks.start)
    return panel.weekly({f"ic_h{horizon}": values for horizon, values in ic.items()})


def _compounded(panel: WeeklyPanel, block: slice) -> Iterator[tuple[int, Integers, Floats]]:
    """Yield each horizon, the rows of the block with a signal and all returns of the horizon, and their compounded returns."""
    forward = panel.columns["forward_return"]
    rows = block.start + np.flatnonzero(
        ~(np.isnan(panel.columns["raw_score"][block]) | np.isnan(forward[block]))
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

"""Rank correlation of the unconditioned signal with returns compounded over several weeks."""

from __future__ import annotations

import numpy as np
import polars as pl

from pipeline.maths.ordering import order_codes
from pipeline.maths.week_clock import ClockedPanel
from schemas.tables.weekly_signal import HORIZONS


def horizon_ics(
    rebalances: pl.DataFrame, decisions: pl.DataFrame, panel: ClockedPanel | None = None
) -> pl.DataFrame:
    """IC of ``raw_score`` by holding period.

    For a horizon of K, the signal of a week is correlated with the product of one plus the forward returns of that
    week and of the K - 1 traded weeks after it, less one, over the names for which the signal and every one of the
    K returns are known.

    Parameters
    ----------
    rebalances
        One row per rebalance date: ``date``, ``week_status``.
    decisions
        One row per name and week: ``date``, ``symbol``, ``raw_score``, ``forward_return``.
    panel
        The two columns on the clock, where they are at hand already.

    Returns
    -------
    polars.DataFrame
        ``date`` and ``ic_h1``, ``ic_h2``, ``ic_h4``, ``ic_h8``; one row per week on the clock of
        :mod:`pipeline.maths.week_clock`, ascending. Null where fewer than two names qualify, a side is constant, or
        the run ends first.
    """
    if panel is None:
        panel = ClockedPanel.of(rebalances, decisions, "raw_score", "forward_return")
    forward, code = panel.columns["forward_return"], panel.codes("raw_score")
    rows = np.flatnonzero(~np.isnan(panel.columns["raw_score"]) & ~np.isnan(forward))
    compounded = forward[rows]
    measured = [panel.clock.select("date")]
    for horizon in range(1, max(HORIZONS) + 1):
        if horizon > 1:
            held, later = panel.same_name(rows, horizon - 1)
            known = ~np.isnan(forward[later])
            held, later = held[known], later[known]
            # (1 + r)(1 + f) - 1 without passing through 1 + r, which would round small returns into ties.
            before, factor = compounded[held], forward[later]
            with np.errstate(
                over="ignore"
            ):  # beyond a double's range is still the largest, and ranks as such
                rows, compounded = rows[held], before + factor + before * factor
        if horizon in HORIZONS:
            week = panel.tick[rows]
            outcome = panel.codes("forward_return")[rows] if horizon == 1 else order_codes(compounded, week)
            measured.append(panel.rank_correlation(f"ic_h{horizon}", code[rows], outcome, week))
    return pl.concat(measured, how="horizontal")

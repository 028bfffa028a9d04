"""The delivered score by week: IC by age, IC of each side, rank autocorrelation, and decile returns."""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.figures.rank_correlation import centred_ranks, spearman_by_group
from datasets.figures.series import Floats, Matrix
from datasets.figures.signal import DeliveredSignal
from pipeline.maths.autocorrelation import correlate_with_earlier
from pipeline.maths.deciles import decile_returns
from pipeline.maths.week_clock import WeeklyPanel
from schemas.metrics.families.signal import DELAYS
from schemas.tables.weekly_signal import BUCKETS


def delivered_signal(
    weeks: pl.DataFrame, decisions: pl.DataFrame, raw_deciles: pl.DataFrame | None
) -> DeliveredSignal:
    """Measure the delivered score in every week in which a signal was in force.

    Parameters
    ----------
    weeks : polars.DataFrame
        As :func:`pipeline.maths.weekly_signal.weekly_signal` returns them.
    decisions : polars.DataFrame
        One row per name and week, by date and symbol: ``date``, ``symbol``, ``score``, ``forward_return``.
    raw_deciles : polars.DataFrame or None
        Result of :func:`pipeline.maths.deciles.weekly_deciles`; None when the run did not record the signal before smoothing.

    Returns
    -------
    DeliveredSignal
        One value per week of the clock (:mod:`pipeline.maths.week_clock`), ascending; NaN where fewer than two names qualify
        or either side is constant. A delay of d weeks pairs the forward return of a week with the score of the same name
        d weeks before; the upper and lower sides are the names above and below the median rank of the score among names with
        a return.
    """
    panel = WeeklyPanel.of(weeks, decisions, "score", "forward_return")
    ic = panel.clock.join(weeks.select("date", "ic"), on="date", how="left", maintain_order="left")["ic"]
    score, outcome = panel.codes("score"), panel.codes("forward_return")
    scored = ~np.isnan(panel.columns["score"])
    paired = scored & ~np.isnan(panel.columns["forward_return"])
    upper, lower = (np.full(panel.clock.height, np.nan) for _ in range(2))
    for block, rows in panel.blocks():
        n_weeks = block.stop - block.start
        pairs = rows.start + np.flatnonzero(paired[rows])
        week = panel.week_index[pairs] - block.start
        rank = centred_ranks(score[pairs], week, n_weeks)
        for series, side in ((upper, rank > 0), (lower, rank < 0)):
            names = pairs[side]
            series[block], _ = spearman_by_group(score[names], outcome[names], week[side], n_weeks)
    return DeliveredSignal(
        panel.clock["date"].to_numpy().astype("datetime64[D]"),
        {0: ic.to_numpy(), **correlate_with_earlier(panel, "forward_return", "score", DELAYS[1:])},
        correlate_with_earlier(panel, "score", "score", (1,))[1],
        upper,
        lower,
        decile_returns(decisions),
        None if raw_deciles is None else _by_week(raw_deciles),
    )


def _by_week(deciles: pl.DataFrame) -> Matrix:
    means: Floats = deciles["mean_forward_return"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return means.reshape(-1, BUCKETS)

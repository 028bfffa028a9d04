"""Signal quality by week, one row per rebalance date."""

from __future__ import annotations

import polars as pl

from pipeline.maths.autocorrelation import rank_autocorrelations
from pipeline.maths.deciles import decile_spread, weekly_deciles
from pipeline.maths.horizons import horizon_ics
from pipeline.maths.information_coefficient import weekly_ic
from pipeline.maths.week_clock import WeeklyPanel
from schemas.tables.weekly_signal import WEEKLY_SIGNAL


def weekly_signal(
    rebalances: pl.DataFrame,
    decisions: pl.DataFrame,
    deciles: pl.DataFrame | None = None,
    panel: WeeklyPanel | None = None,
) -> pl.DataFrame:
    """Measure every rebalance week of a run.

    Parameters
    ----------
    rebalances : polars.DataFrame
        One row per rebalance date: ``date``, ``week_status``.
    decisions : polars.DataFrame
        One row per name and week: ``date``, ``symbol``, ``score``; ``forward_return`` and ``raw_score`` where the run
        recorded them. With ``raw_score``, also the two target weights.
    deciles : polars.DataFrame or None
        Result of :func:`pipeline.maths.deciles.weekly_deciles` on the same decisions, where it is already computed;
        computed when absent.
    panel : WeeklyPanel or None
        ``raw_score`` and ``forward_return`` on the clock, where they are already computed.

    Returns
    -------
    polars.DataFrame
        The columns of :data:`schemas.tables.weekly_signal.WEEKLY_SIGNAL`, one row for every rebalance date,
        ascending: pending and skipped weeks too, with counts of 0 and null figures where nothing is measurable.
        Without ``raw_score`` the columns that need it are absent; without ``forward_return`` the figures that need
        it are null.
    """
    if "forward_return" not in decisions.columns:
        decisions = decisions.with_columns(forward_return=pl.lit(None, pl.Float64))
    scores = {"cohort_size": "score", "cohort_size_raw": "raw_score"}
    cohorts = {size: pl.col(name).count() for size, name in scores.items() if name in decisions.columns}
    sizes = decisions.group_by("date").agg(pl.len().alias("n_symbols"), **cohorts)
    parts = [
        sizes.cast({pl.UInt32: pl.Int64}),
        weekly_ic(decisions, "score").rename({"n_pairs": "n_return_obs"}),
    ]
    if "raw_score" in decisions.columns:
        if deciles is None:
            deciles = weekly_deciles(decisions)
        if panel is None:
            panel = WeeklyPanel.of(rebalances, decisions, "raw_score", "forward_return")
        parts += [
            weekly_ic(decisions, "raw_score").rename({"ic": "raw_ic", "n_pairs": "n_return_obs_raw"}),
            decile_spread(deciles),
            horizon_ics(rebalances, decisions, panel),
            rank_autocorrelations(rebalances, decisions, panel),
        ]
    weeks = rebalances.select("date", "week_status")
    for part in parts:
        weeks = weeks.join(part, on="date", how="left")
    columns = [column.name for column in WEEKLY_SIGNAL.columns if column.name in weeks.columns]
    return weeks.with_columns(pl.col(pl.Int64).fill_null(0)).select(columns).sort("date")

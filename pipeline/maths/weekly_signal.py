"""Signal quality by week, one row per rebalance date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from pipeline.maths.autocorrelation import rank_autocorrelations
from pipeline.maths.deciles import decile_spread, weekly_deciles
from pipeline.maths.horizons import horizon_ics
from pipeline.maths.information_coefficient import weekly_ic
from pipeline.maths.week_clock import WeeklyPanel
from schemas.tables.weekly_signal import WEEKLY_SIGNAL


def measured_decisions(decisions: pl.DataFrame, smoothing: Mapping[str, Any] | None) -> pl.DataFrame:
    """Return the cross-sections with forward returns, and with the signal before smoothing if known.

    Parameters
    ----------
    decisions : polars.DataFrame
        Cross-sections with the names of published columns.
    smoothing : Mapping[str, Any] or None
        As sealed; None when the run does not state it.

    Returns
    -------
    polars.DataFrame
        `decisions`, with a null ``forward_return`` added if the run recorded none, and ``raw_score`` equal to ``score`` if the
        run states that it was not smoothed and sealed no raw score.
    """
    if "forward_return" not in decisions.columns:
        decisions = decisions.with_columns(forward_return=pl.lit(None, pl.Float64))
    unsmoothed = smoothing is not None and smoothing.get("applied") is False
    if unsmoothed and "raw_score" not in decisions.columns:
        return decisions.with_columns(raw_score="score")
    return decisions


def weekly_signal(
    rebalances: pl.DataFrame, decisions: pl.DataFrame, deciles: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Measure every rebalance week of a run.

    Parameters
    ----------
    rebalances : polars.DataFrame
        One row per rebalance date: ``date``, ``week_status``.
    decisions : polars.DataFrame
        One row per name and week, as :func:`measured_decisions` returns them: ``date``, ``symbol``, ``score`` and
        ``forward_return``; with ``raw_score``, also the two target weights.
    deciles : polars.DataFrame or None
        Result of :func:`pipeline.maths.deciles.weekly_deciles` on the same decisions; computed when None.

    Returns
    -------
    polars.DataFrame
        The columns of :data:`schemas.tables.weekly_signal.WEEKLY_SIGNAL`, one row per rebalance date, ascending, including
        pending and skipped weeks: a count without names is 0, an undetermined figure is null. Without ``raw_score``
        the columns that need it are absent.
    """
    weeks = weekly_ics(rebalances, decisions)
    if "raw_score" in decisions.columns:
        if deciles is None:
            deciles = weekly_deciles(decisions)
        panel = WeeklyPanel.of(rebalances, decisions, "raw_score", "forward_return")
        for part in (decile_spread(deciles), horizon_ics(panel), rank_autocorrelations(panel)):
            weeks = weeks.join(part, on="date", how="left")
    columns = [column.name for column in WEEKLY_SIGNAL.columns if column.name in weeks.columns]
    return weeks.select(columns).sort("date")


def weekly_ics(rebalances: pl.DataFrame, decisions: pl.DataFrame) -> pl.DataFrame:
    """Count the names of each rebalance week, and correlate its scores with the forward returns.

    Parameters
    ----------
    rebalances, decisions : polars.DataFrame
        As in :func:`weekly_signal`.

    Returns
    -------
    polars.DataFrame
        One row per rebalance date: ``date``, ``week_status``, ``n_symbols``, ``cohort_size``, ``n_return_obs`` and ``ic``;
        the last three also for ``raw_score``, if given.
    """
    weeks = rebalances.select("date", "week_status")
    weeks = weeks.join(decisions.group_by("date").agg(n_symbols=pl.len()), on="date", how="left")
    for prefix, suffix in (("", ""), ("raw_", "_raw")):
        score = f"{prefix}score"
        if score in decisions.columns:
            names = {"ic": f"{prefix}ic", "n_pairs": f"n_return_obs{suffix}"}
            cohort = decisions.group_by("date").agg(pl.col(score).count().alias(f"cohort_size{suffix}"))
            weeks = weeks.join(cohort, on="date", how="left")
            weeks = weeks.join(weekly_ic(decisions, score).rename(names), on="date", how="left")
    return weeks.cast({pl.UInt32: pl.Int64}).with_columns(pl.col(pl.Int64).fill_null(0))

"""The rebalance index and the weekly figures behind the metrics."""

from __future__ import annotations

import polars as pl

from pipeline.maths.deciles import weekly_deciles
from pipeline.maths.week_clock import WeeklyPanel
from pipeline.maths.weekly_signal import weekly_signal


def published_rebalances(rebalances: pl.DataFrame, decisions: pl.DataFrame | None) -> pl.DataFrame:
    """Count the names of every week, 0 where a week has none.

    Without decisions the count is unknown, so its column is left out rather than filled with zeros.
    """
    ordered = rebalances.sort("date")
    if decisions is None:
        return ordered
    sizes = decisions.group_by("date").agg(n_symbols=pl.len().cast(pl.Int64))
    return ordered.join(sizes, on="date", how="left", maintain_order="left").with_columns(
        pl.col("n_symbols").fill_null(0)
    )


def measured_decisions(decisions: pl.DataFrame, *, unsmoothed: bool = False) -> pl.DataFrame:
    """Return the published cross-sections with the signal before smoothing, where it is known.

    Parameters
    ----------
    unsmoothed
        Whether the run says that it was not smoothed: then the score is that signal, where no other was sealed.
    """
    if unsmoothed and "raw_score" not in decisions.columns:
        return decisions.with_columns(raw_score="score")
    return decisions


def weekly_tables(
    rebalances: pl.DataFrame, decisions: pl.DataFrame, panel: WeeklyPanel | None = None
) -> dict[str, pl.DataFrame]:
    """Compute ``weekly_signal`` and, where the signal before smoothing is known, ``weekly_deciles``.

    Parameters
    ----------
    rebalances
        The sealed index.
    decisions
        Result of :func:`measured_decisions`.
    panel
        Its signals and forward returns on the clock, where they are already computed.
    """
    if "raw_score" not in decisions.columns:
        return {"weekly_signal": weekly_signal(rebalances, decisions)}
    if "forward_return" not in decisions.columns:
        decisions, panel = decisions.with_columns(forward_return=pl.lit(None, pl.Float64)), None
    deciles = weekly_deciles(decisions)
    return {"weekly_signal": weekly_signal(rebalances, decisions, deciles, panel), "weekly_deciles": deciles}

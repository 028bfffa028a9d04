"""Published weekly tables: cross-sections, rebalance index and signal quality."""

from __future__ import annotations

import polars as pl

from pipeline.maths.cross_section import cross_section
from pipeline.maths.deciles import weekly_deciles
from pipeline.maths.weekly_signal import weekly_signal
from schemas.tables.decisions import DECISIONS, PUBLISHED_AS


def published_rebalances(rebalances: pl.DataFrame, decisions: pl.DataFrame | None) -> pl.DataFrame:
    """Count the names of every week.

    Without decisions the counts are unknown, and their column is omitted.
    """
    ordered = rebalances.sort("date")
    if decisions is None:
        return ordered
    sizes = decisions.group_by("date").agg(n_symbols=pl.len().cast(pl.Int64))
    return ordered.join(sizes, on="date", how="left", maintain_order="left").with_columns(
        pl.col("n_symbols").fill_null(0)
    )


def weekly_tables(rebalances: pl.DataFrame, decisions: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Compute ``weekly_signal`` and, if the signal before smoothing is known, ``weekly_deciles``.

    Parameters
    ----------
    rebalances
        The sealed index.
    decisions
        Result of :func:`pipeline.maths.weekly_signal.measured_decisions`.
    """
    if "raw_score" not in decisions.columns:
        return {"weekly_signal": weekly_signal(rebalances, decisions)}
    deciles = weekly_deciles(decisions)
    return {"weekly_signal": weekly_signal(rebalances, decisions, deciles), "weekly_deciles": deciles}


def published_decisions(sealed: pl.DataFrame) -> pl.DataFrame:
    """Add direction, confidence, z-score, rank and cohort size, and their raw twins if a raw score was sealed.

    Parameters
    ----------
    sealed
        The sealed table, sorted by date and symbol.

    Returns
    -------
    polars.DataFrame
        Published columns in declared order, rows as given. Sealed ranks are kept, including nulls: the engine
        may have averaged the ranks of components, which no score reproduces.
    """
    frame = _with_ranks(sealed.rename(PUBLISHED_AS, strict=False), "score", "")
    if "raw_score" in frame.columns:
        frame = _with_ranks(frame, "raw_score", "raw_")
    return frame.select(column.name for column in DECISIONS.published_columns if column.name in frame.columns)


def _with_ranks(frame: pl.DataFrame, score: str, prefix: str) -> pl.DataFrame:
    derived = cross_section(frame, score, prefix)
    wanted = [name for name in derived.columns if name in DECISIONS and name not in frame.columns]
    return frame.hstack(derived.select(wanted))

"""Position of each name in its week's cross-section: direction, confidence, z-score, rank."""

from __future__ import annotations

import polars as pl


def cross_section(decisions: pl.DataFrame, score: str = "score", prefix: str = "") -> pl.DataFrame:
    """Compute direction, confidence, z-score and rank of every name within its week.

    Parameters
    ----------
    decisions : polars.DataFrame
        One row per name and week, in any order, with ``date`` and the score column. A name with a null score is not in
        the cohort of the week.
    score : str
        Name of the score column.
    prefix : str
        Prefix of the resulting column names, such as ``raw_``.

    Returns
    -------
    polars.DataFrame
        One row per row of the input, in its order:

        - ``direction``: sign of the score, Int64; 0 only for exactly 0.
        - ``confidence``: absolute score.
        - ``score_z``: score less the mean of the week, in population standard deviations (ddof 0) of the week; null where
          all scores of the week are equal, and where their deviation overflows.
        - ``average_rank``: 1 for the highest score of the week, ties averaged.
        - ``cohort_size``: names with a valid score that week, Int64, on every row of the week.

        All but ``cohort_size`` are null where the score is.
    """
    value = pl.col(score)
    # Sorted, so that the sums for the mean and the deviation do not depend on the order of the rows.
    ascending = value.sort()
    mean, deviation = ascending.mean().over("date"), ascending.std(ddof=0).over("date")
    # Values are compared, because the deviation of equal numbers is often a rounding error rather than 0.
    varies = value.max().over("date") > value.min().over("date")
    columns = decisions.select(
        direction=value.sign().cast(pl.Int64),
        confidence=value.abs(),
        score_z=pl.when(varies & (deviation > 0) & deviation.is_finite()).then((value - mean) / deviation),
        average_rank=value.rank("average", descending=True).over("date"),
        cohort_size=value.count().over("date").cast(pl.Int64),
    )
    return columns.rename(lambda name: prefix + name)

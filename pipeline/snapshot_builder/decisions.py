"""The weekly cross-sections as published: sealed columns, and what is derived from the scores."""

from __future__ import annotations

import polars as pl

from pipeline.maths.cross_section import cross_section
from schemas.tables.decisions import DECISIONS

_RAW_SCORE = "unsmoothed_score"


def published_decisions(sealed: pl.DataFrame) -> pl.DataFrame:
    """Add direction, confidence, z-score, rank and cohort size, and their raw twins where a raw score was sealed.

    Parameters
    ----------
    sealed
        The sealed table, by date and symbol.

    Returns
    -------
    polars.DataFrame
        Published columns in declared order, rows as given. A rank the engine sealed stays as it is, nulls
        included: the engine may have averaged the ranks of components, which no score reproduces.
    """
    frame = _with_ranks(sealed, "score", "")
    if _RAW_SCORE in sealed.columns:
        frame = _with_ranks(frame.rename({_RAW_SCORE: "raw_score"}), "raw_score", "raw_")
    return frame.select(column.name for column in DECISIONS.published_columns if column.name in frame.columns)


def _with_ranks(frame: pl.DataFrame, score: str, prefix: str) -> pl.DataFrame:
    derived = cross_section(frame, score, prefix)
    wanted = [name for name in derived.columns if name in DECISIONS and name not in frame.columns]
    return frame.hstack(derived.select(wanted))

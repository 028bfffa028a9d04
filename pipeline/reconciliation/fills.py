"""Sessions and instants of fills."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import polars as pl

from schemas.tables.books import base_book

FILLS: Final = ("book", "timestamp", "decision_at")
"""Key of fills of a book that share instant and decision."""


def fill_sessions(moments: pl.DataFrame, leaving_out: Collection[str] = ()) -> pl.DataFrame:
    """Return ``book`` and ``date`` of the session that each fill belongs to, with a null book for variants in `leaving_out`.

    Parameters
    ----------
    moments : polars.DataFrame
        ``book`` and ``timestamp`` of fills.
    leaving_out : collection of str
        Suffixes of trade-only variants.

    Returns
    -------
    polars.DataFrame
        One row per row of `moments`, in its order.
    """
    session_book = {
        name: None if name != base_book(name) and name.endswith(tuple(leaving_out)) else base_book(name)
        for name in moments["book"].unique()
    }
    return moments.select(
        book=pl.col("book").replace_strict(session_book, return_dtype=pl.String),
        date=pl.col("timestamp").dt.date(),
    )


def fill_instants(moments: pl.DataFrame, sessions: pl.Series) -> pl.DataFrame:
    """Find the instant of the fills of each decision.

    Parameters
    ----------
    moments : polars.DataFrame
        ``book``, ``timestamp`` and ``decision_at`` of fills; those of trade-only variants do not count.
    sessions : polars.Series
        Days of the ledger's sessions.

    Returns
    -------
    polars.DataFrame
        ``date`` of the decision, ascending, and the instant ``at``, for decisions whose fills all share one instant in the
        first session after the decision.
    """
    own = [book for book in moments["book"].unique() if base_book(book) == book]
    return (
        moments.filter(pl.col("book").is_in(own))
        .group_by(date="decision_at")
        .agg(at=pl.col("timestamp").min(), last=pl.col("timestamp").max())
        .filter(pl.col("at") == pl.col("last"))
        .sort("date")
        .join_asof(
            sessions.unique().sort().to_frame("session"),
            left_on="date",
            right_on="session",
            strategy="forward",
            allow_exact_matches=False,
        )
        .filter(pl.col("at").dt.date() == pl.col("session"))
        .select("date", "at")
    )

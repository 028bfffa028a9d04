"""Sessions and instants of fills."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import polars as pl

from schemas.tables.books import base_book

FILLS: Final = ("book", "timestamp", "decision_at")
"""Key of fills of a book that share instant and decision."""
SAME_PRICE: Final = 1e-9
"""Relative tolerance of the mids of a name at an instant."""


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


def single_mids(fills: pl.DataFrame) -> pl.DataFrame:
    """Return the mid of each name that has one at an instant; the rule trades.one_price reports two.

    Parameters
    ----------
    fills : polars.DataFrame
        ``timestamp``, ``code`` of the name and ``mid_price``.

    Returns
    -------
    polars.DataFrame
        The same columns, one row per instant and name, in any order.
    """
    mid = pl.col("mid_price")
    mids = fills.group_by("timestamp", "code").agg(mid.last(), low=mid.min(), high=mid.max())
    return mids.filter(pl.col("high") - pl.col("low") <= SAME_PRICE * pl.col("high")).drop("low", "high")

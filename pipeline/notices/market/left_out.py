"""Notice on names that a run stops scoring although the market has prices of them."""

from __future__ import annotations

import polars as pl

from datasets.figures.rank_correlation import Integers
from pipeline.notices.correlations import judge_mean
from pipeline.notices.market.price_file import MarketPrices, first_session_after
from pipeline.notices.market.run import CELL
from pipeline.notices.outcome import NoticeOutcome
from schemas.notices.market import MAX_LEFT_OUT


def judge_left_out(scored: pl.DataFrame, market: MarketPrices, days: Integers) -> NoticeOutcome:
    """Judge whether names without a score would have lost in the week, by the side of their score of the week before.

    Parameters
    ----------
    scored
        ``symbol``, ``date`` and ``score``, without nulls.
    market, days
        Prices, and the days on which names of the run have them.
    """
    weeks = scored["date"].unique().sort().to_frame().with_columns(after=pl.col("date").shift(-1))
    side = (pl.col("score") - pl.col("score").median().over("date")).sign()
    before = scored.with_columns(side=side).join(weeks, on="date").drop_nulls("after")
    expected = before.select("symbol", "side", date="after")
    names = expected.join(
        scored.select(*CELL, scored=pl.lit(value=True)), on=CELL, how="full", coalesce=True
    ).join(weeks, on="date")
    # The returns run from the first close after the decision to the first one after the next.
    rows = names.with_columns(
        pl.Series("entry", first_session_after(names["date"], days)),
        pl.Series("maturity", first_session_after(names["after"].fill_null(names["date"]), days)),
    ).drop_nulls("after")
    rows = market.join(market.join(rows, "entry", "_before"), "maturity")
    total = pl.coalesce(pl.col("adjustment") / pl.col("adjustment_before"), 1.0)
    rows = rows.with_columns(earned=pl.col("close") / pl.col("close_before") * total).drop_nulls("earned")
    rank, number = pl.col("earned").rank().over("date"), pl.len().over("date")
    out = pl.col("scored").is_null()
    lost = -pl.col("side") * (2 * rank - number - 1) / (number - 1)
    # A day without data leaves out most names at once, whose returns have one cause.
    by_week = (
        rows.with_columns(lost=lost, share=out.mean().over("date"))
        .filter(out & (pl.col("share") <= MAX_LEFT_OUT) & (number > 1))
        .sort("date", "symbol")  # so that every build sums in the same order
        .group_by("date", maintain_order=True)
        .agg(pl.col("lost").mean())
    )
    return judge_mean(
        "market.left_out",
        by_week["lost"].to_numpy(),
        "In {number} weeks, names without a score would have lost: between the middle of the week (0) and its largest loss for the side of "
        "their score of the week before (1) their returns in the market rank at {mean:.2f} on average.",
        "a name that was scored the week before and has prices of the market",
    )

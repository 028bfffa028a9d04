"""Fills of a run, compared with the opens and closes of the market."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import polars as pl

from pipeline.notices.correlations import judge_mean
from pipeline.notices.market.price_file import MarketPrices
from pipeline.notices.market.run import PRICED, WEEK
from pipeline.notices.outcome import NoticeOutcome, first_noticed, judged, not_checked
from schemas.notices.catalogue import CELL_TOLERANCE
from schemas.notices.market import BETTER_SETTLEMENT, JUMP, MAX_MID_GAP, WITHIN_DAY
from schemas.notices.notice import BASIS_POINTS
from schemas.plurals import counted

FILL_NOTICES: Final = ("market.fills", "market.foresight", "market.settlements")


def join_marks(fills: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Add the ``mid`` of each fill at the level of the market, by the marks of the name on the same or the previous session."""
    level = marks.select("symbol", "session", level=pl.col("close") / pl.col("mark_price"))
    earlier = level.with_columns(pl.col("session") + 1)
    rows = fills.join(level, on=("symbol", "session"), how="left").join(
        earlier, on=("symbol", "session"), how="left", suffix="_before"
    )
    return rows.with_columns(mid=pl.col("mid_price") * pl.coalesce("level", "level_before"))


def judge_settlements(settled: pl.DataFrame, market: MarketPrices) -> NoticeOutcome:
    """Count the names that are settled at a better price than the market's last one, or while it has further prices."""
    notice, rows = "market.settlements", settled.with_row_index("fill")
    around = pl.DataFrame({"offset": range(-WEEK.days, WEEK.days + 1)})
    days = rows.join(around, how="cross").with_columns(day=pl.col("date") + pl.duration(days="offset"))
    priced = market.join(days, "day").drop_nulls("close").sort("offset")
    if priced.is_empty():
        return not_checked(notice, "no settlement has a price of the market in the weeks around it")
    gain = pl.col("quantity").sign() * (pl.col("close") / pl.col("mid") - 1)
    last = priced.filter(pl.col("offset") <= 0).group_by("fill", maintain_order=True).last()
    false = pl.concat(
        [last.filter(gain > BETTER_SETTLEMENT), priced.filter(pl.col("offset") > 0)], how="diagonal"
    )
    names = false["symbol"].unique().sort()
    return judged(
        notice,
        float(names.len()),
        f"{counted(names.len(), 'name is', 'names are')} settled better than at the last price of the market, or while it has further prices: "
        f"{', '.join(names.head(3))}.",
        settlements=settled.height,
    )


def are_within_day(fills: pl.DataFrame) -> bool:
    """Return whether fills are at neither the open nor the close of the market, but for instance at averages of a day."""
    size = _median((fills["open"] / fills["close"] - 1).abs())
    gaps = [_median((fills["mid"] / fills[price] - 1).abs()) for price in ("open", "close")]
    return math.isfinite(size) and min(gaps) > WITHIN_DAY * size


def judge_fills(fills: pl.DataFrame) -> NoticeOutcome:
    """Compare mids with the open or the close of the market, whichever is nearer; fills between decisions are judged separately, too."""
    notice = "market.fills"
    gaps = fills.select(
        "adjusting",
        "session",
        pl.col("quantity").sign().alias("side"),
        open=pl.col("mid") / pl.col("open") - 1,
        close=pl.col("mid") / pl.col("close") - 1,
    )
    distance = {price: _median(gaps[price].abs()) for price in ("open", "close")}
    nearer = min(distance, key=distance.__getitem__)
    if math.isinf(distance[nearer]):
        return not_checked(notice, "the prices cover no fill")
    # Without opens, fills at the open of calm names could pass for fills at the close.
    if are_within_day(fills) or distance[nearer] > (
        MAX_MID_GAP if math.isfinite(distance["open"]) else CELL_TOLERANCE
    ):
        return not_checked(notice, "fills are at neither the open nor the close of the prices")
    gap = gaps[nearer]
    improvement = (-gaps["side"] * gap * BASIS_POINTS).set(gap.abs() >= JUMP, None).fill_null(math.nan)
    of_all, of_some = (
        judge_mean(
            notice,
            improvement.filter(chosen).to_numpy(),
            f"{{number:,}} {noun} are on average {{mean:.1f}} bp better than the market.",
            PRICED,
            period="fill",
            groups=gaps["session"].filter(chosen).to_numpy(),
        )
        for chosen, noun in (
            (pl.repeat(True, gap.len(), eager=True), "fills"),
            (gaps["adjusting"], "fills between decisions"),
        )
    )
    return first_noticed(of_all, of_some)


def judge_foresight(fills: pl.DataFrame) -> NoticeOutcome:
    """Judge the gain of fills between decisions up to the close of the market, which a run has no mark of once a position is closed."""
    gain = (pl.col("quantity").sign() * (pl.col("close") / pl.col("mid") - 1)).clip(-JUMP, JUMP)
    known = fills.select("session", gain=gain * BASIS_POINTS).drop_nulls()
    gains, sessions = (known[name].to_numpy() for name in ("gain", "session"))
    message = (
        "{number:,} fills between decisions gained {mean:.0f} bp on average until the close of the market."
    )
    return judge_mean("market.foresight", gains, message, PRICED, period="fill", groups=sessions)


def _median(values: pl.Series) -> float:
    """Return the median; infinite where there is no value."""
    known = values.drop_nulls().to_numpy()
    return float(np.median(known)) if known.size else math.inf

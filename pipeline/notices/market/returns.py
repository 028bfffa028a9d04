"""Marks and forward returns of a run, compared with the returns of the market."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import polars as pl

from datasets.figures import ratios
from datasets.figures.rank_correlation import Integers
from datasets.figures.unavailable import Unavailable
from pipeline.notices.correlations import judge_mean
from pipeline.notices.market.price_file import MarketPrices, first_session_after
from pipeline.notices.market.run import CELL, PRICED, MarketRun
from pipeline.notices.outcome import NoticeOutcome, first_noticed, judged, none_checked, not_checked
from schemas.notices.catalogue import CELL_TOLERANCE, MIN_SHARED_CELLS
from schemas.notices.market import (
    BEYOND_DAY,
    DIVIDEND_SESSIONS,
    DIVIDENDS,
    FORWARD_TOLERANCE,
    JUMP,
    LIMIT,
    MAX_CONTAINED,
    MIN_NAME_SESSIONS,
    MIN_TAIL,
    TAIL_SHARE,
    TAIL_TOLERANCE,
)
from schemas.notices.notice import BASIS_POINTS

FORWARD_NOTICES: Final = ("market.forward_returns", "market.forward_bias", "market.forward_drift")
_LIMITED: Final = pl.col("excess").clip(-LIMIT, LIMIT) * BASIS_POINTS
"""The excess of :func:`_compare` in basis points, clipped so that single sessions and dividends hardly matter."""


def judge_marks(marks: pl.DataFrame, run: MarketRun) -> Iterator[NoticeOutcome]:
    """Judge the mark returns from session to session; the marks are sorted by name and session."""
    steps = marks.with_columns(pl.all().shift(1).name.suffix("_before")).filter(
        (pl.col("symbol") == pl.col("symbol_before")) & (pl.col("session") == pl.col("session_before") + 1)
    )
    if run.splits is not None:
        steps = steps.join(run.splits, on=CELL, how="anti")
    compared = _compare(steps, pl.col("mark_price") / pl.col("mark_price_before") - 1, "close")
    yield _judge_share("market.prices", compared, "returns of marks")
    by_name = compared.group_by("symbol").agg(
        cells=pl.len(), contradicted=pl.col("wrong").mean(), drift=_LIMITED.mean()
    )
    known = by_name.filter(pl.col("cells") >= MIN_NAME_SESSIONS)
    for notice, figure, message in (
        (
            "market.one_name",
            "contradicted",
            "The market contradicts {:.0%} of the {:,} returns of marks of {}.",
        ),
        (
            "market.drift",
            "drift",
            "The marks drift from the market by {:.1f} bp a session in {:,} sessions of {}.",
        ),
    ):
        if known.is_empty():
            yield not_checked(notice, f"the prices cover {MIN_NAME_SESSIONS} mark returns of no name")
            continue
        worst = known.sort(pl.col(figure).abs(), "symbol").row(-1, named=True)
        yield judged(
            notice,
            abs(worst[figure]),
            message.format(worst[figure], worst["cells"], worst["symbol"]),
            symbol=worst["symbol"],
            cells=worst["cells"],
            names=known.height,
        )
    yield _judge_ratio(compared, run)
    yield _judge_dividends(compared, run)
    yield _judge_jumps(compared)


def _judge_ratio(compared: pl.DataFrame, run: MarketRun) -> NoticeOutcome:
    """Judge the information ratio of each book against the one it would have had at the prices of the market."""
    notice, outcomes = "market.ratio", []
    cell = ("symbol", "session")
    for book, (equity, weights) in run.books.items():
        kept = weights.with_columns(pl.col("session") + 1).join(weights, on=cell, how="semi")
        by_session = kept.join(compared, on=cell).group_by("session")
        gains = by_session.agg(gain=(pl.col("weight") * _LIMITED).sum() / BASIS_POINTS)
        rows = equity.join(gains, on="session", how="left").sort("session").fill_null(0.0)
        starting, ending, gain = (
            rows[name].to_numpy() for name in ("starting_equity", "ending_equity", "gain")
        )
        own, at_market = (ratios.information_ratio(starting, x) for x in (ending, ending - starting * gain))
        if not (isinstance(own, Unavailable) or isinstance(at_market, Unavailable)):
            message = f"{book} has an information ratio of {own:.2f} a year, and of {at_market:.2f} at the prices of the market."
            outcomes.append(judged(notice, own - at_market, message, book=book))
    if not compared.height or not outcomes:
        return not_checked(
            notice, "the prices cover no return of a mark, or no book has an information ratio"
        )
    return max(outcomes, key=lambda outcome: outcome.value or 0.0)


def _judge_dividends(compared: pl.DataFrame, run: MarketRun) -> NoticeOutcome:
    """Judge which dividends the marks of each book contain: those of long positions once, and those of short ones as often."""
    notice, before = "market.dividends", pl.col("close") / pl.col("close_before")
    dividend = before * (pl.col("adjustment") / pl.col("adjustment_before") - 1)
    contained = (1 + pl.col("nearest") + pl.col("excess") - before) / dividend
    paying = compared.filter(dividend.is_between(*DIVIDENDS)).select(
        "symbol", "session", contained=contained.clip(-MAX_CONTAINED, MAX_CONTAINED)
    )
    outcomes = []
    for book, (_, weights) in run.books.items():
        held = weights.with_columns(pl.col("session") + 1, side=pl.col("weight").sign())
        of_book = paying.join(held, on=("symbol", "session"))
        long, short = (of_book.filter(pl.col("side") == side) for side in (1, -1))
        # Vendors may change during a run, so only dividends of the same time are compared.
        by_period = [
            side.sort("session", "symbol")
            .group_by(pl.col("session") // DIVIDEND_SESSIONS, maintain_order=True)
            .agg(pl.col("contained").mean())
            for side in (long, short)
        ]
        pairs = by_period[0].join(by_period[1], on="session", suffix="_short", maintain_order="left")
        for values, period, text in (
            (
                pairs["contained"] - pairs["contained_short"],
                "period",
                "long positions earn a part of each dividend that is larger by {mean:.0%} than the one that short positions pay",
            ),
            (
                long["contained"] - 1,
                "dividend",
                "long positions earn each dividend and {mean:.0%} of it again",
            ),
        ):
            outcomes.append(
                judge_mean(
                    notice,
                    values.to_numpy(),
                    f"By the marks of {book}, {text}, over {{number:,}} {period}s.",
                    "a dividend between the prices with and without dividends",
                    period=period,
                )
            )
    return first_noticed(*outcomes)


def _judge_jumps(compared: pl.DataFrame) -> NoticeOutcome:
    if compared.is_empty():
        return not_checked("market.jumps", "the prices cover no return of a mark")
    ratio = (1 + pl.col("nearest") + pl.col("excess")) / (1 + pl.col("nearest"))
    jumps = compared.select(*CELL, size=ratio.log().abs()).filter(pl.col("size") > JUMP).sort("size", *CELL)
    last = jumps.row(-1) if jumps.height else ("", "")
    message = f"{jumps.height} of {compared.height:,} marks move by more than a fifth against the market, {last[0]} on {last[1]} by the most."
    return judged("market.jumps", float(jumps.height), message, cells=compared.height)


def judge_forward_returns(
    forward: pl.DataFrame, market: MarketPrices, days: Integers, *, within_day: bool = False
) -> Iterator[NoticeOutcome]:
    """Judge the forward returns of all names between opens of the market, or between closes.

    Parameters
    ----------
    forward
        As in :class:`~pipeline.notices.market.run.MarketRun`.
    market
        Prices of the market.
    days
        Days with prices of the run's names.
    within_day
        Whether the run is filled at neither the open nor the close, for instance at averages of a day. Its forward returns then lie
        between any two of these prices.
    """
    rows = forward
    for day, after, suffix in (("entry", "date", "_before"), ("maturity", "following", "")):
        # A day that is not sealed is taken to be the first session after the decision.
        known = first_session_after(rows[after], days)
        rows = market.join(rows.with_columns(pl.col(day).fill_null(known)), day, suffix)
    own = pl.col("forward_return")
    at_open, at_close = (_compare(rows, own, price, FORWARD_TOLERANCE) for price in ("open", "close"))
    # Opens and closes of calm names differ by less than the tolerance, which is for opens of another vendor.
    apart = at_close["excess"].abs() > CELL_TOLERANCE
    if at_open.is_empty() and at_close.height and _share(apart) > 1 / 2:
        reason = "the prices have no open, and forward returns do not match the closes"
        yield from none_checked(FORWARD_NOTICES, reason)
        return
    if within_day:
        compared = _compare(rows, own, None, FORWARD_TOLERANCE)
    else:
        compared = min((at_open, at_close), key=lambda x: _share(x["wrong"]) if x.height else math.inf)
    yield _judge_share(FORWARD_NOTICES[0], compared, "forward returns")
    excess, side = (compared.select(column).to_series().to_numpy() for column in (_LIMITED, "side"))
    message = "{number:,} forward returns differ from the market by {mean:.1f} bp on average"
    towards = ", upwards where the score is above the median of its week and downwards where it is below."
    yield judge_mean(
        FORWARD_NOTICES[1], (excess * side)[side != 0], message + towards, PRICED, period="return"
    )
    yield judge_mean(FORWARD_NOTICES[2], excess, f"{message}.", PRICED, period="return", either_sign=True)


def _compare(
    rows: pl.DataFrame, own: pl.Expr, price: str | None, tolerance: float = CELL_TOLERANCE
) -> pl.DataFrame:
    """Add the ``nearest`` return of the market, the ``excess`` over it, and whether the return of the run is ``wrong``.

    The nearest return lies between those with and without dividends.

    Parameters
    ----------
    rows
        With a price and ``adjustment`` of the market, and their previous values ``…_before``; rows without a price are dropped.
    own
        Return of the run.
    price
        ``open`` or ``close``; None for returns from any price of the first day to any of the last one.
    tolerance
        Absolute excess above which a return is ``wrong``.
    """
    (lowest_before, highest_before), (lowest, highest) = (
        _prices_of_day(price, suffix) for suffix in ("_before", "")
    )
    dividends = pl.col("adjustment") / pl.col("adjustment_before")
    least = lowest / highest_before * pl.min_horizontal(dividends, 1.0) - 1
    most = highest / lowest_before * pl.max_horizontal(dividends, 1.0) - 1
    return (
        rows.filter((lowest / lowest_before).is_not_null())
        .with_columns(nearest=own.clip(least, most))
        .with_columns(excess=own - pl.col("nearest"))
        .with_columns(wrong=pl.col("excess").abs() > tolerance)
    )


def _prices_of_day(price: str | None, suffix: str) -> tuple[pl.Expr, pl.Expr]:
    """Return one price of a day twice, or the lowest and the highest one that a day with this open and close usually has."""
    if price is not None:
        return pl.col(price + suffix), pl.col(price + suffix)
    prices = f"open{suffix}", f"close{suffix}"
    lowest, highest = pl.min_horizontal(prices), pl.max_horizontal(prices)
    beyond = BEYOND_DAY * (highest - lowest)
    return lowest - beyond, highest + beyond


def _judge_share(notice: str, compared: pl.DataFrame, what: str) -> NoticeOutcome:
    """Judge the share of returns that the market contradicts: of all, of its largest falls and of its largest rises."""
    cells = compared.height
    if cells < MIN_SHARED_CELLS:
        return not_checked(notice, f"the prices cover {cells} {what}; {MIN_SHARED_CELLS} are needed")
    tail = max(MIN_TAIL, int(TAIL_SHARE * cells))
    excess = compared.select("nearest", pl.col("excess").abs()).sort("nearest")["excess"]
    share = _share(compared["wrong"])
    of_falls, of_rises = (_share(some > TAIL_TOLERANCE) for some in (excess.head(tail), excess.tail(tail)))
    message = f"The market contradicts {share:.1%} of {cells:,} {what}, {of_falls:.1%} of those in its largest falls and {of_rises:.1%} in its largest rises."
    return judged(
        notice, max(share, of_falls, of_rises), message, cells=cells, contradicted=round(share * cells)
    )


def _share(flags: pl.Series) -> float:
    return float(flags.to_numpy().mean())

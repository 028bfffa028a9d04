"""Notices from the comparison of all names and sessions of a run with market prices."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import numpy as np
import polars as pl

from datasets.figures import ratios
from datasets.figures.rank_correlation import Integers
from datasets.figures.unavailable import Unavailable
from pipeline.notices.correlations import judge_mean
from pipeline.notices.left_out import judge_left_out
from pipeline.notices.market_file import MarketPrices, first_session_after, read_prices
from pipeline.notices.outcome import NoticeOutcome, first_noticed, judged, not_checked
from pipeline.notices.rows import ReadColumns, to_days
from schemas.notices import BASIS_POINTS
from schemas.notices.catalogue import CELL_TOLERANCE, MIN_SHARED_CELLS
from schemas.notices.market import (
    BETTER_SETTLEMENT,
    DIVIDENDS,
    FORWARD_TOLERANCE,
    JUMP,
    LIMIT,
    MARKET_NOTICES,
    MAX_CONTAINED,
    MAX_MID_GAP,
    MIN_NAME_SESSIONS,
    MIN_TAIL,
    SESSIONS_BESIDE,
    TAIL_SHARE,
    TAIL_TOLERANCE,
)
from schemas.plurals import counted
from schemas.tables.books import ADJUSTING, CONDITIONED_BOOKS, RAW_PREFIX, SETTLEMENTS
from schemas.tables.pnl import ADJUSTMENTS

_CELL: Final = ("symbol", "date")
_LEDGER: Final = ("book", "date", "starting_equity", "ending_equity")
_SHARES: Final = ADJUSTMENTS[0]
_IS_RAW: Final = pl.col("book").str.starts_with(RAW_PREFIX)
_IS_SETTLED: Final = pl.col("book").str.ends_with(SETTLEMENTS)
_IS_ADJUSTING: Final = pl.col("book").str.ends_with(ADJUSTING)
_WEEK: Final = timedelta(days=7)
_USUAL_SHARE: Final = 0.1
"""Minimum names with a price on a session, as a share of the maximum of any day; a few stray rows make no session."""
_NEEDED: Final = {
    "market.forward_returns": "forward returns",
    "market.forward_bias": "forward returns",
    "market.forward_drift": "forward returns",
    "market.fills": "trades, positions and portfolio",
    "market.foresight": "trades, positions and portfolio",
    "market.settlements": "trades, positions and portfolio",
    "market.left_out": "decisions",
    "market.sessions": "portfolio",
}
_PRICED: Final = "prices of the market beside it"
_LIMITED: Final = pl.col("excess").clip(-LIMIT, LIMIT) * BASIS_POINTS
"""The excess of :func:`_compare` in basis points, clipped so that single sessions and dividends hardly matter."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows of a run to compare, without raw books; None where the run did not seal the tables they need.

    Attributes
    ----------
    sessions
        Days of the ledger, ascending.
    books
        For long_short and long_only: ``session``, ``starting_equity`` and ``ending_equity``; and ``symbol``, ``session`` and ``weight``
        of the positions at the close.
    marks
        ``symbol``, ``date`` and ``mark_price``, one row per name and day, with the number of the ``session``.
    splits
        ``symbol`` and ``date`` of holdings whose shares changed without a fill.
    fills
        ``symbol``, ``date``, ``session``, ``quantity`` and ``mid_price``; whether the fill is ``settled``, without a market, and whether
        it is ``adjusting`` a book between decisions.
    forward
        ``symbol``, ``date``, ``forward_return``, and ``side``: 1 above the median score of the week, -1 below it; the days ``entry``
        and ``maturity``, null where not sealed; and ``following``, the day of the next decision.
    scored
        ``symbol``, ``date`` and ``score`` of the decisions with a score.
    """

    sessions: pl.Series
    books: Mapping[str, tuple[pl.DataFrame, pl.DataFrame]]
    marks: pl.DataFrame | None
    splits: pl.DataFrame | None
    fills: pl.DataFrame | None
    forward: pl.DataFrame | None
    scored: pl.DataFrame | None

    @property
    def names(self) -> Integers:
        """Numbers of the names that have a mark or a forward return; empty if none has."""
        used = [
            rows["symbol"].to_physical().to_numpy() for rows in (self.marks, self.forward) if rows is not None
        ]
        return np.unique(np.concatenate([np.empty(0, np.int64), *used])).astype(np.int64)


def market_notices(
    tables: Mapping[str, Collection[str]], read: ReadColumns, address: str
) -> tuple[NoticeOutcome, ...]:
    """Compare a run with market prices.

    Parameters
    ----------
    tables, read
        As in :func:`pipeline.notices.evidence.gather`.
    address
        Address of the prices.

    Raises
    ------
    SettingsError
        When the prices cannot be used.
    StorageUnavailable
        When the store of the prices does not answer.
    """
    market = read_prices(address)
    run = _read_run(tables, read, market)
    outcomes = [
        not_checked(
            notice.id,
            f"it needs {_NEEDED.get(notice.id, 'portfolio and positions')}, which the run did not all seal",
        )
        for notice in MARKET_NOTICES
    ]
    # A file may also hold names of other exchanges, whose holidays differ, and benchmarks, whose history is longer.
    days, priced = market.count(run.names)
    if "portfolio" in tables:
        outcomes.append(_judge_sessions(run.sessions, days, priced))
    if run.marks is not None:
        marks = market.beside(run.marks, "date")
        outcomes += _judge_marks(marks, run)
        if run.fills is not None:
            fills = _beside_marks(market.beside(run.fills, "date"), marks)
            traded = fills.filter(~pl.col("settled"))
            outcomes += [_judge_fills(traded), _judge_foresight(traded.filter("adjusting"))]
            outcomes.append(_judge_settlements(fills.filter("settled"), market))
    if run.forward is not None:
        outcomes += _judge_forward_returns(run.forward, market, days)
    if run.scored is not None:
        outcomes.append(judge_left_out(run.scored, market, days))
    return tuple(replace(x, details={**x.details, "prices": market.digest}) for x in outcomes)


def _read_run(tables: Mapping[str, Collection[str]], read: ReadColumns, market: MarketPrices) -> _Run:
    sessions = pl.Series("date", [], pl.Date)
    marks = splits = fills = forward = None
    books = {}
    if "portfolio" in tables:
        (part,) = read("portfolio", _LEDGER)
        sessions = part["portfolio"]["date"].unique().sort()
    numbered = sessions.to_frame().with_columns(session=pl.int_range(pl.len()))
    if "portfolio" in tables and "positions" in tables:
        marks = _rows(read, "positions", ("book", *_CELL, "mark_price"), market, _IS_RAW, once=True)
        marks = marks.join(numbered, on="date").sort("symbol", "session")
        for book in CONDITIONED_BOOKS:
            equity = part["portfolio"].select(_LEDGER).filter(pl.col("book") == book)
            weights = _rows(read, "positions", ("book", *_CELL, "weight"), market, pl.col("book") != book)
            equity, weights = (rows.join(numbered, on="date").drop("date") for rows in (equity, weights))
            books[book] = equity, weights
        if "trades" in tables:
            traded = ("book", "timestamp", "symbol", "quantity", "mid_price")
            fills = _rows(
                read, "trades", traded, market, _IS_RAW, settled=_IS_SETTLED, adjusting=_IS_ADJUSTING
            )
            fills = fills.with_columns(date=pl.col("timestamp").dt.date()).join(numbered, on="date")
    if _SHARES in tables.get("pnl", ()):
        unchanged = _IS_RAW | (pl.col(_SHARES) == 0)
        splits = _rows(read, "pnl", ("book", *_CELL, _SHARES), market, unchanged, once=True)
    if "forward_return" in tables.get("decisions", ()):
        forward = _read_forward_returns(tables, read, market)
    scored = None
    if "decisions" in tables:
        scored = _rows(read, "decisions", (*_CELL, "score"), market, pl.col("score").is_null())
    return _Run(sessions, books, marks, splits, fills, forward, scored)


def _rows(
    read: ReadColumns,
    kind: str,
    columns: tuple[str, ...],
    market: MarketPrices,
    left_out: pl.Expr,
    *,
    once: bool = False,
    **flags: pl.Expr,
) -> pl.DataFrame:
    """Read columns of the rows whose names have market prices, and flags; with `once`, one row per name and day."""
    known = pl.col("symbol").cast(market.names, strict=False)
    parts = []
    for part in read(kind, columns):
        rows = (
            part[kind]
            .lazy()
            .select(columns)
            .filter(~left_out)
            .with_columns(**flags)
            .drop("book", strict=False)
        )
        rows = rows.with_columns(known).drop_nulls("symbol")
        parts.append((rows.unique(_CELL) if once else rows).collect())
    together = pl.concat(parts)
    return together.unique(_CELL) if once and len(parts) > 1 else together


def _read_forward_returns(
    tables: Mapping[str, Collection[str]], read: ReadColumns, market: MarketPrices
) -> pl.DataFrame:
    instants = {"entry": "entry_at", "maturity": "maturity_at"}
    sealed = tuple(name for name in instants.values() if name in tables["decisions"])
    unknown = pl.col("forward_return").is_null()
    rows = _rows(read, "decisions", (*_CELL, "score", "forward_return", *sealed), market, unknown)
    weeks = rows["date"].unique()
    if "rebalances" in tables:
        (part,) = read("rebalances", ("date",))
        weeks = pl.concat([weeks, part["rebalances"]["date"]]).unique()
    weeks = weeks.sort()
    following = pl.coalesce(pl.col("date").shift(-1), pl.col("date") + _WEEK)
    days = {
        day: pl.col(name).dt.date() if name in sealed else pl.lit(None, pl.Date)
        for day, name in instants.items()
    }
    side = (pl.col("score") - pl.col("score").median().over("date")).sign()
    return rows.select(*_CELL, "forward_return", side=side, **days).join(
        weeks.to_frame("date").with_columns(following=following), on="date"
    )


def _judge_sessions(own: pl.Series, priced_days: Integers, priced: Integers) -> NoticeOutcome:
    """Compare the sessions of ledger and market over their common span of days.

    Parameters
    ----------
    own
        Days of the ledger, ascending.
    priced_days, priced
        Days of the market, ascending, and the number of names with a price on each.
    """
    notice = "market.sessions"
    days = to_days(own)
    first, last = (
        (max(days[0], priced_days[0]), min(days[-1], priced_days[-1]))
        if days.size and priced_days.size
        else (0, -1)
    )
    within = (priced_days >= first) & (priced_days <= last)
    usual = priced[within] >= _USUAL_SHARE * priced[within].max(initial=0)
    own = own.filter((days >= first) & (days <= last))
    market = pl.Series("date", priced_days[within][usual], pl.Int32).cast(pl.Date)
    sessions = min(own.len(), market.len())
    if sessions < MIN_SHARED_CELLS:
        return not_checked(
            notice, f"the prices cover {sessions} sessions of the ledger; {MIN_SHARED_CELLS} are needed"
        )
    lacking, strange = (
        days.filter(~days.is_in(others.implode())) for days, others in ((market, own), (own, market))
    )
    texts = (("lacks {} sessions of the market", lacking), ("has {} days that were no sessions", strange))
    differences = " and ".join(
        f"{text.format(days.len())}, the first {days[0]}" for text, days in texts if days.len()
    )
    differing = lacking.len() + strange.len()
    return judged(
        notice,
        float(differing),
        f"The ledger {differences}.",
        sessions=market.len(),
        lacking=lacking.len(),
        strange=strange.len(),
    )


def _compare(rows: pl.DataFrame, own: pl.Expr, price: str, tolerance: float = CELL_TOLERANCE) -> pl.DataFrame:
    """Add the ``nearest`` return of the market and the ``excess`` over it.

    The nearest return lies between those with and without dividends.

    Parameters
    ----------
    rows
        With a price and ``adjustment`` of the market, and their previous values ``…_before``; rows without a price are dropped.
    own
        Return of the run.
    price
        ``open`` or ``close``.
    tolerance
        Absolute excess above which a return is ``wrong``.
    """
    ratio = pl.col(price) / pl.col(f"{price}_before")
    total = ratio * pl.col("adjustment") / pl.col("adjustment_before")
    nearest = own.clip(pl.min_horizontal(ratio, total) - 1, pl.max_horizontal(ratio, total) - 1)
    return (
        rows.filter(ratio.is_not_null())
        .with_columns(nearest=nearest)
        .with_columns(excess=own - pl.col("nearest"))
        .with_columns(wrong=pl.col("excess").abs() > tolerance)
    )


def _judge_share(notice: str, compared: pl.DataFrame, what: str) -> NoticeOutcome:
    """Judge the share of returns that the market contradicts: of all, of its largest falls and of its largest rises."""
    cells = compared.height
    if cells < MIN_SHARED_CELLS:
        return not_checked(notice, f"the prices cover {cells} {what}; {MIN_SHARED_CELLS} are needed")
    tail = max(MIN_TAIL, int(TAIL_SHARE * cells))
    excess = compared.select("nearest", pl.col("excess").abs()).sort("nearest")["excess"]
    share = _share(compared["wrong"])
    of_falls, of_rises = (_share(some > TAIL_TOLERANCE) for some in (excess.head(tail), excess.tail(tail)))
    return judged(
        notice,
        max(share, of_falls, of_rises),
        f"The market contradicts {share:.1%} of {cells:,} {what}, {of_falls:.1%} of those in its largest falls and {of_rises:.1%} in its largest rises.",
        cells=cells,
        contradicted=round(share * cells),
    )


def _share(flags: pl.Series) -> float:
    return float(flags.to_numpy().mean())


def _judge_marks(marks: pl.DataFrame, run: _Run) -> Iterator[NoticeOutcome]:
    """Judge the mark returns from session to session; the marks are sorted by name and session."""
    steps = marks.with_columns(pl.all().shift(1).name.suffix("_before")).filter(
        (pl.col("symbol") == pl.col("symbol_before")) & (pl.col("session") == pl.col("session_before") + 1)
    )
    if run.splits is not None:
        steps = steps.join(run.splits, on=_CELL, how="anti")
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


def _judge_ratio(compared: pl.DataFrame, run: _Run) -> NoticeOutcome:
    """Judge the information ratio of each book beside the one it would have had at the prices of the market."""
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


def _judge_dividends(compared: pl.DataFrame, run: _Run) -> NoticeOutcome:
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
        beside = [
            side.group_by(pl.col("session") // SESSIONS_BESIDE).agg(pl.col("contained").mean())
            for side in (long, short)
        ]
        pairs = beside[0].join(beside[1], on="session", suffix="_short")
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
    jumps = compared.select(*_CELL, size=ratio.log().abs()).filter(pl.col("size") > JUMP).sort("size", *_CELL)
    last = jumps.row(-1) if jumps.height else ("", "")
    return judged(
        "market.jumps",
        float(jumps.height),
        f"{jumps.height} of {compared.height:,} marks move by more than a fifth against the market, {last[0]} on {last[1]} by the most.",
        cells=compared.height,
    )


def _judge_forward_returns(
    forward: pl.DataFrame, market: MarketPrices, days: Integers
) -> Iterator[NoticeOutcome]:
    """Judge the forward returns of all names between opens of the market, or between closes; `days` have prices of the run's names."""
    notices = ("market.forward_returns", "market.forward_bias", "market.forward_drift")
    rows = forward
    for day, after, suffix in (("entry", "date", "_before"), ("maturity", "following", "")):
        # A day that is not sealed is taken to be the first session after the decision.
        known = first_session_after(rows[after], days)
        rows = market.beside(rows.with_columns(pl.col(day).fill_null(known)), day, suffix)
    at_open, at_close = (
        _compare(rows, pl.col("forward_return"), price, FORWARD_TOLERANCE) for price in ("open", "close")
    )
    # Opens and closes of calm names differ by less than the tolerance, which is for opens of another vendor.
    apart = at_close["excess"].abs() > CELL_TOLERANCE
    if at_open.is_empty() and at_close.height and _share(apart) > 1 / 2:
        reason = "the prices have no open, and forward returns do not match the closes"
        yield from (not_checked(notice, reason) for notice in notices)
        return
    compared = min((at_open, at_close), key=lambda some: _share(some["wrong"]) if some.height else math.inf)
    yield _judge_share(notices[0], compared, "forward returns")
    yield judge_mean(
        notices[1],
        compared.filter(pl.col("side") != 0).select(_LIMITED * pl.col("side")).to_series().to_numpy(),
        "{number:,} forward returns differ from the market by {mean:.1f} bp on average, upwards where the score is above the median of its "
        "week and downwards where it is below.",
        _PRICED,
        period="return",
    )
    yield judge_mean(
        notices[2],
        compared.select(_LIMITED).to_series().to_numpy(),
        "{number:,} forward returns differ from the market by {mean:.1f} bp on average.",
        _PRICED,
        period="return",
        either_sign=True,
    )


def _beside_marks(fills: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Add the ``mid`` of each fill at the level of the market, by the marks of the name on the same or the previous session."""
    level = marks.select("symbol", "session", level=pl.col("close") / pl.col("mark_price"))
    earlier = level.with_columns(pl.col("session") + 1)
    rows = fills.join(level, on=("symbol", "session"), how="left").join(
        earlier, on=("symbol", "session"), how="left", suffix="_before"
    )
    return rows.with_columns(mid=pl.col("mid_price") * pl.coalesce("level", "level_before"))


def _judge_settlements(settled: pl.DataFrame, market: MarketPrices) -> NoticeOutcome:
    """Count the names that are settled at a better price than the market's last one, or while it has further prices."""
    notice, rows = "market.settlements", settled.with_row_index("fill")
    around = pl.DataFrame({"offset": range(-_WEEK.days, _WEEK.days + 1)})
    days = rows.join(around, how="cross").with_columns(day=pl.col("date") + pl.duration(days="offset"))
    priced = market.beside(days, "day").drop_nulls("close").sort("offset")
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


def _judge_fills(fills: pl.DataFrame) -> NoticeOutcome:
    """Compare mids with the open or the close of the market, whichever is nearer; fills between decisions are judged separately, too."""
    notice = "market.fills"
    gaps = fills.select(
        "adjusting",
        pl.col("quantity").sign().alias("side"),
        open=pl.col("mid") / pl.col("open") - 1,
        close=pl.col("mid") / pl.col("close") - 1,
    )
    distance = {price: _median(gaps[price].abs()) for price in ("open", "close")}
    nearer = min(distance, key=distance.__getitem__)
    if math.isinf(distance[nearer]):
        return not_checked(notice, "the prices cover no fill")
    # Without opens, fills at the open of calm names could pass for fills at the close.
    if distance[nearer] > (MAX_MID_GAP if math.isfinite(distance["open"]) else CELL_TOLERANCE):
        return not_checked(notice, "fills are at neither the open nor the close of the prices")
    gap = gaps[nearer]
    improvement = (-gaps["side"] * gap * BASIS_POINTS).set(gap.abs() >= JUMP, None)
    of_all, of_some = (
        judge_mean(
            notice,
            improvement.filter(chosen).drop_nulls().to_numpy(),
            f"{{number:,}} {noun} are on average {{mean:.1f}} bp better than the market.",
            _PRICED,
            period="fill",
        )
        for chosen, noun in (
            (pl.repeat(True, gap.len(), eager=True), "fills"),
            (gaps["adjusting"], "fills between decisions"),
        )
    )
    return first_noticed(of_all, of_some)


def _judge_foresight(fills: pl.DataFrame) -> NoticeOutcome:
    """Judge the gain of fills between decisions up to the close of the market, which a run has no mark of once a position is closed."""
    gain = (pl.col("quantity").sign() * (pl.col("close") / pl.col("mid") - 1)).clip(-JUMP, JUMP)
    known = fills.select("session", gain=gain * BASIS_POINTS).drop_nulls()
    return judge_mean(
        "market.foresight",
        known["gain"].to_numpy(),
        "{number:,} fills between decisions gained {mean:.0f} bp on average until the close of the market.",
        _PRICED,
        period="fill",
        groups=known["session"].to_numpy(),
    )


def _median(values: pl.Series) -> float:
    """Return the median; infinite where there is no value."""
    known = values.drop_nulls().to_numpy()
    return float(np.median(known)) if known.size else math.inf

"""Notices on the ledgers of the books."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from datasets.figures import ratios
from datasets.figures.series import DAYS_PER_YEAR, SESSIONS_PER_YEAR, is_constant, measured
from datasets.figures.unavailable import Unavailable
from pipeline.notices.correlations import rank_correlations
from pipeline.notices.ledger import Ledger
from pipeline.notices.outcome import NoticeOutcome, by_chance, judged, not_checked
from schemas.notices import NOTICES
from schemas.notices.books import (
    FLAT,
    LAST_DEVIATIONS,
    LOWEST_RATE,
    MAX_CASH_SIZE,
    MAX_INTEREST,
    MAX_YIELD,
    MIN_RECEIPTS,
    MIN_SHORT_SHARE,
    SESSIONS_ALLOWED,
    ZERO_RATES,
)
from schemas.notices.notice import BASIS_POINTS, CHANCE, EXCEPTIONAL_RATIO
from schemas.plurals import counted

_MIN_DRAWDOWN_SESSIONS: Final = 126
"""Half a year, because a book may go some months without a loss of one percent."""
_MIN_SESSIONS: Final = 20
_MIN_SHORTS: Final = 50
_MANY_SESSIONS: Final = 0.9


def judge_ledgers(ledgers: Sequence[Ledger]) -> Iterator[NoticeOutcome]:
    """Apply each notice to every book; yield its outcome for the most unusual book."""
    for notice, judge in _JUDGES.items():
        yield _worst(ledgers, notice, judge)


def _worst(
    ledgers: Sequence[Ledger], notice: str, judge: Callable[[Ledger], NoticeOutcome | str]
) -> NoticeOutcome:
    """Judge every book and return the most extreme outcome."""
    judgements = [judge(ledger) for ledger in ledgers]
    outcomes = [
        outcome for outcome in judgements if isinstance(outcome, NoticeOutcome) and outcome.value is not None
    ]
    if not outcomes:
        reasons = [x if isinstance(x, str) else x.reason for x in judgements]
        return not_checked(notice, next(filter(None, reasons), "no book has a ledger"))
    return max(outcomes, key=_how_unusual)


def _how_unusual(outcome: NoticeOutcome) -> tuple[bool, float]:
    """Return whether a judged outcome is a notice, and a number that is higher for the more unusual of two books."""
    declared, noticed = NOTICES[outcome.notice], outcome.message is not None
    value, threshold = outcome.value or 0.0, outcome.threshold or 0.0
    if declared.least is not None:
        distance = abs(value - threshold)
        return noticed, distance if noticed else -distance
    return noticed, -value if declared.below else value


def _sharpe(ledger: Ledger) -> NoticeOutcome | str:
    if not ledger.invested.any():
        return f"{ledger.book} held no position"
    figure = ratios.information_ratio(ledger["starting_equity"], ledger["ending_equity"])
    if isinstance(figure, Unavailable):
        return figure.text
    sessions = ledger.dates.size
    return judged(
        "book.sharpe",
        figure,
        f"{ledger.book} has an information ratio of {figure:.2f} a year over {sessions} sessions.",
        chance=EXCEPTIONAL_RATIO + by_chance(sessions) * math.sqrt(SESSIONS_PER_YEAR / sessions),
        book=ledger.book,
        sessions=sessions,
    )


def _drawdown(ledger: Ledger) -> NoticeOutcome | str:
    held = int((ledger["gross_notional"] > 0).sum())
    if held < _MIN_DRAWDOWN_SESSIONS:
        return f"{ledger.book} held positions for {counted(held, 'session')}; {_MIN_DRAWDOWN_SESSIONS} are needed"
    figure = ratios.max_drawdown_pct(ledger["starting_equity"], ledger["ending_equity"])
    if isinstance(figure, Unavailable):
        return figure.text
    message = f"{ledger.book} never fell by more than {figure:.2f}% in {held} sessions with positions."
    return judged("book.drawdown", figure, message, book=ledger.book, sessions=held)


def _execution_cost(ledger: Ledger) -> NoticeOutcome | str:
    traded = ledger.total("turnover_notional")
    if not traded > 0:
        return f"{ledger.book} traded nothing"
    cost = (0.0 - ledger.total("execution_cost")) / traded * BASIS_POINTS
    return judged(
        "book.execution_cost", cost, f"{ledger.book} paid {cost:.2f} bp of its turnover.", book=ledger.book
    )


def _borrow(ledger: Ledger) -> NoticeOutcome | str:
    short = float((ledger["gross_notional"] - ledger["net_notional"]).sum()) / 2
    if not short > 1e-9 * ledger.total("gross_notional"):
        return f"{ledger.book} held no short position"
    rate = (0.0 - ledger.total("borrow_cashflow")) / short * SESSIONS_PER_YEAR
    message = f"{ledger.book} paid {rate:.3%} a year to borrow what it was short."
    return judged("book.borrow", rate, message, book=ledger.book)


def _carry(ledger: Ledger) -> NoticeOutcome | str:
    earned = float(np.abs(ledger["market_pnl"]).sum())
    if not earned > 0:
        return f"{ledger.book} earned and lost nothing on prices"
    share = float(np.abs(ledger["cash_carry"]).sum()) / earned
    interest = MAX_INTEREST / SESSIONS_PER_YEAR * ledger.total("gross_notional") / 2
    message = (
        f"Interest on cash of {ledger.book} is {share:.1%} of its absolute daily profit and loss on prices."
    )
    return judged("book.carry", share, message, chance=interest / earned, book=ledger.book)


def _unborrowed(ledger: Ledger) -> NoticeOutcome | str:
    shorts, unborrowed = ledger.flows.shorts, ledger.flows.unborrowed
    if shorts < _MIN_SHORTS:
        return f"{ledger.book} has {shorts} short positions on the sampled sessions; {_MIN_SHORTS} are needed"
    if unborrowed == shorts:
        return f"no short position of {ledger.book} cost anything to borrow, which book.borrow judges"
    message = f"{unborrowed} of {shorts} short positions of {ledger.book} cost nothing to borrow."
    return judged("book.unborrowed", unborrowed / shorts, message, book=ledger.book, shorts=shorts)


def _autocorrelation(ledger: Ledger) -> NoticeOutcome | str:
    returns = np.where(ledger.invested, ledger.returns, np.nan)
    both = ~np.isnan(returns[1:]) & ~np.isnan(returns[:-1])
    later, earlier, sessions = returns[1:][both], returns[:-1][both], int(both.sum()) + 1
    if sessions < _MIN_SESSIONS or is_constant(later) or is_constant(earlier):
        return f"{ledger.book} has fewer than {_MIN_SESSIONS} returns with positions, or returns that do not vary"
    correlation = float(rank_correlations(later[:, None], earlier[:, None])[0])
    return judged(
        "book.autocorrelation",
        correlation,
        f"Daily returns of {ledger.book} have a correlation of {correlation:.2f} with those of the day before.",
        chance=CHANCE / math.sqrt(sessions),
        book=ledger.book,
        sessions=sessions,
    )


def _flat_sessions(ledger: Ledger) -> NoticeOutcome | str:
    held = ledger["gross_notional"] > 0
    sessions = int(held.sum())
    if sessions < _MIN_DRAWDOWN_SESSIONS:
        return f"{ledger.book} held positions for {counted(sessions, 'session')}; {_MIN_DRAWDOWN_SESSIONS} are needed"
    earned = np.abs(ledger["market_pnl"][held]) / ledger["gross_notional"][held]
    flat = int((earned < FLAT).sum())
    message = f"{ledger.book} earned nothing on prices in {flat} of {sessions} sessions with positions."
    return judged("book.flat_sessions", flat / sessions, message, book=ledger.book, sessions=sessions)


def _last_session(ledger: Ledger) -> NoticeOutcome | str:
    last, profit = float(ledger["market_pnl"][-1]), abs(ledger.profit)
    # Sessions without positions, as in a warm-up, would make any other session look unusual.
    earned = ledger["market_pnl"][ledger.invested]
    if earned.size < _MIN_SESSIONS or not profit:
        return (
            f"{ledger.book} has fewer than {_MIN_SESSIONS} sessions with positions, or no profit and no loss"
        )
    share = last / profit if last > LAST_DEVIATIONS * earned[:-1].std() else 0.0
    message = f"{ledger.book} earned {last:.6g} at its last close; its profit is {ledger.profit:.6g}."
    return judged("book.last_session", share, message, book=ledger.book)


def _cash_adjustment(ledger: Ledger) -> NoticeOutcome | str:
    if ledger.flows.cash_adjustment is None:
        return "the run sealed no cash_adjustment"
    dividends = MAX_YIELD * abs(ledger.total("net_notional")) / SESSIONS_PER_YEAR
    notice, noun = "book.cash_adjustment", "Cash adjustments"
    paid = ledger.flows.cash_received + ledger.flows.cash_paid
    earned = float(np.abs(ledger["market_pnl"]).sum())
    if paid > MAX_CASH_SIZE * earned > 0:
        share = paid / earned
        message = f"{noun} of {ledger.book}, without their signs, come to {share:.1%} of its absolute daily profit and loss on prices."
        return judged(notice, share, message, chance=MAX_CASH_SIZE, book=ledger.book)
    return _judge_profit(
        ledger,
        notice,
        ledger.flows.cash_adjustment,
        noun,
        # Whether more is received on long positions than is paid on short ones is chance as well.
        allowed=dividends + CHANCE * math.sqrt(ledger.flows.cash_squares),
    )


def _unpaid_cash(ledger: Ledger) -> NoticeOutcome | str:
    flows = ledger.flows
    if flows.cash_adjustment is None:
        return "the run sealed no cash_adjustment"
    receipts = round(flows.receipts)
    if receipts < MIN_RECEIPTS:
        return f"{ledger.book} received cash for {counted(receipts, 'position')}; {MIN_RECEIPTS} are needed"
    gross, net = ledger.total("gross_notional"), ledger.total("net_notional")
    long, short = (gross + net) / 2, (gross - net) / 2
    if not short > MIN_SHORT_SHARE * long > 0:
        return f"{ledger.book} held short positions of less than {MIN_SHORT_SHARE:.0%} of its long ones"
    ratio = (flows.cash_paid / short) / (flows.cash_received / long)
    message = f"Short positions of {ledger.book} paid {ratio:.1%} of the cash that long ones of the same size received."
    return judged("book.unpaid_cash", ratio, message, book=ledger.book, receipts=receipts)


def _share_adjustment(ledger: Ledger) -> NoticeOutcome | str:
    earned = ledger.flows.on_share_adjustments
    if earned is None:
        return "the run sealed no quantity_adjustment"
    return _judge_profit(
        ledger,
        "book.share_adjustment",
        earned,
        "Earnings on days that changed the shares of a name",
        allowed=CHANCE * ledger.flows.chance_on_share_adjustments,
    )


def _rounding(ledger: Ledger) -> NoticeOutcome | str:
    return _judge_profit(ledger, "book.rounding", ledger.total("rounding_adjustment"), "Rounding adjustments")


def _judge_profit(
    ledger: Ledger, notice: str, amount: float, label: str, allowed: float = 0.0
) -> NoticeOutcome | str:
    """Judge an amount relative to the absolute profit of a book; up to `allowed` it is usual, or chance."""
    if not amount:
        return judged(notice, 0.0, "", book=ledger.book)
    if not ledger.profit:
        return f"{ledger.book} made no profit and no loss"
    share = abs(amount) / abs(ledger.profit)
    message = f"{label} of {ledger.book} come to {amount:.6g}, its profit to {ledger.profit:.6g}."
    return judged(notice, share, message, chance=allowed / abs(ledger.profit), book=ledger.book)


def _sessions(ledger: Ledger) -> NoticeOutcome | str:
    notice, sessions = "book.sessions", ledger.dates.size
    if sessions < _MIN_SESSIONS:
        return f"{ledger.book} has {counted(sessions, 'session')}; {_MIN_SESSIONS} are needed"
    years = float((ledger.dates[-1] - ledger.dates[0]) / np.timedelta64(1, "D")) / DAYS_PER_YEAR
    rate = (sessions - 1) / years
    declared = NOTICES[notice]
    assert declared.least is not None
    allowed = SESSIONS_ALLOWED / years
    return judged(
        notice,
        rate,
        f"{ledger.book} has {rate:.0f} sessions a year.",
        chance=declared.threshold + allowed,
        least=declared.least - allowed,
        book=ledger.book,
    )


def _gap(ledger: Ledger) -> NoticeOutcome | str:
    if ledger.dates.size < 2:
        return f"{ledger.book} has {counted(ledger.dates.size, 'session')}; 2 are needed"
    gaps = np.diff(ledger.dates).astype(np.int64)
    place = int(gaps.argmax())
    message = f"{ledger.book} has no session for {gaps[place]} days after {ledger.dates[place]}."
    return judged("book.gap", float(gaps[place]), message, book=ledger.book)


def _risk_free_rate(ledger: Ledger) -> NoticeOutcome | str:
    rates = measured(ledger["risk_free_return"])
    if not rates.size:
        return f"the run states no interest rate on the cash of {ledger.book}"
    rate = float(rates.mean()) * SESSIONS_PER_YEAR
    rounded_away = any(first <= ledger.dates[0] and ledger.dates[-1] <= last for first, last in ZERO_RATES)
    none = rates.size >= _MIN_DRAWDOWN_SESSIONS and not rates.any() and not rounded_away
    return judged(
        "book.risk_free_rate",
        rate,
        f"Cash of {ledger.book} earned {rate:.1%} a year.",
        least=LOWEST_RATE if none else None,
        book=ledger.book,
    )


def _leverage(ledger: Ledger) -> NoticeOutcome | str:
    solvent = ledger["ending_equity"] > 0
    if not solvent.any():
        return f"{ledger.book} had no equity"
    leverage = float(np.quantile(ledger.exposure[solvent], _MANY_SESSIONS))
    message = f"{ledger.book} held positions of {leverage:.1f} times its equity or more in {1 - _MANY_SESSIONS:.0%} of its sessions."
    return judged("book.leverage", leverage, message, book=ledger.book)


_JUDGES: Final[Mapping[str, Callable[[Ledger], NoticeOutcome | str]]] = {
    "book.sharpe": _sharpe,
    "book.drawdown": _drawdown,
    "book.leverage": _leverage,
    "book.execution_cost": _execution_cost,
    "book.borrow": _borrow,
    "book.unborrowed": _unborrowed,
    "book.autocorrelation": _autocorrelation,
    "book.flat_sessions": _flat_sessions,
    "book.last_session": _last_session,
    "book.share_adjustment": _share_adjustment,
    "book.carry": _carry,
    "book.cash_adjustment": _cash_adjustment,
    "book.unpaid_cash": _unpaid_cash,
    "book.rounding": _rounding,
    "book.sessions": _sessions,
    "book.gap": _gap,
    "book.risk_free_rate": _risk_free_rate,
}

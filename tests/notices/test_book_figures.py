"""The figures of the notices on books compared with slow versions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pipeline.notices.books import judge_ledgers
from pipeline.notices.ledger import Flows, Ledger
from schemas.notices import NOTICES
from tests.notices.ledgers import HONEST, MONDAY, by_id, invested, ledger


def test_an_honest_ledger_gives_no_notice() -> None:
    outcomes = by_id(judge_ledgers([ledger(HONEST)]))
    assert {x.outcome for x in outcomes.values()} == {"pass", "not_checked"}
    assert [id_ for id_, x in outcomes.items() if x.outcome == "not_checked"] == [
        "book.unborrowed",
        "book.share_adjustment",
        "book.cash_adjustment",
        "book.unpaid_cash",
    ]


@pytest.mark.parametrize(
    ("notice", "change", "value"),
    [
        ("book.execution_cost", {"execution_cost": -4e-6}, 0.4),
        ("book.borrow", {"borrow_cashflow": 0.0}, 0.0),
        ("book.borrow", {"borrow_cashflow": 1e-5}, -0.00252),
        ("book.risk_free_rate", {"risk_free_return": 0.2 / 252}, 0.2),
    ],
)
def test_an_implausible_cost_is_noticed(notice: str, change: dict[str, float], value: float) -> None:
    outcome = by_id(judge_ledgers([ledger(HONEST, **change)]))[notice]
    assert outcome.outcome == "notice"
    assert outcome.value == pytest.approx(value)
    assert outcome.details["book"] == "long_short"


@pytest.mark.parametrize(
    ("notice", "column"), [("book.carry", "cash_carry"), ("book.rounding", "rounding_adjustment")]
)
def test_profit_without_price_moves_is_noticed(notice: str, column: str) -> None:
    run = ledger(HONEST, **{column: 0.001})
    outcome = by_id(judge_ledgers([run]))[notice]
    profit = (
        abs(run["ending_equity"][-1] - 1)
        if column == "rounding_adjustment"
        else np.abs(run["market_pnl"]).sum()
    )
    assert outcome.outcome == "notice"
    assert outcome.value == pytest.approx(0.7 / profit)


@pytest.mark.parametrize(
    ("notice", "column"), [("book.carry", "cash_carry"), ("book.cash_adjustment", "cash_adjustment")]
)
@pytest.mark.parametrize(("share", "expected"), [(0.02, "pass"), (0.3, "notice")])
def test_cash_that_offsets_gains_and_losses_is_noticed(
    notice: str, column: str, share: float, expected: str
) -> None:
    """It adds up to 0 over the run, and makes its returns calmer."""
    run = ledger(HONEST)
    offset = -share * (run["market_pnl"] - run["market_pnl"].mean())
    adjusted = Flows(0.0, cash_received=offset[offset > 0].sum(), cash_paid=-offset[offset < 0].sum())
    flows = adjusted if column == "cash_adjustment" else Flows()
    outcome = by_id(judge_ledgers([Ledger(run.book, run.dates, {**run.columns, column: offset}, flows)]))[
        notice
    ]
    assert outcome.outcome == expected
    if expected == "notice":
        assert outcome.value == pytest.approx(share, abs=0.02)


def test_cash_that_no_fill_explains_is_noticed_once_it_matters() -> None:
    run = ledger(HONEST)
    profit = run.profit
    for share, expected in ((0.04, "pass"), (0.06, "notice")):
        paid = Ledger(run.book, run.dates, run.columns, Flows(cash_adjustment=share * profit))
        outcome = by_id(judge_ledgers([paid]))["book.cash_adjustment"]
        assert outcome.outcome == expected
        assert outcome.value == pytest.approx(share)


@pytest.mark.parametrize(("rate", "expected"), [(0.04, "pass"), (-0.04, "pass"), (0.06, "notice")])
def test_dividends_that_stocks_pay_are_not_noticed(rate: float, expected: str) -> None:
    run = ledger(HONEST, net_notional=2.0)
    paid = Ledger(run.book, run.dates, run.columns, Flows(cash_adjustment=rate * 2.0 * HONEST.size / 252))
    outcome = by_id(judge_ledgers([paid]))["book.cash_adjustment"]
    assert outcome.outcome == expected
    assert outcome.value is not None
    assert outcome.value > 0.05


@pytest.mark.parametrize(
    ("paid", "receipts", "net", "expected"),
    [
        (0.9, 40, 0.0, "pass"),
        (0.0, 40, 0.0, "notice"),
        (0.04, 40, 0.9, "pass"),
        (0.0, 19, 0.0, "not_checked"),
        (0.0, 40, 1.6, "not_checked"),
    ],
    ids=["both sides", "one side", "few shorts", "few receipts", "hardly any shorts"],
)
def test_dividends_for_long_positions_alone_are_noticed(
    paid: float, receipts: int, net: float, expected: str
) -> None:
    run = ledger(HONEST, net_notional=net)
    flows = Flows(cash_adjustment=1 - paid, cash_received=1.0, cash_paid=paid, receipts=receipts)
    outcome = by_id(judge_ledgers([Ledger(run.book, run.dates, run.columns, flows)]))["book.unpaid_cash"]
    assert outcome.outcome == expected


def test_the_most_unusual_book_is_judged() -> None:
    other = ledger(HONEST, execution_cost=0.0)
    outcome = by_id(judge_ledgers([ledger(HONEST), Ledger("long_only", other.dates, other.columns)]))[
        "book.execution_cost"
    ]
    assert (outcome.outcome, outcome.details["book"]) == ("notice", "long_only")


@pytest.mark.parametrize(
    ("rates", "worst"), [((-0.02, -0.5), 1), ((-0.5, 0.16), 0), ((0.2, -0.02), 0), ((0.05, -0.005), 1)]
)
def test_the_book_furthest_outside_two_bounds_is_judged(rates: tuple[float, float], worst: int) -> None:
    runs = [ledger(HONEST, risk_free_return=rate / 252) for rate in rates]
    books = [
        Ledger(name, x.dates, x.columns) for name, x in zip(("long_short", "long_only"), runs, strict=True)
    ]
    outcome = by_id(judge_ledgers(books))["book.risk_free_rate"]
    assert outcome.value == pytest.approx(rates[worst])
    assert outcome.details["book"] == books[worst].book


@pytest.mark.parametrize(
    ("sessions", "rate", "expected"), [(700, 0.0, "notice"), (100, 0.0, "pass"), (700, 0.00005, "pass")]
)
def test_a_rate_of_zero_in_every_session_is_noticed(sessions: int, rate: float, expected: str) -> None:
    run = ledger(HONEST[:sessions], risk_free_return=rate / 252)
    outcome = by_id(judge_ledgers([run]))["book.risk_free_rate"]
    assert outcome.outcome == expected
    assert outcome.value == pytest.approx(rate)


@pytest.mark.parametrize(("first", "expected"), [("2012-01-02", "pass"), ("2015-01-02", "notice")])
def test_a_rate_that_was_published_as_zero_is_not_noticed(first: str, expected: str) -> None:
    run = ledger(HONEST, risk_free_return=0.0)
    dates = np.datetime64(first) + np.arange(len(run.dates))
    outcome = by_id(judge_ledgers([Ledger(run.book, dates, run.columns)]))["book.risk_free_rate"]
    assert outcome.outcome == expected


@pytest.mark.parametrize(("size", "expected"), [(1e-15, "notice"), (1e-6, "pass")])
def test_prices_that_stay_but_for_their_last_digits_are_flat(size: float, expected: str) -> None:
    run = ledger(HONEST)
    earned = np.where(np.arange(len(run.dates)) % 50, run["market_pnl"], size)
    outcome = by_id(judge_ledgers([Ledger(run.book, run.dates, {**run.columns, "market_pnl": earned})]))
    assert outcome["book.flat_sessions"].outcome == expected


def test_a_sharpe_ratio_is_noticed_beyond_chance_alone() -> None:
    rng = np.random.default_rng(5)
    calm = rng.normal(0.003, 0.005, 700)
    calm += 0.003 - calm.mean()
    outcomes = {n: by_id(judge_ledgers([ledger(calm[:n])]))["book.sharpe"] for n in (20, 700)}
    assert outcomes[700].outcome == "notice"
    assert outcomes[700].value == pytest.approx(calm.mean() / calm.std(ddof=1) * math.sqrt(252))
    assert outcomes[700].threshold == 4
    assert outcomes[20].threshold == pytest.approx(1 + (3 + 7.5 / 19) * math.sqrt(252 / 20))


def test_interest_of_a_book_without_positions_is_not_noticed() -> None:
    rates = 1e-4 + 1e-5 * np.sin(np.arange(500) / 50)
    idle = invested(ledger(rates), np.zeros(500, np.bool_))
    outcomes = by_id(judge_ledgers([idle]))
    assert [id_ for id_, outcome in outcomes.items() if outcome.outcome == "notice"] == []
    assert outcomes["book.sharpe"].reason == "long_short held no position"
    run = np.arange(500) >= 400
    partly = invested(ledger(np.where(run, HONEST[:500], rates)), run)
    assert by_id(judge_ledgers([partly]))["book.autocorrelation"].outcome == "pass"


@pytest.mark.parametrize(
    ("rate", "gross", "expected"), [(0.07, 2.0, "pass"), (0.11, 2.0, "notice"), (0.03, 0.02, "notice")]
)
def test_interest_of_a_calm_book_is_noticed_if_its_positions_do_not_explain_the_cash(
    rate: float, gross: float, expected: str
) -> None:
    """A dollar-neutral book of many names with a volatility of 3% a year keeps its equity in cash."""
    run = ledger(HONEST * 0.2, cash_carry=rate / 252, gross_notional=gross)
    outcome = by_id(judge_ledgers([run]))["book.carry"]
    assert outcome.outcome == expected
    share = rate / 252 / np.abs(run["market_pnl"]).mean()
    assert share > NOTICES["book.carry"].threshold
    assert outcome.value == pytest.approx(share)


@pytest.mark.parametrize(("last", "expected"), [(0.02, "pass"), (0.05, "notice")])
def test_the_last_session_is_compared_with_sessions_with_positions(last: float, expected: str) -> None:
    run = np.arange(400) >= 350
    returns = np.where(run, HONEST[:400] - HONEST[350:400].mean(), 0.0)
    returns[-1] = last
    outcome = by_id(judge_ledgers([invested(ledger(returns), run)]))["book.last_session"]
    assert outcome.outcome == expected


def test_a_book_that_hardly_ever_loses_is_noticed() -> None:
    outcome = by_id(judge_ledgers([ledger(np.abs(HONEST))]))["book.drawdown"]
    assert (outcome.outcome, outcome.value) == ("notice", 0.0)
    idle = by_id(judge_ledgers([ledger(np.abs(HONEST), gross_notional=0.0)]))["book.drawdown"]
    assert idle.outcome == "not_checked"


@pytest.mark.parametrize(("step", "expected"), [("weekday", "pass"), ("day", "notice"), ("week", "notice")])
@pytest.mark.parametrize("sessions", [40, 150, 700])
def test_a_ledger_of_weeks_or_of_seven_days_is_noticed(step: str, expected: str, sessions: int) -> None:
    plain = ledger(HONEST[:sessions])
    number = np.arange(sessions)
    days = {"weekday": plain.dates, "day": MONDAY + number, "week": MONDAY + 7 * number}[step]
    outcome = by_id(judge_ledgers([Ledger("long_short", days, plain.columns)]))["book.sessions"]
    assert outcome.outcome == expected
    assert outcome.value == pytest.approx({"weekday": 261, "day": 365.25, "week": 52.18}[step], rel=0.03)
    assert outcome.threshold == pytest.approx(240 if step == "week" else 262, abs=60)


@pytest.mark.parametrize(("days", "expected"), [(11, "pass"), (14, "pass"), (15, "notice")])
def test_an_implausible_gap_between_sessions_is_noticed(days: int, expected: str) -> None:
    plain = ledger(HONEST[:40])
    later = np.where(np.arange(40) < 20, 0, days - 1)
    dates = MONDAY + np.arange(40) + later
    outcome = by_id(judge_ledgers([Ledger("long_short", dates, plain.columns)]))["book.gap"]
    assert (outcome.outcome, outcome.value) == (expected, days)

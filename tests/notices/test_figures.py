"""The figures of the notices compared with slow versions."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS

from datasets.figures.series import Floats
from pipeline.notices import NoticeOutcome, Run, find_notices, in_declared_order, judged, not_checked
from pipeline.notices.books import judge_ledgers
from pipeline.notices.catalogue import contradictions
from pipeline.notices.clipped_returns import shared_extremes
from pipeline.notices.copies import copied_from, judge_copies
from pipeline.notices.correlations import rank_correlations
from pipeline.notices.evidence import Evidence
from pipeline.notices.fills import Fills, judge_fills
from pipeline.notices.foresight import judge_opposed_halves
from pipeline.notices.ledger import Flows, Ledger
from pipeline.notices.panel import Panel
from pipeline.notices.rows import Symbols
from pipeline.notices.sampled_fills import sample_fills
from pipeline.notices.signal import judge_book, judge_frequency, judge_weekly_ic, weekly_returns
from pipeline.notices.spans import NEVER, Span, judge_chained_returns
from pipeline.notices.universe import judge_exits, judge_frozen_marks, poisson_lower_tail
from pipeline.reconciliation.tables import Tables
from schemas.notices import NOTICES

RNG = np.random.default_rng(5)
MONDAY = np.datetime64("2020-01-06")


def by_id(outcomes: object) -> dict[str, NoticeOutcome]:
    return {outcome.notice: outcome for outcome in outcomes}  # type: ignore[attr-defined]


def ledger(returns: np.ndarray[tuple[int], np.dtype[np.float64]], **columns: float) -> Ledger:
    """Return a ledger on weekdays with these price returns and plausible costs."""
    days = np.busday_offset(MONDAY, np.arange(returns.size))
    ending = np.cumprod(1 + returns)
    starting = np.concatenate([[1.0], ending[:-1]])
    plain = {
        "starting_equity": starting,
        "ending_equity": ending,
        "market_pnl": ending - starting,
        "execution_cost": np.full(returns.size, -3e-5),
        "borrow_cashflow": np.full(returns.size, -2e-5),
        "cash_carry": np.zeros(returns.size),
        "risk_free_return": np.full(returns.size, 0.03 / 252),
        "rounding_adjustment": np.zeros(returns.size),
        "gross_notional": np.full(returns.size, 2.0),
        "net_notional": np.zeros(returns.size),
        "turnover_notional": np.full(returns.size, 0.1),
    }
    given_columns = {name: np.full(returns.size, value) for name, value in columns.items()}
    return Ledger("long_short", days, plain | given_columns)


HONEST = RNG.normal(0.0003, 0.01, 700)


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


def test_a_sharpe_ratio_is_noticed_beyond_chance_alone() -> None:
    calm = RNG.normal(0.003, 0.005, 700)
    calm += 0.003 - calm.mean()
    outcomes = {n: by_id(judge_ledgers([ledger(calm[:n])]))["book.sharpe"] for n in (20, 700)}
    assert outcomes[700].outcome == "notice"
    assert outcomes[700].value == pytest.approx(calm.mean() / calm.std(ddof=1) * math.sqrt(252))
    assert outcomes[700].threshold == 4
    assert outcomes[20].threshold == pytest.approx(1 + (3 + 7.5 / 19) * math.sqrt(252 / 20))


def invested(run: Ledger, sessions: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ledger:
    """Return a ledger without positions in the other sessions."""
    columns = {
        name: np.where(sessions, run[name], 0.0)
        for name in ("market_pnl", "gross_notional", "turnover_notional", "execution_cost", "borrow_cashflow")
    }
    return Ledger(run.book, run.dates, {**run.columns, **columns})


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
    """A dollar-neutral book of many names with a volatility of 3 % a year keeps its equity in cash."""
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


@pytest.mark.parametrize(
    ("step", "expected"), [(1, "notice"), (7, "pass"), (14, "notice"), (28, "notice"), (91, "notice")]
)
def test_decisions_that_are_not_weekly_are_noticed(step: int, expected: str) -> None:
    outcome = judge_frequency(MONDAY + step * np.arange(30))
    assert (outcome.outcome, outcome.value) == (expected, step)


def test_weekly_decisions_with_holidays_and_a_long_pause_are_weekly() -> None:
    weeks = np.delete(np.arange(60), np.arange(20, 40))
    outcome = judge_frequency(MONDAY + 7 * weeks + RNG.integers(0, 2, weeks.size))
    assert outcome.outcome == "pass"
    assert judge_frequency(MONDAY + 28 * np.arange(3)).reason == "the run has 3 decisions; 4 are needed"


@pytest.mark.parametrize("score", [0.0, 1.0, 1e-200, 1e300])
def test_scores_that_never_change_have_no_halves_to_compare(score: float) -> None:
    with np.errstate(all="ignore"):
        outcome = judge_opposed_halves(np.full((40, 100), score))
    assert outcome.outcome == "not_checked"


def test_the_newey_west_t_matches_statsmodels() -> None:
    ic = RNG.normal(0.2, 0.1, 120)
    outcome = by_id(judge_weekly_ic(ic))["signal.newey_west_t"]
    fitted = OLS(ic, np.ones(120)).fit(cov_type="HAC", cov_kwds={"maxlags": 4})
    assert outcome.value == pytest.approx(float(fitted.tvalues[0]))
    assert outcome.outcome == "notice"


def test_a_plausible_ic_is_not_noticed_and_an_implausible_one_is() -> None:
    noise = RNG.normal(0, 0.12, 150)
    noise -= noise.mean()
    honest, forged = by_id(judge_weekly_ic(0.03 + noise)), by_id(judge_weekly_ic(0.4 + noise))
    assert {x.outcome for x in honest.values()} == {"pass"}
    assert [x.notice for x in forged.values() if x.outcome == "notice"] == [
        "signal.mean_ic", "signal.icir", "signal.newey_west_t",
    ]  # fmt: skip
    assert forged["signal.icir"].value == pytest.approx(0.4 / noise.std(ddof=1) * math.sqrt(52))
    inverted = by_id(judge_weekly_ic(-0.4 + noise))
    assert inverted["signal.mean_ic"].outcome == "notice"


def test_chance_in_a_few_weeks_is_not_noticed() -> None:
    outcomes = by_id(judge_weekly_ic(np.array([0.5, 0.1, -0.05])))
    assert outcomes["signal.mean_ic"].outcome == outcomes["signal.icir"].outcome == "pass"
    assert {x.outcome for x in by_id(judge_weekly_ic(np.empty(0))).values()} == {"not_checked"}


@pytest.mark.parametrize(("weeks", "reached_by_chance"), [(6, 4.5), (12, 3.7), (100, 3.0)])
def test_a_mean_of_few_weeks_is_noticed_further_from_zero(weeks: int, reached_by_chance: float) -> None:
    """By chance alone, Student's t exceeds 3 in 3 % of the means of six weeks, and 4.5 in 0.6 %."""
    noise = RNG.normal(0, 1, weeks)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    for errors, expected in ((reached_by_chance - 0.1, "pass"), (reached_by_chance + 0.3, "notice")):
        deviation = 0.3 if weeks < 50 else 1.0
        ic = deviation * (errors / math.sqrt(weeks) + noise)
        outcomes = by_id(judge_weekly_ic(ic))
        assert outcomes["signal.mean_ic"].outcome == expected


@pytest.mark.parametrize(
    ("weeks", "icir", "expected"), [(42, 3.8, "pass"), (42, 4.8, "notice"), (160, 3.2, "notice")]
)
def test_a_short_run_may_have_a_steady_ic_by_chance(weeks: int, icir: float, expected: str) -> None:
    noise = RNG.normal(0, 1, weeks)
    ic = 0.1 * ((noise - noise.mean()) / noise.std(ddof=1) + icir / math.sqrt(52))
    assert by_id(judge_weekly_ic(ic))["signal.icir"].outcome == expected


def test_a_constant_ic_is_noticed() -> None:
    outcomes = by_id(judge_weekly_ic(np.ones(60)))
    assert outcomes["signal.mean_ic"].outcome == "notice"
    assert outcomes["signal.icir"].outcome == "not_checked"


def test_weekly_returns_run_from_decision_to_decision() -> None:
    dates = MONDAY + np.array([4, 11, 18])
    sessions = np.busday_offset(MONDAY, np.arange(20))
    returns = RNG.normal(0, 0.01, 20)
    earned, traded = weekly_returns(dates, sessions, returns)
    for week, (first, last) in enumerate([(4, 11), (11, 18), (18, 99)]):
        days = [r for day, r in zip(sessions, returns, strict=True) if MONDAY + first < day <= MONDAY + last]
        assert earned[week] == pytest.approx(math.prod(1 + r for r in days) - 1)
    assert traded.all()
    assert not weekly_returns(dates, sessions[:5], returns[:5])[1].any()


@pytest.mark.parametrize("weeks", [24, 60, 200])
def test_an_ic_that_is_unrelated_to_the_book_is_noticed(weeks: int) -> None:
    dates = MONDAY + 4 + 7 * np.arange(weeks)
    sessions = np.busday_offset(MONDAY, np.arange(5 * weeks + 5))
    returns = np.random.default_rng(2).normal(0, 0.01, sessions.size)
    earned, _ = weekly_returns(dates, sessions, returns)
    noise = np.random.default_rng(3).normal(0, earned.std(), weeks)
    noise -= noise.mean() + np.polyfit(earned, noise, 1)[0] * (earned - earned.mean())
    honest, forged = earned + 0.6 * noise, noise
    outcome = judge_book(dates, honest, sessions, returns)
    assert outcome.outcome == "pass"
    assert outcome.value == pytest.approx(stats.spearmanr(honest, earned).statistic)
    assert judge_book(dates, forged, sessions, returns).outcome == "notice"
    assert judge_book(dates[:19], forged[:19], sessions, returns).outcome == "not_checked"


@pytest.mark.parametrize(
    ("held_share", "correlation", "expected"),
    [
        (None, 0.4, "notice"),
        (0.4, 0.4, "notice"),
        (0.1, 0.4, "pass"),
        (0.1, 0.1, "notice"),
        (0.02, 0.0, "not_checked"),
        (10.0, 0.4, "not_checked"),  # most of the names held have no score
    ],
)
def test_a_book_of_few_names_may_be_less_related_to_the_ic(
    held_share: float | None, correlation: float, expected: str
) -> None:
    rng, dates = np.random.default_rng(8), MONDAY + 4 + 7 * np.arange(100)
    sessions = np.busday_offset(MONDAY, np.arange(505))
    returns = rng.normal(0, 0.01, sessions.size)
    earned, _ = weekly_returns(dates, sessions, returns)
    earned = (earned - earned.mean()) / earned.std()
    noise = rng.normal(0, 1, 100)
    noise -= noise.mean() + (noise * earned).mean() * earned
    ic = correlation * earned + math.sqrt(1 - correlation**2) * noise / noise.std()
    outcome = judge_book(dates, ic, sessions, returns, held_share)
    assert outcome.outcome == expected
    assert outcome.value is None or outcome.value == pytest.approx(correlation, abs=0.1)


@pytest.mark.parametrize(
    ("net", "related", "expected"),
    [(0.6, True, "pass"), (0.6, False, "notice"), (5.0, True, "not_checked")],
)
def test_what_a_book_earns_with_the_market_does_not_speak_against_the_ic(
    net: float, related: bool, expected: str
) -> None:
    """The IC does not contain the return of the market, in which a book that is long alone has most of its risk."""
    rng, dates = np.random.default_rng(8), MONDAY + 4 + 7 * np.arange(150)
    sessions = np.busday_offset(MONDAY, np.arange(755))
    week = np.minimum(np.arange(755) // 5, 150)
    chosen, of_market = rng.normal(0, 0.007, 151), rng.normal(0, 0.02, 151)
    returns = (chosen + net * of_market)[week] / 5
    ic = (chosen if related else rng.normal(0, 0.007, 151))[1:] + rng.normal(0, 0.007, 150)
    market = net * of_market[1:]
    assert (judge_book(dates, ic, sessions, returns, 0.3).value or 0.0) < 0.45
    assert judge_book(dates, ic, sessions, returns, 0.3, market=market).outcome == expected


def test_a_few_wild_weeks_do_not_speak_against_the_ic() -> None:
    """The book earns and loses ten times as much in eight weeks, in which the IC happens to have the other sign."""
    rng, dates = np.random.default_rng(8), MONDAY + 4 + 7 * np.arange(100)
    sessions = np.busday_offset(MONDAY, np.arange(505))
    returns = rng.normal(0, 0.01, sessions.size)
    returns[200:240] *= 10
    earned, _ = weekly_returns(dates, sessions, returns)
    wild = np.abs(earned) > 5 * np.median(np.abs(earned))
    ic = np.where(wild, -0.03 * np.sign(earned), earned + rng.normal(0, 0.01, 100))
    assert wild.sum() > 2
    assert stats.pearsonr(ic, earned).statistic < 0.3
    assert judge_book(dates, ic, sessions, returns).outcome == "pass"


@pytest.mark.parametrize(("weeks", "expected"), [(24, "pass"), (0, "not_checked")])
def test_weeks_without_positions_do_not_speak_against_the_ic(weeks: int, expected: str) -> None:
    rng, dates = np.random.default_rng(6), MONDAY + 4 + 7 * np.arange(160)
    run = ledger(rng.normal(0, 0.01, 805))
    run = invested(run, (run.dates > dates[-1] - 7 * weeks) & (weeks > 0))
    starting, profit = np.ones(805), run["market_pnl"] / run["starting_equity"]
    columns = {**run.columns, "starting_equity": starting, "ending_equity": 1 + 1e-4 + profit}
    earned, _ = weekly_returns(dates, run.dates, profit)
    ic = np.where(earned != 0, earned, rng.normal(0, 0.02, 160)) + rng.normal(0, 0.01, 160)
    index = pl.DataFrame({"date": dates, "week_status": "traded", "ic": ic, "n_return_obs": 40})
    portfolio = pl.DataFrame({"book": "long_short", "date": run.dates, **columns})
    outcomes = by_id(find_notices(Run(datetime(2026, 1, 5, tzinfo=UTC), Evidence(), index, portfolio)))
    assert outcomes["signal.book_correlation"].outcome == expected


def slow_copies(values: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> list[bool]:
    """Oracle: for each week, whether 90 % of the names have the value of one earlier week."""
    names, weeks = values.shape
    result = []
    for week in range(weeks):
        own = [n for n in range(names) if values[n, week] == values[n, week] and values[n, week] != 0]
        last = [max((w for w in range(week) if values[n, w] == values[n, week]), default=None) for n in own]
        shared = max((last.count(w) for w in set(last) if w is not None), default=0)
        varied = len({values[n, week] for n in own}) > 1
        result.append(len(own) >= 5 and shared >= 0.9 * len(own) and varied)
    return result


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 12), st.integers(1, 4))
def test_copied_weeks_match_a_slow_search(seed: int, names: int, weeks: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, levels + 1, (names, weeks)).astype(float)
    values[rng.random(values.shape) < 0.1] = np.nan
    for week in range(1, weeks):
        if rng.random() < 0.3:
            values[:, week] = values[:, rng.integers(week)]
    assert (copied_from(values) >= 0).tolist() == slow_copies(values)


def test_a_score_that_lasts_is_no_copy_but_a_late_one_is() -> None:
    """The highest move of a month often stays for two weeks, and then for all of a few names."""
    moves = np.random.default_rng(5).normal(0, 0.01, (8, 1_020))
    highest = np.array([moves[:, day : day + 21].max(axis=1) for day in range(0, 1_000, 5)]).T
    weeks = MONDAY + 4 + 7 * np.arange(200)
    assert (copied_from(highest) >= 0).any()
    assert judge_copies("signal.copied_scores", highest, weeks, "scores").outcome == "pass"
    scores = np.random.default_rng(5).normal(0, 1, (8, 200))
    for late in (np.repeat(scores[:, ::2], 2, axis=1), np.repeat(scores[:, :1], 200, axis=1)):
        assert judge_copies("signal.copied_scores", late, weeks, "scores").outcome == "notice"


@pytest.mark.parametrize("weeks", [4, 13])
def test_a_score_of_monthly_or_quarterly_reports_is_no_copy_of_the_week_before(weeks: int) -> None:
    scores = np.repeat(np.random.default_rng(5).normal(0, 1, (8, 156 // weeks)), weeks, axis=1)
    dates = MONDAY + 4 + 7 * np.arange(scores.shape[1])
    assert judge_copies("signal.copied_scores", scores, dates, "scores").outcome == "pass"
    inserted = np.hstack([scores, scores[:, : 2 * weeks]])
    dates = MONDAY + 4 + 7 * np.arange(inserted.shape[1])
    outcome = judge_copies("signal.copied_scores", inserted, dates, "scores")
    assert outcome.value == 2, "the first week of each report that comes again"


def test_implausible_fill_prices_are_noticed() -> None:
    side = RNG.choice([-1.0, 1.0], 800)
    before = 50 * np.exp(RNG.normal(0, 0.2, 800))
    earlier = before * np.exp(RNG.normal(0, 0.015, 800))
    mid = before * np.exp(RNG.normal(0, 0.008, 800))
    after = mid * np.exp(RNG.normal(0, 0.012, 800))
    honest = Fills(
        ("long_short",),
        np.zeros(800, np.int64),
        np.arange(800) % 4,
        side,
        RNG.choice([-1.0, 1.0], 800),
        np.full(800, 100.0),
        mid,
        np.full(800, 10.0),
        earlier,
        before,
        after,
        earlier,
        np.arange(800),
        (side * (after / mid - 1))[::8],
        np.arange(800)[::8],
    )
    assert {x.outcome for x in by_id(judge_fills(honest, ())).values()} == {"pass"}

    better = mid * (1 - 0.005 * side)
    forged = by_id(judge_fills(replace(honest, mid=better), ()))
    marks = list(zip(side, better, before, after, strict=True))
    inside = [s * (b - m) > 0 and s * (a - m) > 0 for s, m, b, a in marks]
    outside = [s * (b - m) < 0 and s * (a - m) < 0 for s, m, b, a in marks]
    assert forged["fills.better_than_marks"].outcome == "notice"
    assert forged["fills.better_than_marks"].value == pytest.approx((sum(inside) - sum(outside)) / 800)
    assert forged["fills.price_improvement"].outcome == "notice"
    means = [
        np.mean([s * (mark - m) / m for s, m, mark in zip(side, better, x, strict=True)])
        for x in (before, after)
    ]
    assert forged["fills.price_improvement"].value == pytest.approx(1e4 * min(means))

    gain = np.where(np.arange(100) % 2 == 0, 0.5, 0.02)
    foresight = by_id(judge_fills(replace(honest, gain=gain), ()))["fills.foresight"]
    assert (foresight.outcome, foresight.details["fills"]) == ("notice", 100)
    assert foresight.value == pytest.approx(1e4 * (0.02 + 0.1) / 2)  # half of them are limited

    decided = np.where(np.arange(800) % 2 == 0, mid, np.nan)
    assert by_id(judge_fills(replace(honest, decided=decided), ()))["fills.decision_close"].value == 1.0
    stale = by_id(judge_fills(replace(honest, mid=earlier * 1.0001), ()))["fills.stale"]
    assert stale.outcome == "notice"
    line = stats.linregress(np.log(before / earlier), np.log(before / (earlier * 1.0001)))
    assert stale.value == pytest.approx(line.slope)
    free = by_id(judge_fills(replace(honest, cost=np.where(np.arange(800) % 4, honest.cost, 0.0)), ()))[
        "fills.without_cost"
    ]
    assert (free.outcome, free.value) == ("notice", 0.25)
    few = {name: getattr(honest, name)[:40] for name in Fills.__slots__ if name != "books"}
    few |= {name: few[name][:10] for name in ("gain", "gain_day")}
    assert {x.outcome for x in judge_fills(replace(honest, **few), ())} == {"not_checked"}


def fills_at(mid: Floats, earlier: Floats, before: Floats, after: Floats) -> Fills:
    """Return purchases at these mids, with the closes around them."""
    ones, book = np.ones(mid.size), np.zeros(mid.size, np.int64)
    marks = earlier, before, after, earlier
    return Fills(
        ("long_short",),
        book,
        book,
        ones,
        ones,
        ones,
        mid,
        ones,
        *marks,
        np.arange(mid.size),
        np.empty(0),
        np.empty(0, np.int64),
    )


@pytest.mark.parametrize(("per_session", "expected"), [(1, "notice"), (20, "pass")])
def test_fills_of_a_session_share_its_move(per_session: int, expected: str) -> None:
    """The market rises by 0.3 % after the fills of a session on average, with a deviation of 1 %."""
    sessions = 400 // per_session
    rises = np.random.default_rng(6).normal(0, 1, sessions)
    rises = 0.003 + 0.01 * (rises - rises.mean()) / rises.std()
    mid = np.full(400, 50.0)
    above = mid * (1 + np.repeat(rises, per_session))
    fills = replace(fills_at(mid, mid, above, above), day=np.repeat(np.arange(sessions), per_session))
    assert by_id(judge_fills(fills, ()))["fills.price_improvement"].outcome == expected
    # Below the close before, and in more than a third of the sessions also below the next.
    below = replace(fills, before=mid * 1.001, after=above - 0.006 * mid)
    assert by_id(judge_fills(below, ()))["fills.better_than_marks"].outcome == expected


@pytest.mark.parametrize("bounce", [0.0, 0.005, 0.01])
def test_fills_at_closes_between_bid_and_ask_are_not_stale(bounce: float) -> None:
    """A close far from the price is taken back by the next one, but never by more than half of the move."""
    rng = np.random.default_rng(4)
    price = np.cumsum(rng.normal(0, 0.01, (2000, 3)), axis=1)
    closes = np.exp(price + rng.normal(0, bounce, price.shape)).T
    outcome = by_id(judge_fills(fills_at(closes[2], *closes), ()))["fills.stale"]
    assert outcome.outcome == "pass"
    assert outcome.value == pytest.approx(bounce**2 / (0.01**2 + 2 * bounce**2), abs=0.06)
    opens_of_the_day_before = np.exp(price[:, 0] + 0.35 * (price[:, 1] - price[:, 0]))
    outcome = by_id(judge_fills(fills_at(opens_of_the_day_before, *closes), ()))["fills.stale"]
    assert outcome.outcome == "notice"


def test_rank_correlations_match_scipy() -> None:
    one, other = RNG.integers(0, 9, (2, 12, 40)).astype(float)
    one[RNG.random(one.shape) < 0.2] = np.nan
    one[:, 0] = 1.0
    for week, value in enumerate(rank_correlations(one, other)):
        known = np.isfinite(one[:, week])
        expected = stats.spearmanr(one[known, week], other[known, week]).statistic if week else np.nan
        assert value == pytest.approx(expected, nan_ok=True)


def span_of(prices: np.ndarray[tuple[int, int], np.dtype[np.float64]], filled: float) -> Span:
    """Return weekly spans from one instant to the next, with mids for a share of the instants."""
    mids = np.where(RNG.random(prices.shape) < filled, prices, np.nan)
    weeks = np.broadcast_to(np.arange(prices.shape[1]), prices.shape)
    return Span(weeks[:, :-1], weeks[:, 1:], mids[:, :-1], mids[:, 1:])


def test_forward_returns_that_do_not_compound_to_fills_match_a_slow_search() -> None:
    prices = np.exp(np.cumsum(RNG.normal(0, 0.04, (20, 61)), axis=1))
    returns = prices[:, 1:] / prices[:, :-1] - 1
    returns[RNG.random(returns.shape) < 0.05] = np.nan
    span = span_of(prices, 0.3)
    honest = judge_chained_returns(returns, span)
    assert (honest.outcome, honest.value) == ("pass", 0.0)
    assert honest.details["spans"] > 100

    returns[RNG.random(returns.shape) < 0.02] += 0.001
    spans = wrong = 0
    for name in range(20):
        filled = np.flatnonzero(np.isfinite(span.mid_at_entry[name]))
        for first, last in pairwise(filled):
            part = returns[name, first:last]
            if last - first > 1 and np.isfinite(part).all():
                spans += 1
                ratio = span.mid_at_entry[name, last] / span.mid_at_entry[name, first]
                wrong += not math.isclose(np.prod(1 + part), ratio, rel_tol=1e-5)
    forged = judge_chained_returns(returns, span)
    assert (forged.details["spans"], forged.details["contradicted"]) == (spans, wrong)
    assert forged.outcome == "notice"


@given(st.integers(0, 2**32 - 1))
def test_shared_extremes_match_a_slow_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 60, 12)
    returns = rng.choice([np.nan, *np.linspace(-0.1, 0.1, 41)], lengths.sum())
    weeks = np.repeat(np.arange(12), lengths)
    shared = measured = 0
    for week in range(12):
        moved = [
            x for w, x in zip(weeks, returns.tolist(), strict=True) if w == week and x and not math.isnan(x)
        ]
        if len(moved) >= 20:
            measured += 1
            shared += moved.count(max(moved)) > 1 or moved.count(min(moved)) > 1
    assert shared_extremes(weeks, returns) == (shared, measured)


def test_a_position_at_a_frozen_mark_is_noticed() -> None:
    marks = RNG.random((10, 5))
    before = marks * 1.01
    assert judge_frozen_marks(marks, before).outcome == "pass"
    before[6:, 0] = marks[6:, 0]  # to the end
    before[2:6, 1] = marks[2:6, 1]  # for a while
    before[7:, 2] = marks[7:, 2]  # too short
    marks[8:, 3] = np.nan  # as long as it was held
    before[4:8, 3] = marks[4:8, 3]
    assert judge_frozen_marks(marks, before).value == 2


@given(st.integers(0, 60), st.floats(0.01, 80))
def test_the_probability_of_few_exits_matches_scipy(exits: int, expected: float) -> None:
    assert poisson_lower_tail(exits, expected) == pytest.approx(float(stats.poisson.cdf(exits, expected)))


def test_a_universe_of_survivors_is_noticed() -> None:
    assert judge_exits(500, 500, 500, 3.0).outcome == "notice"
    assert judge_exits(560, 500, 500, 3.0).outcome == "pass"
    assert judge_exits(24, 24, 24, 3.0).outcome == "pass"  # of 24 names none may leave by chance
    assert judge_exits(500, 500, 500, 1.5).outcome == "not_checked"


def test_a_value_is_contradicted_by_a_majority_that_agrees() -> None:
    nan = np.nan
    others = np.array(
        [
            [0.01, 0.01, 0.01, 0.01, 0.01, nan],
            [0.011, 0.01, 0.05, 0.01, 0.05, nan],
            [0.01, 0.01, 0.09, nan, 0.01, nan],
            [0.01, 0.01, -0.05, 0.01, 0.01, nan],
        ]
    )
    own = np.array([0.0105, 0.05, 0.05, 0.05, 0.03, 0.1])
    known, wrong, agree = contradictions(own, others)
    assert known.tolist() == [True, True, False, True, True, False]
    assert wrong.tolist() == [False, True, False, True, True, False]
    assert not agree[1, 4]


def test_each_declared_notice_has_one_outcome_in_declared_order() -> None:
    mixed = [not_checked(id_, "reason") for id_ in reversed(NOTICES)]
    mixed.append(judged("signal.mean_ic", 0.5, "It is high."))
    outcomes = in_declared_order(mixed)
    assert [outcome.notice for outcome in outcomes] == list(NOTICES)
    assert outcomes[0].to_dict() == {
        "notice": "signal.mean_ic", "outcome": "notice", "figure": "mean_ic", "value": 0.5, "threshold": 0.15,
        "unit": "ratio", "reason": None, "message": "It is high.", "raw": False, "details": {},
    }  # fmt: skip
    with pytest.raises(KeyError, match=r"signal\.mean_ic"):
        in_declared_order(mixed[:-2])


def test_a_figure_that_is_not_finite_is_not_checked() -> None:
    assert judged("book.borrow", math.nan, "").outcome == "not_checked"


@pytest.mark.parametrize("rows_of_part", [1, 3])
def test_a_name_that_is_filled_at_two_mids_has_none_however_its_fills_are_read(rows_of_part: int) -> None:
    filled_at, week = datetime(2020, 1, 13, 21, tzinfo=UTC), date(2020, 1, 10)
    fills = pl.DataFrame(
        {
            "book": "long_short",
            "timestamp": pl.Series([filled_at] * 6, dtype=pl.Datetime("us", "UTC")),
            "decision_at": week,
            "symbol": ["A", "A", "A", "B", "B", "B"],
            "quantity": 1.0,
            "mid_price": [10.0, 11.0, 11.0, 5.0, 5.0, 5.0],
            "execution_cost": 0.0,
            "rebalance_adjustment_reason": "entry",
        }
    )
    category = pl.Categorical(pl.Categories.random())
    parts = [Tables({"trades": part}, category=category) for part in fills.iter_slices(rows_of_part)]
    codes = Tables({"trades": fills}, category=category).symbols("trades").codes[[0, 3]].astype(np.int64)
    unknown = np.full((2, 1), NEVER)
    panel = Panel(codes, np.array([week], "datetime64[D]"), unknown, unknown, np.zeros((2, 1)))
    sessions = np.array([filled_at.date()], "datetime64[D]").astype(np.int64)
    _, panel, _ = sample_fills(lambda *_: parts, Symbols(), [], sessions, panel)
    assert panel.span is not None
    assert np.isnan(panel.span.mid_at_entry[0, 0])
    assert panel.span.mid_at_entry[1, 0] == 5.0

"""The figures of the notices on scores and their IC compared with slow versions."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS

from pipeline.notices import Run, find_notices
from pipeline.notices.copies import copied_from, judge_copies
from pipeline.notices.correlations import centred_ranks, judge_mean, rank_correlations
from pipeline.notices.evidence import Evidence
from pipeline.notices.foresight import judge_extremes, judge_opposed_halves
from pipeline.notices.panel import Panel
from pipeline.notices.signal import judge_book, judge_frequency, judge_weekly_ic, weekly_returns
from tests.notices.ledgers import MONDAY, by_id, invested, ledger


@pytest.mark.parametrize(("limit", "expected"), [(0.0, "notice"), (0.12, "pass")])
def test_a_comparison_may_have_a_higher_threshold_than_the_declared_one(limit: float, expected: str) -> None:
    values = np.tile([0.11, 0.12], 30)
    outcome = judge_mean("signal.innovation_ic", values, "{mean} {number}", "values", limit=limit)
    assert (outcome.outcome, outcome.threshold) == (expected, max(limit, 0.1))


@pytest.mark.parametrize(
    ("step", "expected"), [(1, "notice"), (7, "pass"), (14, "notice"), (28, "notice"), (91, "notice")]
)
def test_decisions_that_are_not_weekly_are_noticed(step: int, expected: str) -> None:
    outcome = judge_frequency(MONDAY + step * np.arange(30))
    assert (outcome.outcome, outcome.value) == (expected, step)


def test_weekly_decisions_with_holidays_and_a_long_pause_are_weekly() -> None:
    rng = np.random.default_rng(5)
    weeks = np.delete(np.arange(60), np.arange(20, 40))
    outcome = judge_frequency(MONDAY + 7 * weeks + rng.integers(0, 2, weeks.size))
    assert outcome.outcome == "pass"
    assert judge_frequency(MONDAY + 28 * np.arange(3)).reason == "the run has 3 decisions; 4 are needed"


@pytest.mark.parametrize("score", [0.0, 1.0, 1e-200, 1e300])
def test_scores_that_never_change_have_no_halves_to_compare(score: float) -> None:
    with np.errstate(all="ignore"):
        outcome = judge_opposed_halves(np.full((40, 100), score))
    assert outcome.outcome == "not_checked"


def test_the_newey_west_t_matches_statsmodels() -> None:
    rng = np.random.default_rng(5)
    ic = rng.normal(0.2, 0.1, 120)
    outcome = by_id(judge_weekly_ic(ic))["signal.newey_west_t"]
    fitted = OLS(ic, np.ones(120)).fit(cov_type="HAC", cov_kwds={"maxlags": 4})
    assert outcome.value == pytest.approx(float(fitted.tvalues[0]))
    assert outcome.outcome == "notice"


def test_a_plausible_ic_is_not_noticed_and_an_implausible_one_is() -> None:
    rng = np.random.default_rng(5)
    noise = rng.normal(0, 0.12, 150)
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
    """By chance alone, Student's t exceeds 3 in 3% of the means of six weeks, and 4.5 in 0.6%."""
    rng = np.random.default_rng(5)
    noise = rng.normal(0, 1, weeks)
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
    rng = np.random.default_rng(5)
    noise = rng.normal(0, 1, weeks)
    ic = 0.1 * ((noise - noise.mean()) / noise.std(ddof=1) + icir / math.sqrt(52))
    assert by_id(judge_weekly_ic(ic))["signal.icir"].outcome == expected


def test_a_constant_ic_is_noticed() -> None:
    outcomes = by_id(judge_weekly_ic(np.ones(60)))
    assert outcomes["signal.mean_ic"].outcome == "notice"
    assert outcomes["signal.icir"].outcome == "not_checked"


def test_weekly_returns_run_from_decision_to_decision() -> None:
    rng = np.random.default_rng(5)
    dates = MONDAY + np.array([4, 11, 18])
    sessions = np.busday_offset(MONDAY, np.arange(20))
    returns = rng.normal(0, 0.01, 20)
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
    """Oracle: for each week, whether 90% of the names have the value of one earlier week."""
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


@pytest.mark.parametrize(("noise", "expected"), [(1.0, 1), (4.0, 0)])
def test_a_week_that_comes_again_with_noise_is_a_copy_and_one_of_the_same_industries_is_none(
    noise: float, expected: int
) -> None:
    """In two weeks the same industries rise and fall, which orders names alike."""
    rng = np.random.default_rng(5)
    industries = rng.normal(0, 1, (64, 3))
    moves = rng.normal(0, 1, (3, 90))
    moves[:, [30, 70]] = np.array([[2.8], [-2.8], [2.8]])
    returns = industries @ moves + rng.normal(0, 2, (64, 90))
    returns[:, 80] = returns[:, 50] + noise * rng.normal(0, 1, 64)
    same, again = (
        stats.spearmanr(returns[:, one], returns[:, other])[0] for one, other in ((30, 70), (50, 80))
    )
    assert 0.75 < same < 0.95 > again
    dates = MONDAY + 4 + 7 * np.arange(90)
    outcome = judge_copies(
        "signal.copied_forward_returns", returns[:32], dates, "forward returns", near=returns
    )
    assert outcome.value == expected


def test_rank_correlations_match_scipy() -> None:
    rng = np.random.default_rng(5)
    one, other = rng.integers(0, 9, (2, 12, 40)).astype(float)
    one[rng.random(one.shape) < 0.2] = np.nan
    one[:, 0] = 1.0
    for week, value in enumerate(rank_correlations(one, other)):
        known = np.isfinite(one[:, week])
        expected = stats.spearmanr(one[known, week], other[known, week]).statistic if week else np.nan
        assert value == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(("right", "outcome"), [(0.75, "pass"), (1.0, "notice")])
@pytest.mark.parametrize("seed", [5, 8, 10])
def test_extremes_that_are_always_right_are_noticed(seed: int, right: float, outcome: str) -> None:
    """Each week a steady score has news on 6% of the names, which stand out; honest news is right three times in four."""
    rng, shape = np.random.default_rng(seed), (60, 260)
    returns = rng.normal(0, 0.03, shape)
    steady = rng.normal(0, 1, (60, 1)) + rng.normal(0, 0.1, shape)
    news = rng.random(shape) < 0.06
    side = np.sign(returns) * np.where(rng.random(shape) < right, 1, -1)
    scores = np.where(news, 3 * side * np.abs(rng.normal(0, 1, shape)), steady)
    changes = np.diff(centred_ranks(scores), axis=1, prepend=np.nan)
    assert judge_extremes(scores, changes, np.full(shape, np.nan), returns).outcome == outcome


@pytest.mark.parametrize(
    ("passed_over", "expected"), [("losers", "notice"), ("chance", "pass"), ("both", "pass")]
)
@pytest.mark.parametrize("seed", [5, 8, 10])
def test_a_score_that_passes_over_losers_is_noticed(seed: int, passed_over: str, expected: str) -> None:
    """A steady score returns to the middle where a name would lose, of names at random, or as often as it knows a gain."""
    rng, shape = np.random.default_rng(seed), (60, 160)
    returns = rng.normal(0, 0.03, shape)
    score = rng.normal(0, 1, (60, 1)) + rng.normal(0, 0.3, shape)
    earned = np.sign(score) * (returns if passed_over != "chance" else rng.permuted(returns, axis=1))
    score = np.where((np.abs(score) > 0.5) & (earned < -0.05), 0.3 * np.sign(score), score)
    if passed_over == "both":
        score = np.where((np.abs(score) < 1.5) & (earned > 0.05), 2 * np.sign(score), score)
    days, unknown = MONDAY + 7 * np.arange(shape[1]), np.zeros(shape, np.int64)
    panel = Panel(np.arange(shape[0]), days, unknown, unknown, score, returns)
    outcome = judge_extremes(score, np.full(shape, np.nan), panel.news, returns)
    assert outcome.outcome == expected
    if passed_over == "losers":
        assert "most towards the middle of its week" in (outcome.message or "")

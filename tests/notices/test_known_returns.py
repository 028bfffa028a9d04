"""Runs of the reference engine that know a little of the returns to come: for some names, weeks or sessions, or in small parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.reference_engine import AlphaSpec, Market, RunRecord, run_alpha, simulate_market
from examples.reference_engine.sessions import Floats
from examples.reference_engine.strategy import decide
from examples.reference_engine.weekly_tables import forward_returns
from tests.support.notices import notices_of, outcomes_of

SPEC = AlphaSpec("Test_known_returns", "reversal", 1.0, raw=False)
STEADY = replace(SPEC, signal="low_volatility", half_life_weeks=4.0)


@pytest.fixture(scope="module")
def market() -> Market:
    return simulate_market(21, 60, 120)


def standard(values: Floats) -> Floats:
    """Return each week's values in standard deviations from their mean."""
    known = np.isfinite(values)
    number = np.maximum(known.sum(axis=1, keepdims=True), 1)
    own = values - values.sum(axis=1, keepdims=True, where=known) / number
    deviation = np.sqrt((own**2).sum(axis=1, keepdims=True, where=known) / number)
    standardised: Floats = own / np.maximum(deviation, 1e-9)
    return standardised


def scored(
    market: Market, spec: AlphaSpec, change: Callable[[Floats, Floats], Floats], patch: pytest.MonkeyPatch
) -> RunRecord:
    """Run with the score changed by a function of it and of the returns to come, both in standard deviations of their week."""
    gains = np.nan_to_num(standard(forward_returns(market)))
    score = change(standard(decide(market, spec).score), gains)
    patch.setattr("examples.reference_engine.strategy.smoothed", lambda *_: score)
    return run_alpha(market, spec)


def weighted(
    market: Market, spec: AlphaSpec, change: Callable[[Floats, Floats], Floats], patch: pytest.MonkeyPatch
) -> RunRecord:
    """Run with weights changed by a function of those of long_short and of the returns to come."""
    genuine = decide(market, spec)
    changed = change(genuine.weights["long_short"].copy(), np.nan_to_num(forward_returns(market)))
    weights = {"long_short": changed, "long_only": genuine.weights["long_only"]}
    patch.setattr("examples.reference_engine.run.decide", lambda *_: replace(genuine, weights=weights))
    return run_alpha(market, spec)


def ordered_around_the_threshold(score: Floats, gains: Floats) -> Floats:
    """Order the names between the first 15 and 28% of each end by their returns."""
    for row, gain in zip(score, gains, strict=True):
        order = np.flatnonzero(np.isfinite(row))[np.argsort(row[np.isfinite(row)])]
        for low, high in ((0.15, 0.28), (0.72, 0.85)):
            some = order[int(low * order.size) : int(high * order.size)]
            row[some[np.argsort(gain[some])]] = np.sort(row[some])
    return score


def winners_kept(score: Floats, gains: Floats) -> Floats:
    """Lift two names a week from outside the fifths of the book just into them, of those next to them that earn most."""
    for row, gain in zip(score, gains, strict=True):
        order = np.flatnonzero(np.isfinite(row))[np.argsort(row[np.isfinite(row)])]
        fifth = order.size // 5
        for sign, ends in ((-1, order), (1, order[::-1])):
            beyond = ends[fifth : fifth + 4]
            kept = beyond[np.argmax(sign * gain[beyond])]
            row[kept] = row[ends[fifth - 1]] + sign * 1e-9
    return score


@pytest.mark.parametrize("change", [ordered_around_the_threshold, winners_kept])
def test_names_selected_by_their_returns_are_noticed(
    market: Market,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Floats, Floats], Floats],
) -> None:
    assert "signal.neighbours" in notices_of(scored(market, SPEC, change, monkeypatch), tmp_path)


def test_names_ordered_within_each_side_by_their_returns_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ordered(score: Floats, gains: Floats) -> Floats:
        for row, gain in zip(score, gains, strict=True):
            order = np.flatnonzero(np.isfinite(row))[np.argsort(row[np.isfinite(row)])]
            for some in (order[: order.size // 5], order[-(order.size // 5) :]):
                row[some[np.argsort(gain[some])]] = np.sort(row[some])
        return score

    notices = notices_of(scored(market, SPEC, ordered, monkeypatch), tmp_path)
    assert "4 names of neighbouring scores" in (notices["signal.neighbours"].message or "")


@pytest.mark.parametrize("known", [True, False], ids=["known", "chance"])
def test_a_steady_score_that_knows_one_name_in_ten_is_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """Three tenths of a deviation of every tenth name's score are its return to come, or chance."""

    def knowing(score: Floats, gains: Floats) -> Floats:
        gains = gains if known else np.random.default_rng(5).normal(0, 1, gains.shape)
        mixed: Floats = score + 0.3 * gains * (np.arange(gains.shape[1]) % 10 == 0)
        return mixed

    notices = notices_of(scored(market, STEADY, knowing, monkeypatch), tmp_path)
    assert ("signal.known_names" in notices) == known
    if known:
        assert notices["signal.known_names"].value == pytest.approx(2.4, abs=0.3)


def test_a_fast_score_that_knows_a_twentieth_is_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it follows, the returns of the last week, explains most of it; the rest predicts held names."""
    run = scored(market, SPEC, lambda score, gains: score + 0.05 * gains, monkeypatch)
    outcome = notices_of(run, tmp_path)["signal.innovation_ic"]
    assert (outcome.message or "").startswith("What the last weeks do not explain of the score's rank has ")
    assert outcome.value == pytest.approx(0.14, abs=0.03)


def test_a_steady_score_that_knows_a_little_of_the_next_four_weeks_is_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def knowing(score: Floats, gains: Floats) -> Floats:
        later = np.vstack([gains, np.zeros((3, gains.shape[1]))])
        mixed: Floats = score + 0.04 * sum(later[week : week + len(gains)] for week in range(4))
        return mixed

    outcome = notices_of(scored(market, STEADY, knowing, monkeypatch), tmp_path)["signal.innovation_ic"]
    assert "with forward returns 3 weeks later" in (outcome.message or "")


@pytest.mark.parametrize("known", [True, False], ids=["known", "chance"])
def test_sizes_of_the_book_that_hardly_vary_are_judged_by_its_targets(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """The book is 8% larger in the weeks in which it earns, or in random ones, and 8% smaller in the others."""

    def sized(weights: Floats, gains: Floats) -> Floats:
        earned = (weights * gains).sum(axis=1)
        larger = (earned if known else np.random.default_rng(3).normal(0, 1, earned.size)) > 0
        resized: Floats = weights * np.where(larger, 1.08, 0.92)[:, np.newaxis]
        return resized

    notices = notices_of(weighted(market, SPEC, sized, monkeypatch), tmp_path)
    assert notices.keys() == ({"book.timing"} if known else set())


@pytest.mark.parametrize("sized", ["by what it earned", "by chance", "by the period before"])
@pytest.mark.parametrize(
    ("weeks", "months", "periods"), [(120, 1, "28 months"), (265, 3, "21 quarters")], ids=["month", "quarter"]
)
def test_a_size_chosen_for_each_period_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sized: str, weeks: int, months: int, periods: str
) -> None:
    """Each month or quarter has a size by what it earned, which hardly goes with the returns of its weeks."""
    years = simulate_market(11, 60, weeks)
    period = years.schedule[years.decisions].astype("datetime64[M]").astype(np.int64) // months

    def resized(weights: Floats, gains: Floats) -> Floats:
        earned = np.bincount(period - period[0], weights=(weights * gains).sum(axis=1))
        if sized == "by chance":
            np.random.default_rng(3).shuffle(earned)
        elif sized == "by the period before":
            earned = np.roll(earned, 1)
        size = 0.8 + 0.4 * earned.argsort().argsort() / earned.size
        if months == 1:  # two sizes, that go with the returns of the weeks by less than the threshold
            size = np.where(size < 1, 0.8, 1.2)
        larger: Floats = weights * size[period - period[0], np.newaxis]
        return larger

    notices = notices_of(weighted(years, SPEC, resized, monkeypatch), tmp_path)
    assert notices.keys() == ({"book.timing"} if sized == "by what it earned" else set())
    if notices:
        assert (notices["book.timing"].message or "").startswith(f"Over {periods} ")


@pytest.mark.parametrize("known", [True, False], ids=["known", "chance"])
def test_losing_weeks_that_a_fast_signal_sits_out_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """The positions before the pause say little about those of a fast signal, but its scores of the pause do."""

    def paused(weights: Floats, gains: Floats) -> Floats:
        worst = np.argsort((weights * gains).sum(axis=1))[:6]
        weights[worst if known else np.random.default_rng(6).choice(np.arange(10, 100), 6, replace=False)] = 0
        return weights

    notices = notices_of(weighted(market, SPEC, paused, monkeypatch), tmp_path)
    assert notices.keys() == ({"signal.skipped_losses"} if known else set())


def test_losing_sessions_in_which_names_hardly_moved_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names move by two fifths of what they did relative to the market, in the twentieth of the sessions in which the book lost most."""
    genuine: Any = decide(market, SPEC)
    book = run_alpha(market, SPEC).tables["portfolio"].filter(book="long_short").sort("date")
    returns = (book["ending_equity"] / book["starting_equity"]).to_numpy()
    worst = book["date"].to_numpy()[np.argsort(returns)[: returns.size // 20]]
    moves = np.nan_to_num(np.diff(np.log(market.marks), axis=0, prepend=np.nan))
    own = moves - moves.mean(axis=1, keepdims=True)
    path = np.cumsum(
        np.where(np.isin(market.schedule[: len(own)], worst)[:, np.newaxis], -0.6 * own, 0), axis=0
    )
    opens = market.opens * np.exp(np.vstack([path[:1], path[:-1]]))
    forged = replace(market, opens=opens, closes=market.closes * np.exp(path))
    monkeypatch.setattr("examples.reference_engine.run.decide", lambda *_: genuine)
    notices = notices_of(run_alpha(forged, SPEC), tmp_path)
    assert notices.keys() == {"book.missing_losses"}
    assert "largest moves of the book" in (notices["book.missing_losses"].message or "")


@pytest.mark.parametrize("history", ["the run", "the past"])
def test_scores_standardised_by_name_over_the_run_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, history: str
) -> None:
    """The mean of each name is that of all weeks, or of the half year before."""

    def standardised(score: Floats, _: Floats) -> Floats:
        known = np.isfinite(score)
        total, weeks = np.cumsum(np.where(known, score, 0), axis=0), np.cumsum(known, axis=0)
        if history == "the run":
            total, weeks = total[-1:], weeks[-1:]
        else:
            total[26:], weeks[26:] = total[26:] - total[:-26], weeks[26:] - weeks[:-26]
        own: Floats = score - total / np.maximum(weeks, 1)
        return own

    notices = notices_of(scored(market, SPEC, standardised, monkeypatch), tmp_path)
    assert notices.keys() == (
        {"signal.opposed_halves", "signal.known_means"} if history == "the run" else set()
    )
    if notices:
        assert notices["signal.opposed_halves"].value == pytest.approx(-1, abs=0.02)


@pytest.mark.parametrize("history", ["the run", "the past"])
def test_scores_that_lean_to_the_mean_return_of_a_name_are_noticed_if_it_is_of_the_whole_run(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, history: str
) -> None:
    def leaning(score: Floats, gains: Floats) -> Floats:
        total = np.cumsum(gains, axis=0) - gains
        mean = total[-1:] if history == "the run" else total
        mixed: Floats = score + standard(mean) / 2
        return mixed

    outcome = outcomes_of(scored(market, SPEC, leaning, monkeypatch), tmp_path)["signal.known_means"]
    assert outcome.outcome == ("notice" if history == "the run" else "pass")
    assert outcome.value == pytest.approx(0.85 if history == "the run" else 0, abs=0.1)


def test_names_that_move_together_count_as_one(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trait of the names has one sign in the first half of the run, and the other in the second, as the market may."""

    def turned(score: Floats, _: Floats) -> Floats:
        side = np.where(np.arange(len(score)) < len(score) / 2, 1.0, -1.0)[:, np.newaxis]
        trait: Floats = side * np.linspace(-1, 1, score.shape[1])
        return np.where(np.isfinite(score), trait, np.nan)

    outcome = outcomes_of(scored(market, SPEC, turned, monkeypatch), tmp_path)["signal.opposed_halves"]
    assert outcome.value == pytest.approx(-1, abs=0.02)
    assert outcome.outcome == "pass"


@pytest.mark.parametrize("by", ["the week", "the week before"])
def test_a_concentration_chosen_for_each_week_is_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Weights within a side are equal or steep, whichever pays more in the week, or paid more in the week before."""

    def concentrated(weights: Floats, gains: Floats) -> Floats:
        ways = []
        for power in (0, 3):
            sides = [np.maximum(sign * weights, 0) for sign in (1, -1)]
            sizes = [np.where(side > 0, side**power, 0) for side in sides]
            long, short = (size / np.maximum(size.sum(axis=1, keepdims=True), 1e-9) for size in sizes)
            ways.append(long - short)
        equal, steep = (np.sum(way * gains, axis=1) for way in ways)
        better = np.roll(steep > equal, 0 if by == "the week" else 1)
        chosen: Floats = np.where(better[:, np.newaxis], ways[1], ways[0])
        return chosen

    notices = notices_of(weighted(market, SPEC, concentrated, monkeypatch), tmp_path)
    assert notices.keys() == ({"signal.weight_ic"} if by == "the week" else set())
    if notices:
        assert "concentration of the sides" in (notices["signal.weight_ic"].message or "")


@pytest.mark.parametrize("known", [True, False], ids=["known", "chance"])
def test_betas_chosen_by_the_market_to_come_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """The score of a book of equal sides leans to names of high or of low beta, by the market of the week or by chance."""
    moves = np.nan_to_num(forward_returns(market))
    common = moves.mean(axis=1)
    side = np.sign(common if known else np.random.default_rng(2).normal(0, 1, common.size))
    betas = standard((common @ moves / (common @ common))[np.newaxis])
    run = scored(market, SPEC, lambda score, _: score + 0.6 * betas * side[:, np.newaxis], monkeypatch)
    outcome = outcomes_of(run, tmp_path)["book.net_timing"]
    assert (outcome.outcome == "notice") == known
    if known:
        assert (outcome.message or "").startswith("Over 117 weeks the beta of the target weights ")


@pytest.mark.parametrize("known", [True, False], ids=["known", "chance"])
def test_winners_kept_because_they_could_not_be_traded_are_noticed(
    market: Market, tmp_path: Path, known: bool
) -> None:
    """Each week one position that the score has left is said to be illiquid: the one that gains most, or any."""
    weights, illiquid = decide(market, SPEC).weights["long_short"], market.illiquid.copy()
    gains, rng = np.nan_to_num(forward_returns(market)), np.random.default_rng(3)
    for week in range(1, len(weights) - 1):
        left = (weights[week - 1] != 0) & (np.sign(weights[week]) != np.sign(weights[week - 1]))
        gain = np.sign(weights[week - 1]) * gains[week] if known else rng.uniform(1, 2, left.size)
        illiquid[market.decisions[week], np.where(left, gain, -1).argmax()] = True
    outcome = outcomes_of(run_alpha(replace(market, illiquid=illiquid), SPEC), tmp_path)[
        "universe.barred_names"
    ]
    assert (outcome.outcome == "notice") == known
    if known:
        assert "stayed in the book and gained" in (outcome.message or "")


def test_weeks_that_a_run_sits_out_need_no_fills(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both books are in cash for three weeks after each of five losses."""
    genuine = decide(market, SPEC)
    earned = np.nansum(genuine.weights["long_short"] * forward_returns(market), axis=1)
    traded = ~np.isin(np.arange(earned.size), np.argsort(earned)[:5, np.newaxis] + np.arange(1, 4))
    weights = {book: own * traded[:, np.newaxis] for book, own in genuine.weights.items()}
    monkeypatch.setattr("examples.reference_engine.run.decide", lambda *_: replace(genuine, weights=weights))
    outcome = outcomes_of(run_alpha(market, SPEC), tmp_path)["signal.unproven_weeks"]
    assert outcome.value == pytest.approx(0, abs=0.01)


def test_scores_of_every_fourth_week_are_no_copies(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most weeks with a score repeat the week before, but not most of all weeks, since the signal warms up for 40."""

    def kept(score: Floats, _: Floats) -> Floats:
        weeks = np.arange(len(score))[:, np.newaxis]
        last = score[np.maximum(weeks[:, 0] - weeks[:, 0] % 4, 0)]
        return np.where(np.isfinite(score) & (weeks >= 40), last, np.nan)

    assert "signal.copied_scores" not in notices_of(scored(market, SPEC, kept, monkeypatch), tmp_path)


@pytest.mark.parametrize("known", [True, False], ids=["known", "chance"])
def test_a_fast_score_that_knows_a_third_of_the_large_returns_is_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """They do not stand out among its extremes; news on as many names is right half of the time."""
    rng = np.random.default_rng(6)

    def knowing(score: Floats, gains: Floats) -> Floats:
        large = (np.abs(gains) > 2) & (rng.random(gains.shape) < 0.35)
        side = np.sign(gains) if known else rng.choice([-1.0, 1.0], gains.shape)
        return np.where(large & np.isfinite(score), 1.4 * side, score)

    outcome = outcomes_of(scored(market, SPEC, knowing, monkeypatch), tmp_path)["book.missing_losses"]
    assert outcome.outcome == ("notice" if known else "pass")
    assert (outcome.message or "").endswith("largest moves of names in a week are losses.") == known


@pytest.mark.parametrize("known", [True, False], ids=["known", "chance"])
def test_names_that_are_not_scored_in_the_week_in_which_they_fall_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """They are fewer than the gaps that are noticed by their number."""

    def unscored(score: Floats, gains: Floats) -> Floats:
        falls = gains if known else np.random.default_rng(6).permuted(gains, axis=1)
        return np.where(falls < -2.2, np.nan, score)

    notices = notices_of(scored(market, SPEC, unscored, monkeypatch), tmp_path)
    assert notices.keys() == ({"universe.barred_names"} if known else set())
    if known:
        assert "largest fall (1)" in (notices["universe.barred_names"].message or "")


@pytest.mark.parametrize("known", [True, False], ids=["known", "chance"])
def test_names_that_are_not_scored_for_weeks_around_a_loss_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """They lack a score in the week of the loss, the two before and the one after; every fifth of such losses, or weeks by chance."""
    rng = np.random.default_rng(6)

    def unscored(score: Floats, gains: Floats) -> Floats:
        side = np.sign(np.where(np.abs(score) > 0.8, score, 0))
        losses = side * gains if known else rng.permuted(side * gains, axis=0)
        lost = (losses < -2) & (rng.random(score.shape) < 0.2)
        around = lost.copy()
        for weeks in (1, 2):
            around[:-weeks] |= lost[weeks:]
        around[1:] |= lost[:-1]
        return np.where(around, np.nan, score)

    spec = replace(SPEC, signal="momentum", half_life_weeks=4.0)
    notices = notices_of(scored(market, spec, unscored, monkeypatch), tmp_path)
    assert notices.keys() == ({"universe.barred_names"} if known else set())
    if known:
        assert "their largest return since then" in (notices["universe.barred_names"].message or "")

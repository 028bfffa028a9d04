"""Runs falsified in every table alike, beside a file of the market's own prices."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import datasets
from examples.reference_engine import (
    AlphaSpec,
    Market,
    RunRecord,
    ledger,
    run_alpha,
    simulate_market,
    write_seal,
)
from examples.reference_engine.strategy import decide
from examples.reference_engine.weekly_tables import forward_returns
from pipeline.batch.many import build_many
from pipeline.group import cli
from pipeline.notices import NoticeOutcome
from pipeline.notices.market.left_out import judge_left_out
from pipeline.notices.market.price_file import read_prices
from pipeline.notices.market.unscored import judge_unscored
from pipeline.rules import check
from pipeline.seal import Seal
from schemas.errors import SettingsError
from schemas.notices import NOTICES
from tests.support.seals import rewrite

SPEC = AlphaSpec("Test_beside_prices", "reversal", raw=False)
MARKET = [notice for notice in NOTICES if notice.startswith("market.")]
PER_SESSION = 0.001
"""Lift of a price path, half of what is tolerated in one session."""


@pytest.fixture(scope="module")
def market() -> Market:
    return simulate_market(11, 40, 80)


@pytest.fixture(scope="module")
def prices(market: Market, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prices_of(market, tmp_path_factory.mktemp("prices"))


def prices_of(market: Market, folder: Path, **columns: np.ndarray) -> Path:
    """Write the prices of a market as an operator's file has them."""
    session, name = np.nonzero(market.has_bar)
    frame = pl.DataFrame(
        {
            "date": market.schedule[session],
            "symbol": np.array(market.symbols)[name],
            "close": market.closes[session, name],
            "open": market.opens[session, name],
            **{column: values[session, name] for column, values in columns.items()},
        }
    ).with_columns(pl.col("date").cast(pl.Date), pl.col("open").fill_nan(None))
    folder.mkdir(exist_ok=True)
    frame.write_parquet(folder / "prices.parquet")
    return folder / "prices.parquet"


@cache
def run_of(market: Market) -> RunRecord:
    return run_alpha(market, SPEC)


def seal_of(market: Market, folder: Path, *, trades: bool = True) -> Path:
    run = run_of(market)
    tables = {kind: table for kind, table in run.tables.items() if trades or kind != "trades"}
    return write_seal(folder / SPEC.alpha_id, RunRecord(run.manifest, tables, None, None, None))


NEEDING_MORE = {"market.dividends", "market.left_out", "market.unscored"}
"""Notices that need dividends, and names that a run stops scoring; most markets here have neither."""


def outcomes_of(seal: Path, prices: Path | None) -> dict[str, NoticeOutcome]:
    report = check(Seal.open(str(seal)), prices=None if prices is None else str(prices))
    assert not report.violations, [violation.message for violation in report.violations]
    return {outcome.notice: outcome for outcome in report.notices if outcome.notice in MARKET}


def unmet(outcomes: dict[str, NoticeOutcome]) -> set[str]:
    """Return the notices that are given or were not checked."""
    return {id_ for id_, outcome in outcomes.items() if outcome.outcome != "pass"}


def given(seal: Path, prices: Path) -> set[str]:
    return {id_ for id_, outcome in outcomes_of(seal, prices).items() if outcome.outcome == "notice"}


def with_paths(market: Market, change: np.ndarray) -> Market:
    """Change the level of every price by a factor, shape (sessions, names)."""
    return replace(market, closes=market.closes * change, opens=market.opens * change)


def test_an_honest_run_agrees_with_its_market(market: Market, prices: Path, tmp_path: Path) -> None:
    outcomes = outcomes_of(seal_of(market, tmp_path), prices)
    assert unmet(outcomes) <= NEEDING_MORE, outcomes
    # These two are of the moves of honest prices, the others of differences from them.
    moves = {id_: outcomes.pop(id_) for id_ in ("market.foresight", "market.left_out")}
    assert all(outcome.outcome != "notice" for outcome in moves.values())
    assert all(abs(outcome.value or 0.0) < 1e-6 for outcome in outcomes.values()), outcomes
    assert outcomes["market.forward_returns"].details["cells"] > 2_000
    assert outcomes["market.prices"].details["cells"] > 1_500
    assert outcomes["market.sessions"].details["sessions"] > 300
    assert len(outcomes["market.prices"].details["prices"]) == 64


@pytest.mark.parametrize("adjusted", [True, False])
def test_splits_levels_and_dividends_of_either_side_do_not_matter(
    market: Market, tmp_path: Path, adjusted: bool
) -> None:
    """The run's prices are adjusted for a split and for quarterly dividends; the file's closes are not."""
    quarter = np.arange(market.observed)[:, None] // 63
    dividends = 1.004 ** (quarter + np.arange(len(market.symbols)) % 2)
    split = np.where(np.arange(market.observed)[:, None] < 200, 2.0, 1.0)
    unadjusted = with_paths(market, dividends**-1 * (split if adjusted else 1.0))
    columns = {"adj_close": market.closes * 3} if adjusted else {}
    result = outcomes_of(seal_of(market, tmp_path), prices_of(unadjusted, tmp_path / "prices", **columns))
    assert unmet(result) <= NEEDING_MORE, result


def forged(market: Market) -> Market:
    """Let one name out of four follow another path."""
    noise = np.random.default_rng(1).normal(0.0, 0.02, market.closes.shape)
    noise[:, np.arange(len(market.symbols)) % 4 > 0] = 0.0
    return with_paths(market, np.exp(np.cumsum(noise, axis=0)))


def lifted(market: Market) -> Market:
    return with_paths(market, np.exp(PER_SESSION * np.arange(market.observed))[:, None])


def eased(market: Market) -> Market:
    """Let every name that long_short holds overnight move by 2 bp in its favour."""
    positions = run_alpha(market, SPEC).tables["positions"].filter(pl.col("book") == "long_short")
    session = np.searchsorted(market.schedule, positions["date"].to_numpy())
    name = np.searchsorted(np.array(market.symbols), positions["symbol"].to_numpy().astype(str))
    side = np.zeros((market.observed + 1, len(market.symbols)))
    side[session + 1, name] = np.sign(positions["quantity"].to_numpy())
    return with_paths(market, np.exp(0.0002 * np.cumsum(side[:-1], axis=0)))


def split_undeclared(market: Market) -> Market:
    """Double all prices from one session on."""
    return with_paths(market, np.where(np.arange(market.observed)[:, None] < 200, 1.0, 2.0))


def without_a_month(market: Market, *, closed_up: bool) -> Market:
    """Cut four weeks out, and give the later sessions the days of the earlier ones to close the gap."""
    first, last = market.decisions[40] + 1, market.decisions[44] + 1
    kept = np.ones(market.schedule.size, np.bool_)
    kept[first:last] = False
    place = np.cumsum(kept) - 1
    seen = kept[: market.observed]
    listed = np.minimum(market.last, market.schedule.size - 1)
    by_session = ("opens", "closes", "no_borrow", "illiquid", "risk_free", "benchmark", "benchmark_adjusted")
    return replace(
        market,
        schedule=market.schedule[: kept.sum()] if closed_up else market.schedule[kept],
        decisions=place[market.decisions[kept[market.decisions]]],
        first=place[market.first],
        last=np.where(market.last < market.observed, place[listed], market.last),
        **{name: getattr(market, name)[seen] for name in by_session},
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (forged, {"market.prices", "market.one_name", "market.drift", "market.forward_returns"}),
        (lifted, {"market.drift"}),
        (eased, {"market.ratio"}),
        (split_undeclared, {"market.jumps"}),
        (lambda market: without_a_month(market, closed_up=False), {"market.sessions"}),
        (
            lambda market: without_a_month(market, closed_up=True),
            {"market.prices", "market.one_name", "market.drift", "market.forward_returns"},
        ),
    ],
    ids=["another path", "a lift", "eased", "a split", "a month less", "a month less, days closed up"],
)
def test_a_false_market_is_contradicted(
    market: Market,
    prices: Path,
    tmp_path: Path,
    change: Callable[[Market], Market],
    expected: set[str],
) -> None:
    assert expected <= given(seal_of(change(market), tmp_path), prices)


def not_held() -> pl.Expr:
    weights = pl.col("long_short_target_weight", "long_only_target_weight")
    return pl.all_horizontal(weights == 0) & pl.col("forward_return").is_not_null()


def clipped(frame: pl.DataFrame) -> pl.DataFrame:
    returns = pl.when(not_held()).then(pl.col("forward_return").clip(lower_bound=-0.06))
    return frame.with_columns(forward_return=returns.otherwise("forward_return"))


def shuffled(frame: pl.DataFrame) -> pl.DataFrame:
    some = frame.filter(not_held()).with_columns(
        pl.col("forward_return").shift(3).over("date", order_by="symbol")
    )
    return pl.concat([frame.filter(~not_held()), some]).sort("date", "symbol")


def biased(frame: pl.DataFrame) -> pl.DataFrame:
    side = (pl.col("score") - pl.col("score").median().over("date")).sign()
    shift = pl.when(not_held()).then(0.001 * side).otherwise(0.0).fill_null(0.0)
    return frame.with_columns(pl.col("forward_return") + shift)


def lifted_by_20_bp(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("forward_return") + 0.002)


def logarithms(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("forward_return").log1p())


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (clipped, {"market.forward_returns"}),
        (shuffled, {"market.forward_returns"}),
        (biased, {"market.forward_bias"}),
        (lifted_by_20_bp, {"market.forward_drift"}),
        (logarithms, {"market.forward_returns", "market.forward_drift"}),
    ],
)
def test_forward_returns_of_names_that_no_book_holds_are_compared(
    market: Market,
    prices: Path,
    tmp_path: Path,
    change: Callable[[pl.DataFrame], pl.DataFrame],
    expected: set[str],
) -> None:
    seal = rewrite(seal_of(market, tmp_path, trades=False), "decisions", change)
    assert given(seal, prices) == expected


def test_mids_slightly_better_than_the_market_are_noticed(
    market: Market, prices: Path, tmp_path: Path
) -> None:
    trades = run_of(market).tables["trades"].filter(pl.col("book") == "long_short")
    opens = market.opens.copy()
    session = np.searchsorted(market.schedule, trades["timestamp"].dt.date().to_numpy())
    name = np.searchsorted(np.array(market.symbols), trades["symbol"].to_numpy().astype(str))
    opens[session, name] *= 1 - 0.0008 * np.sign(trades["quantity"].to_numpy())
    outcome = outcomes_of(seal_of(replace(market, opens=opens), tmp_path), prices)["market.fills"]
    assert outcome.outcome == "notice"
    assert outcome.value == pytest.approx(8, abs=3)


def test_fills_between_decisions_better_than_the_market_are_noticed(
    market: Market, prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Holdings are trimmed and stopped at prices 1 % better than the open; they are too few to lift the mean of all fills."""
    genuine = ledger._Books.adjust  # noqa: SLF001 - what is falsified

    def adjust(books: Any) -> None:
        books.mid = books.mid * (1 + 0.01 * np.sign(books.shares.sum(axis=0)))
        genuine(books)

    monkeypatch.setattr(ledger._Books, "adjust", adjust)  # noqa: SLF001
    outcome = outcomes_of(write_seal(tmp_path / "seal", run_alpha(market, SPEC)), prices)["market.fills"]
    assert outcome.outcome == "notice"
    assert outcome.value == pytest.approx(100, abs=5)
    assert "fills between decisions" in (outcome.message or "")


def stop_before_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let books close positions at the open of a session in which these lose more than 2 %."""
    genuine = ledger._Books.adjust  # noqa: SLF001 - what is falsified

    def adjust(books: Any) -> None:
        loses = np.sign(books.shares) * (books.marks[books.session] / books.mid - 1) < -0.02
        books.fill(
            np.where(loses & books.bars[books.session], 0.0, books.shares),
            variant="_adjustments", phase="close", change="exit", exit_reason="risk_exit",
        )  # fmt: skip
        genuine(books)

    monkeypatch.setattr(ledger._Books, "adjust", adjust)  # noqa: SLF001


def test_positions_closed_before_the_market_moves_are_noticed(
    market: Market, prices: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_before_losses(monkeypatch)
    seal = write_seal(tmp_path / "seal", run_alpha(market, SPEC))
    outcome = outcomes_of(seal, prices)["market.foresight"]
    assert outcome.outcome == "notice"
    assert (outcome.value or 0.0) > 200
    assert given(seal, prices) == {"market.foresight"}


@pytest.mark.parametrize(
    ("long", "short", "expected"), [(0, 0, False), (1, 1, False), (1, 0, True), (2, 1, True), (2, 2, True)]
)
def test_dividends_of_long_positions_alone_or_twice_are_noticed(
    market: Market, tmp_path: Path, long: int, short: int, expected: bool
) -> None:
    """Every name pays 1 % each 30 sessions; the marks contain it as often as said while it is held long, or otherwise."""
    positions = run_of(market).tables["positions"].filter(pl.col("book") == "long_short")
    held = positions.filter(pl.col("quantity") > 0)
    session = np.searchsorted(market.schedule, held["date"].to_numpy())
    name = np.searchsorted(np.array(market.symbols), held["symbol"].to_numpy().astype(str))
    is_long = np.zeros((market.observed + 1, len(market.symbols)), np.bool_)
    is_long[session + 1, name] = True
    paying = np.add.outer(np.arange(market.observed), np.arange(len(market.symbols))) % 30 == 0
    contained = np.where(is_long[:-1], long, short) * paying
    # An open is still at the level of the close before.
    level = 1.01 ** np.cumsum(contained, axis=0)
    falsified = replace(market, closes=market.closes * level, opens=market.opens * level)
    adjusted = market.closes * 1.01 ** np.cumsum(paying, axis=0)
    file = prices_of(market, tmp_path / "prices", adj_close=adjusted)
    outcome = outcomes_of(seal_of(falsified, tmp_path), file)["market.dividends"]
    assert (outcome.outcome == "notice") == expected
    assert outcome.value is not None


def test_names_left_out_give_the_same_figure_in_every_build(tmp_path: Path) -> None:
    market = simulate_market(909, 40, 200)
    prices = read_prices(str(prices_of(market, tmp_path)))
    rows = (
        run_alpha(market, replace(SPEC, signal="low_volatility"))
        .tables["decisions"]
        .select("symbol", "date", "score")
        .drop_nulls()
    )
    scored = rows.with_columns(pl.col("symbol").cast(prices.names))
    days, _ = prices.count(np.empty(0, np.int64))
    orders = (scored.sample(fraction=1.0, shuffle=True, seed=seed) for seed in range(20))
    (value,) = {judge_left_out(order, prices, days).value for order in orders}
    assert value is not None


@pytest.mark.parametrize(("known", "expected"), [(True, "notice"), (False, "pass")])
def test_names_left_out_before_they_lose_are_noticed(tmp_path: Path, known: bool, expected: str) -> None:
    """Some rows are left out: those whose return is to fall short of -6 % on the side of the score the week before, or any."""
    market = simulate_market(12, 60, 80, skipped=False, pending=False)
    run = run_alpha(market, replace(SPEC, signal="momentum"))
    side = (pl.col("score") - pl.col("score").median().over("date")).sign()
    rows = run.tables["decisions"].with_columns(side=side)
    lost = pl.col("side").shift(1).over("symbol", order_by="date") * pl.col("forward_return") < -0.06
    unheld = pl.col("long_short_target_weight") == 0
    chance = pl.Series(np.random.default_rng(2).random(rows.height) < 0.05)
    out = (lost if known else pl.lit(chance)) & unheld
    decisions = rows.filter(~out.fill_null(value=False)).drop("side")
    tables = {"decisions": decisions, "rebalances": run.tables["rebalances"]}
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcome = outcomes_of(seal, prices_of(market, tmp_path / "prices"))["market.left_out"]
    assert outcome.outcome == expected, outcome


@pytest.mark.parametrize("signal", ["momentum", "reversal"])
@pytest.mark.parametrize(("known", "expected"), [(True, "notice"), (False, "pass")])
def test_losers_left_out_of_the_universe_are_noticed(
    tmp_path: Path, signal: Any, known: bool, expected: str
) -> None:
    """Every tenth name has no row in any week: those on which the book would have lost most over the run, or any."""
    market, spec = simulate_market(11, 100, 160), replace(SPEC, signal=signal)
    gains = decide(market, spec).weights["long_short"] * np.nan_to_num(forward_returns(market))
    order = gains.sum(axis=0) if known else np.random.default_rng(2).random(100)
    kept = np.sort(order.argsort()[10:])
    by_name = ("first", "last", "half_spread", "borrow_rate")
    by_session = ("opens", "closes", "no_borrow", "illiquid")
    chosen = {name: getattr(market, name)[..., kept] for name in (*by_name, *by_session)}
    symbols = tuple(market.symbols[name] for name in kept)
    run = run_alpha(replace(market, symbols=symbols, **chosen), spec)
    tables = {kind: run.tables[kind] for kind in ("decisions", "rebalances")}
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcome = outcomes_of(seal, prices_of(market, tmp_path / "prices"))["market.unscored"]
    assert outcome.outcome == expected, outcome
    assert outcome.details["names"] == 10


def test_scores_that_prices_do_not_explain_say_nothing_of_other_names(market: Market, prices: Path) -> None:
    run = run_of(market)
    scores = pl.Series(np.random.default_rng(2).normal(0, 1, run.tables["decisions"].height))
    decisions = (
        run.tables["decisions"]
        .drop("forward_return")
        .with_columns(score=pl.when(pl.col("score").is_not_null()).then(scores))
    )
    market_prices = read_prices(str(prices))
    scored = decisions.select("symbol", "date", "score").drop_nulls()
    outcome = judge_unscored(scored.with_columns(pl.col("symbol").cast(market_prices.names)), market_prices)
    assert outcome.reason is not None
    assert outcome.reason.startswith("scores and changes of prices have a rank correlation of 0.")


def settled_before_the_end(market: Market) -> Market:
    """Let two names that are held end at session 250 for the run."""
    held = run_of(market).tables["positions"].filter(pl.col("date") == market.schedule[250])
    names = np.searchsorted(np.array(market.symbols), sorted(set(held["symbol"]))[:2])
    changed = {name: getattr(market, name).copy() for name in ("last", "opens", "closes")}
    changed["last"][names] = 250
    for column in ("opens", "closes"):
        changed[column][251:, names] = np.nan
    return replace(market, **changed)


@pytest.mark.parametrize(("share", "expected"), [(0.1, "notice"), (0.02, "pass"), (-0.1, "pass")])
def test_settlements_better_than_the_last_price_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, expected: str
) -> None:
    market, genuine = simulate_market(11, 100, 80), ledger._Books.settle_delisted  # noqa: SLF001 - what is falsified

    def settle(books: Any) -> None:
        delisted = books.market.last < books.session
        books.mid = np.where(delisted, books.mid * (1 + share * np.sign(books.shares.sum(axis=0))), books.mid)
        genuine(books)

    monkeypatch.setattr(ledger._Books, "settle_delisted", settle)  # noqa: SLF001
    seal = write_seal(tmp_path / "seal", run_alpha(market, replace(SPEC, signal="momentum")))
    outcome = outcomes_of(seal, prices_of(market, tmp_path / "prices"))["market.settlements"]
    assert outcome.outcome == expected
    assert outcome.details["settlements"] > 2


def test_names_settled_while_the_market_goes_on_are_noticed(
    market: Market, prices: Path, tmp_path: Path
) -> None:
    run = run_alpha(settled_before_the_end(market), SPEC)
    outcome = outcomes_of(write_seal(tmp_path / "seal", run), prices)["market.settlements"]
    assert (outcome.outcome, outcome.value) == ("notice", 2.0)


def test_without_prices_the_flag_is_named(market: Market, tmp_path: Path) -> None:
    outcomes = outcomes_of(seal_of(market, tmp_path), None)
    assert list(outcomes) == MARKET
    assert {outcome.reason for outcome in outcomes.values()} == {
        "no market prices were given: give a file with --prices or ALPHA_RESULTS_PRICES"
    }


def test_symbols_of_market_prices_may_have_a_slash_as_sealed_ones_may(prices: Path, tmp_path: Path) -> None:
    pl.read_parquet(prices).with_columns(symbol="A/" + pl.col("symbol")).write_parquet(tmp_path / "a.parquet")
    assert all(name.startswith("A/") for name in read_prices(str(tmp_path / "a.parquet")).names.categories)


def test_only_names_and_days_of_the_file_are_compared(market: Market, prices: Path, tmp_path: Path) -> None:
    seal = seal_of(market, tmp_path)
    complete = outcomes_of(seal, prices)
    frame = pl.read_parquet(prices)
    half = frame.filter((pl.col("symbol") <= market.symbols[19]) & (pl.col("date") > market.schedule[200]))
    half.write_parquet(tmp_path / "half.parquet")
    partial = outcomes_of(seal, tmp_path / "half.parquet")
    assert unmet(partial) <= {*NEEDING_MORE, "market.foresight"}
    for notice in ("market.prices", "market.forward_returns"):
        assert 20 <= partial[notice].details["cells"] < complete[notice].details["cells"] / 2
    frame.with_columns(symbol="X" + pl.col("symbol")).write_parquet(tmp_path / "others.parquet")
    others = outcomes_of(seal, tmp_path / "others.parquet")
    assert others.pop("market.sessions").outcome == "pass"
    assert {outcome.outcome for outcome in others.values()} == {"not_checked"}
    assert others["market.prices"].reason == "the prices cover 0 returns of marks; 20 are needed"
    assert others["market.fills"].reason == "the prices cover no fill"


def on_saturdays(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the names of an exchange that is open every day but Friday."""
    others = frame.filter(pl.col("date").dt.weekday() == 5).with_columns(pl.col("date").dt.offset_by("1d"))
    weekdays = frame.filter(pl.col("date").dt.weekday() < 5)
    return pl.concat([frame, pl.concat([weekdays, others]).with_columns(symbol="X" + pl.col("symbol"))])


def with_a_longer_benchmark(frame: pl.DataFrame) -> pl.DataFrame:
    """Cut the first half of the prices off, except for one name that the run does not hold."""
    benchmark = frame.unique("date").with_columns(symbol=pl.lit("SIMSPY"))
    half = frame["date"].unique().sort()[frame["date"].n_unique() // 2]
    return pl.concat([frame.filter(pl.col("date") >= half), benchmark])


@pytest.mark.parametrize("change", [on_saturdays, with_a_longer_benchmark])
def test_days_of_other_names_are_no_sessions_of_the_run(
    market: Market, prices: Path, tmp_path: Path, change: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    file = tmp_path / "mixed.parquet"
    change(pl.read_parquet(prices)).write_parquet(file)
    run = run_of(market)
    tables = {**run.tables, "decisions": run.tables["decisions"].drop("entry_at", "maturity_at")}
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcomes = outcomes_of(seal, file)
    assert unmet(outcomes) <= NEEDING_MORE, outcomes
    assert outcomes["market.forward_returns"].details["cells"] > 1_000


def test_forward_returns_from_open_to_open_need_opens(market: Market, prices: Path, tmp_path: Path) -> None:
    pl.read_parquet(prices).drop("open").write_parquet(tmp_path / "closes.parquet")
    outcomes = outcomes_of(seal_of(market, tmp_path), tmp_path / "closes.parquet")
    assert outcomes["market.prices"].outcome == "pass"
    assert "no open" in (outcomes["market.forward_returns"].reason or "")
    assert outcomes["market.fills"].outcome == "not_checked"


def test_without_opens_calm_names_are_not_compared_with_closes(market: Market, tmp_path: Path) -> None:
    """Prices move by a quarter of what they usually do, so that many opens are near the closes."""
    calm = replace(
        market, opens=100 * (market.opens / 100) ** 0.25, closes=100 * (market.closes / 100) ** 0.25
    )
    file = prices_of(calm, tmp_path / "prices")
    seal = seal_of(calm, tmp_path)
    assert outcomes_of(seal, file)["market.forward_returns"].value == 0.0
    pl.read_parquet(file).drop("open").write_parquet(file)
    outcomes = outcomes_of(seal, file)
    for notice in ("market.forward_returns", "market.forward_bias", "market.forward_drift"):
        assert (
            outcomes[notice].reason == "the prices have no open, and forward returns do not match the closes"
        )
    assert outcomes["market.fills"].reason == "fills are at neither the open nor the close of the prices"


def test_a_run_without_ledger_has_its_forward_returns_compared(
    market: Market, prices: Path, tmp_path: Path
) -> None:
    run = run_of(market)
    tables = {kind: run.tables[kind] for kind in ("rebalances", "decisions")}
    tables["decisions"] = tables["decisions"].drop("entry_at", "maturity_at")
    seal = write_seal(tmp_path / "seal", RunRecord(run.manifest, tables, None, None, None))
    outcomes = outcomes_of(seal, prices)
    assert outcomes["market.forward_returns"].value == 0.0
    assert outcomes["market.prices"].reason == (
        "it needs portfolio and positions, which the run did not all seal"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop("close"), "it has the columns date, symbol, close, but there is no close"),
        (lambda frame: frame.with_columns(pl.col("date").cast(pl.String)), "date is a DATE"),
        (lambda frame: frame.with_columns(-pl.col("close")), "close is a finite number above 0"),
        (lambda frame: pl.concat([frame, frame.tail(1)]), "a symbol has one row per day"),
    ],
    ids=["no column", "type", "bound", "twice"],
)
def test_a_file_that_breaks_a_rule_is_refused(
    market: Market,
    prices: Path,
    tmp_path: Path,
    change: Callable[[pl.DataFrame], pl.DataFrame],
    message: str,
) -> None:
    broken = tmp_path / "broken.parquet"
    change(pl.read_parquet(prices)).write_parquet(broken)
    with pytest.raises(SettingsError) as refused:
        outcomes_of(seal_of(market, tmp_path), broken)
    for part in (message, "broken.parquet", "correct the file"):
        assert part in str(refused.value)


def test_a_file_that_breaks_a_rule_is_a_usage_error(market: Market, prices: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    pl.read_parquet(prices).drop("close").write_parquet(broken)
    seal = seal_of(market, tmp_path)
    for command in (["check"], ["build", "--datasets", str(tmp_path / "root")]):
        result = CliRunner().invoke(cli, [*command, "--prices", str(broken), str(seal)])
        assert result.exit_code == 2
        assert "error: --prices: market prices " in result.output
        assert "there is no close" in result.output
    assert not list((tmp_path / "root").rglob("current*"))


def test_an_address_without_prices_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("no Parquet")
    for address, message in (("absent", "correct the address"), ("text.parquet", "it is a Parquet file")):
        with pytest.raises(SettingsError, match=rf"^--prices: .*{message}"):
            list(build_many(["seal"], tmp_path / "root", prices=tmp_path / address))


def test_a_batch_passes_the_setting_on_and_verify_agrees(
    market: Market, prices: Path, tmp_path: Path
) -> None:
    seal_of(lifted(market), tmp_path / "seals")
    root = str(tmp_path / "root")
    arguments = ["build", "--datasets", root, "--from", str(tmp_path / "seals"), "--jobs", "2"]
    folder = shutil.copytree(prices.parent, tmp_path / "folder")
    result = CliRunner().invoke(cli, arguments, env={"ALPHA_RESULTS_PRICES": str(folder)})
    assert result.exit_code == 0, result.output
    assert "notice market.drift" in result.output
    recorded = {entry["notice"]: entry for entry in datasets.open(root)[SPEC.alpha_id].manifest.notices}
    assert recorded["market.drift"]["outcome"] == "notice"
    assert recorded["market.prices"]["outcome"] == "pass"
    assert CliRunner().invoke(cli, ["verify", "--datasets", root]).exit_code == 0

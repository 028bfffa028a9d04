"""Scores and prices become a complete seal, equal for every input format."""

from __future__ import annotations

import itertools
import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from alpha_results_seal import Costs, Ledger, SealError, SealWriter
from alpha_results_seal.scores import tail_weights
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import datasets
from pipeline.group import cli
from pipeline.rules.checking import check
from pipeline.seal import Seal
from schemas.kinds import REQUIRED_KINDS
from tests.seal_writer.random_scores import DAYS, FRIDAYS, NAMES, SCORES, long, market, wide


@given(
    st.lists(st.sampled_from([1.0, 2.0, 3.0, float("nan")]), min_size=2, max_size=6),
    st.sampled_from([0.2, 0.34, 0.5]),
)
def test_ties_share_the_remaining_places_equally(scores: list[float], tails: float) -> None:
    scored = [at for at, score in enumerate(scores) if score == score]  # noqa: PLR0124 -- NaN is not itself
    if len(scored) < 2:
        return
    places = max(1, int(tails * len(scored)))
    orders = list(itertools.permutations(scored))
    expected = np.zeros(len(scores))
    for order in orders:
        ranked = sorted(order, key=lambda at: scores[at])
        expected[ranked[-places:]] += 1.0 / places / len(orders)
        expected[ranked[:places]] -= 1.0 / places / len(orders)
    assert tail_weights(np.array(scores), tails) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    gaps=st.sampled_from([0.0, 0.3]),
    ties=st.booleans(),
    tails=st.sampled_from([0.05, 0.3, 0.5]),
)
def test_any_scores_give_a_complete_seal_that_passes_the_strict_check(
    tmp_path_factory: pytest.TempPathFactory, seed: int, gaps: float, ties: bool, tails: float
) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(DAYS.size, len(NAMES)))
    values = np.rint(values) if ties else values
    values[rng.random(values.shape) < gaps] = np.nan
    ledger = Ledger.from_scores(
        wide(values), market(seed, gaps), tails=tails, costs=Costs(0.0001, 0.001, 0.0001)
    )
    folder = tmp_path_factory.mktemp("seal") / "seal"
    seal = Seal.open(str(SealWriter(folder, alpha_id="Test_scores").add_ledger(ledger).write()))
    assert set(REQUIRED_KINDS) <= set(seal.kinds)
    report = check(seal)
    assert report.violations == report.warnings == ()


def test_books_hold_equal_weighted_tails_and_forward_returns_match_prices() -> None:
    prices = market(5)
    ledger = Ledger.from_scores(SCORES, prices, tails=0.2)
    decisions = ledger.tables["decisions"].filter(pl.col("date") == FRIDAYS[2].item()).sort("score")
    assert decisions["long_short_target_weight"].to_list() == [-0.5] * 2 + [0.0] * 6 + [0.5] * 2
    assert decisions["long_only_target_weight"].to_list() == [0.0] * 8 + [0.5] * 2
    monday, next_monday = (np.flatnonzero(day == DAYS)[0] + 1 for day in FRIDAYS[2:4])
    for symbol, actual in decisions.select("symbol", "forward_return").iter_rows():
        opened = prices["open"][symbol]
        assert actual == pytest.approx(opened[int(next_monday)] / opened[int(monday)] - 1.0, rel=1e-12)
    assert any("no trading costs were stated" in note for note in ledger.notes)
    assert any("no calendar was given" in note for note in ledger.notes)


def test_a_book_that_drifts_after_the_last_score_has_no_notice_on_its_size(tmp_path: Path) -> None:
    days = np.arange(np.datetime64("2022-01-03"), np.datetime64("2023-12-30"))
    days = days[np.is_busday(days)]
    # The shorted names rise by a third a year.
    close = wide(20.0 * np.exp(np.outer(np.arange(days.size) / 260, np.linspace(0.3, 0.0, len(NAMES)))), days)
    scores = wide(np.tile(np.arange(len(NAMES)), (30, 1)) * 1.0, days[4::5][:30])
    ledger = Ledger.from_scores(scores, {"open": close, "close": close}, tails=0.2)
    seal = SealWriter(tmp_path / "seal", alpha_id="Test_drift").add_ledger(ledger).write()
    outcomes = {outcome.notice: outcome for outcome in check(Seal.open(str(seal))).notices}
    assert outcomes["book.target_size"].outcome == "pass", outcomes["book.target_size"]
    assert outcomes["book.target_size"].value == pytest.approx(1.0, abs=0.05)


def test_prices_and_scores_of_later_weeks_change_no_earlier_decision() -> None:
    prices = market(5)
    cut = FRIDAYS[6].item()
    before = Ledger.from_scores(SCORES, prices).tables["decisions"].filter(pl.col("date") <= cut)
    other = market(6)
    mixed = {
        name: pl.concat(
            [prices[name].filter(pl.col("date") <= cut), other[name].filter(pl.col("date") > cut)]
        )
        for name in prices
    }
    changed = SCORES.with_columns(
        pl.when(pl.col("date") > cut).then(-pl.col(name)).otherwise(name).alias(name) for name in NAMES
    )
    after = Ledger.from_scores(changed, mixed).tables["decisions"].filter(pl.col("date") <= cut)
    columns = ("date", "symbol", "score", "long_short_target_weight", "long_only_target_weight")
    assert before.select(columns).equals(after.select(columns))


def test_every_input_format_gives_the_same_books(
    tmp_path: Path,
) -> None:
    prices = market(5)
    factor = (
        long(SCORES, "factor").to_pandas().rename(columns={"symbol": "asset"}).set_index(["date", "asset"])
    )
    long_prices = long(prices["close"], "close").join(long(prices["open"], "open"), on=["date", "symbol"])
    long(SCORES, "Signal").rename({"date": "Date", "symbol": "Ticker"}).write_csv(tmp_path / "scores.csv")
    long_prices.rename(str.title).write_csv(tmp_path / "prices.csv")
    long_prices.write_parquet(tmp_path / "prices.parquet")
    given = [
        (SCORES, prices),
        (SCORES.to_pandas().set_index("date"), long_prices.to_pandas()),
        (long(SCORES, "score"), long_prices),
        (factor, long_prices.to_pandas().set_index(["date", "symbol"])),
        (factor["factor"].rename(None), long_prices),
        (factor.rename_axis([None, None]), long_prices),
        (
            factor.rename_axis(["Date", "Ticker"]).reset_index(),
            long_prices.to_pandas().rename(columns=str.title),
        ),
        (SCORES.to_pandas().rename(columns={"date": "timestamp"}), long_prices),
        (factor.assign(factor_quantile=1, **{"5D": 0.0}), long_prices),
        (tmp_path / "scores.csv", tmp_path / "prices.csv"),
        (str(tmp_path / "scores.csv"), tmp_path / "prices.parquet"),
    ]
    first, *others = [Ledger.from_scores(scores, price).tables for scores, price in given]
    for number, other in enumerate(others, 1):
        for kind, frame in first.items():
            assert frame.equals(other[kind]), (number, kind)


def test_integer_tickers_of_any_column_name_give_the_same_books() -> None:
    codes = {name: f"60000{at}" for at, name in enumerate(NAMES)}
    scores, close = SCORES.rename(codes), market(5)["close"].rename(codes)
    numbered = [
        long(frame, value).with_columns(pl.col("symbol").cast(pl.Int64)).rename({"symbol": "ticker"})
        for frame, value in ((scores, "signal"), (close, "close"))
    ]
    expected, ledger = Ledger.from_scores(scores, close), Ledger.from_scores(*numbered)
    for kind, frame in expected.tables.items():
        assert frame.equals(ledger.tables[kind]), kind


def test_numbers_and_none_in_a_pandas_frame_of_objects_are_read() -> None:
    objects = SCORES.to_pandas().set_index("date").astype(object)
    objects.iloc[0, 0] = None
    read = Ledger.from_scores(objects, market(5))
    missing = SCORES.with_columns(N0=pl.when(pl.int_range(pl.len()) > 0).then("N0"))
    assert read.tables["decisions"].equals(Ledger.from_scores(missing, market(5)).tables["decisions"])


def test_daily_scores_use_the_last_day_of_each_week_with_a_note() -> None:
    daily = wide(np.random.default_rng(4).normal(size=(DAYS.size, len(NAMES))))
    weekly = daily.filter(pl.col("date").is_in(FRIDAYS.tolist()))
    both = [Ledger.from_scores(frame, market(5)) for frame in (daily, weekly)]
    assert both[0].tables["decisions"].equals(both[1].tables["decisions"])
    note = "70 days have scores, but decisions are weekly: only the last day of each of 14 weeks"
    assert any(said.startswith(note) for said in both[0].notes)
    assert not any("decisions are weekly" in said for said in both[1].notes)


def test_omitted_input_is_noted() -> None:
    early, late = (
        SCORES.head(1).with_columns(date=pl.lit(day)) for day in (date(2023, 12, 1), date(2024, 5, 3))
    )
    frame = pl.concat([early, SCORES, late]).with_columns(ZZZ=pl.lit(9.0))
    notes = Ledger.from_scores(frame, market(5)).notes
    assert "1 day of scores left out, before the first price" in notes
    assert "1 day of scores left out, after the week of the last price" in notes
    assert "1 name with scores has no prices, the first: ZZZ" in notes


@pytest.mark.parametrize(
    ("scores", "options", "said"),
    [
        (SCORES, {"tails": 0.6}, "tails is 0.6: give the share of the names in each tail"),
        (SCORES, {"tails": "0.2"}, "tails is '0.2': give the share of the names in each tail"),
        (SCORES, {"equity_basis": None}, "equity_basis is None: give the opening equity"),
        (SCORES.head(0), {}, "scores have no value"),
        (SCORES.with_columns(pl.lit(None, pl.Float64).alias(name) for name in NAMES), {}, "scores have no value"),
        (SCORES.with_columns(date=pl.col("date").dt.offset_by("10y")), {}, "scores and prices have no day in common"),
        (SCORES.rename({name: f"X{name}" for name in NAMES}), {}, r"a close on its day \(10 names with scores have no prices, the first: XN0\): compare"),
        (long(SCORES, "score").with_columns(symbol=pl.when(pl.col("symbol") != "N3").then("symbol")), {}, "scores has a row without a symbol on 2024-01-05"),
        (long(SCORES, "score").rename({"symbol": "symbol_"}), {}, "scores has a day twice: 2024-01-05; a frame with one row per name has a column 'symbol'"),
        (SCORES.to_pandas().set_index("date").T, {}, "scores: the index does not have days only"),
        (SCORES.to_pandas().set_index(SCORES["date"].dt.strftime("%Y%m%d").to_pandas()).drop(columns="date"), {}, "scores: the date '20240105' is not a day: write YYYY-MM-DD"),
        ("nowhere.csv", {}, "scores: nowhere.csv cannot be read"),
        ("scores.xlsx", {}, "scores: scores.xlsx is neither a .csv nor a .parquet file"),
        (long(SCORES, "score").with_columns(pl.col("date").dt.strftime("%m/%d/%Y")), {}, "scores: the date '01/19/2024' is not a day: write YYYY-MM-DD"),
        (long(SCORES, "score").with_columns(pl.col("date").dt.strftime("%Y%m%d").cast(pl.Int64)), {}, r"scores: the column date does not have days only \(it is Int64\): write YYYY-MM-DD"),
        (long(SCORES, "score").with_columns(symbol=pl.col("symbol").str.tail(1).cast(pl.Float64)), {}, "scores: symbol is Float64, so that 0.0 would be a name"),
        (pd.concat({"Close": SCORES.to_pandas().set_index("date")}, axis=1), {}, r"scores has columns of 2 levels: select one, such as frame\['Close'\]"),
        (SCORES.to_pandas().rename(columns={"N1": "N2"}), {}, "scores cannot be read: .*column names"),
        (SCORES, {"costs": 0.001}, r"costs is 0.001: give Costs\(…\)"),
        (long(SCORES, "score").with_columns(other=pl.lit(1)).drop("score").with_columns(more=pl.lit(1)), {}, "scores has no column 'score'"),
    ],
)  # fmt: skip
def test_unusable_input_is_named(scores: Any, options: Any, said: str) -> None:
    with pytest.raises(SealError, match=said):
        Ledger.from_scores(scores, market(5), **options)


def test_sessions_shifted_by_the_time_in_utc_are_noted() -> None:
    midnight = pl.col("date").cast(pl.Datetime).dt.replace_time_zone("Asia/Tokyo")
    local, shifted = (
        [frame.with_columns(date=date) for frame in (SCORES, market(5)["close"])]
        for date in (midnight, midnight.dt.convert_time_zone("UTC"))
    )
    note = "14 sessions are on Sundays and none on Fridays: if instants are in UTC, convert them"
    assert any(said.startswith(note) for said in Ledger.from_scores(*shifted).notes)
    assert not any("Sundays" in said for said in Ledger.from_scores(*local).notes)


def test_an_unstated_rate_is_null_and_dependent_figures_withheld(tmp_path: Path) -> None:
    ledger = Ledger.from_scores(SCORES, market(5))
    assert ledger.tables["portfolio"]["risk_free_return"].null_count() == ledger.tables["portfolio"].height
    SealWriter(tmp_path / "seal", alpha_id="Test_scores").add_ledger(ledger).write()
    command = ["build", "--strict", str(tmp_path / "seal"), "--datasets", str(tmp_path / "root")]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.stdout
    published = datasets.open(str(tmp_path / "root"))["Test_scores"]
    metrics, luck = published.metrics(), published.luck()
    excess, sharpe = metrics["core"]["excess_sharpe"], metrics["core"]["sharpe"]
    assert (excess["value"], excess["status"], sharpe["status"]) == (None, "not_measurable", "available")
    assert "the ledger states no risk-free rate" in json.dumps(metrics)
    for figure in ("sharpe", "skewness", "kurtosis", "probabilistic_sharpe", "minimum_track_record"):
        assert luck["withheld"][f"excess.{figure}"] == "the ledger states no risk-free rate"
    stated = Ledger.from_scores(SCORES, market(5), costs=Costs(interest={DAYS[20].item(): 0.0001}))
    rates = stated.tables["portfolio"].filter(pl.col("risk_free_return").is_not_null())
    assert rates["date"].unique().to_list() == [DAYS[20].item()]

"""Weekly rows of the engine: statuses, nulls, fills, returns and notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from examples.reference_engine import Market, simulate_market
from examples.reference_engine.weekly_tables import forward_returns
from tests.support.seals import make_seal


def rows(seal: Any, status: str) -> pl.DataFrame:
    weeks = seal["rebalances"].filter(pl.col("week_status") == status)
    decisions: pl.DataFrame = seal["decisions"]
    return decisions.join(weeks, on="date")


def test_the_default_run_has_every_kind_of_week(default_seal: Any) -> None:
    statuses = default_seal["rebalances"]["week_status"].to_list()
    assert statuses[:3] == ["warmup_history_too_short"] * 3
    assert statuses.count("insufficient_scored_tradeable_names") == 1
    assert statuses[-1] == "pending"
    assert statuses.count("pending") == 1
    assert statuses.count("traded") == 25


def test_the_default_run_has_every_reason_and_book(default_seal: Any) -> None:
    decisions, trades = default_seal["decisions"], default_seal["trades"]
    assert set(decisions["unavailability_reason"].drop_nulls()) == {
        "halted", "suspended", "no_borrow", "illiquid", "data_gap",
    }  # fmt: skip
    notes = {"entered_selection", "exited_below_threshold", "gated_untradeable"}
    assert set(decisions["decision_reason"].drop_nulls()) == {*notes, "carried_by_smoothing"}
    assert set(decisions["raw_decision_reason"].drop_nulls()) == notes
    books = ("long_short", "long_only", "raw_long_short", "raw_long_only")
    assert set(default_seal["portfolio"]["book"]) == set(books)
    assert set(trades["book"]) == {
        book + variant for book in books for variant in ("", "_adjustments", "_settlements")
    }


def test_every_active_week_has_enough_scores_for_deciles(seal: Any) -> None:
    active = pl.concat([rows(seal, "traded"), rows(seal, "pending")])
    for column in {"score", "unsmoothed_score"} & set(active.columns):
        counts: list[int] = active.group_by("date").agg(pl.col(column).count())[column].to_list()
        assert min(counts) >= 20


def test_skipped_weeks_hold_no_targets_fills_or_returns(default_seal: Any) -> None:
    for status in ("warmup_history_too_short", "insufficient_scored_tradeable_names"):
        week = rows(default_seal, status)
        assert week.height > 0
        assert (week["long_short_target_weight"] == 0).all()
        assert (week["raw_long_only_target_weight"] == 0).all()
        assert (
            week.select("fill_at", "raw_fill_at", "forward_return").null_count().row(0) == (week.height,) * 3
        )
        skipped = set(week["date"])
        assert not skipped & set(default_seal["trades"]["decision_at"])


def test_positions_are_kept_through_a_skipped_week(default_seal: Any) -> None:
    day = rows(default_seal, "insufficient_scored_tradeable_names")["date"][0]
    after = default_seal["portfolio"].filter(pl.col("date") > day).group_by("book").head(3)
    assert (after["gross_exposure"] > 0.9).all()


def test_a_pending_week_is_decided_but_not_yet_filled(default_seal: Any) -> None:
    week = rows(default_seal, "pending")
    assert (week["long_short_target_weight"] != 0).any()
    assert default_seal["portfolio"]["date"].max() == week["date"][0]
    assert week["entry_at"].null_count() == 0
    assert (week["entry_at"].dt.date() > week["date"]).all()


def test_without_a_pending_week_the_last_week_is_filled(seal: Any) -> None:
    last = seal["rebalances"].row(-1, named=True)
    if last["week_status"] == "pending":
        assert seal["portfolio"]["date"].max() == last["date"]
    else:
        assert seal["portfolio"]["date"].max() > last["date"]
        assert rows(seal, "traded").filter(pl.col("date") == last["date"])["fill_at"].count() > 0


def test_entry_is_the_next_session_and_maturity_the_next_entry(seal: Any) -> None:
    weeks = seal["decisions"].group_by("date").agg(pl.col("entry_at", "maturity_at").unique()).sort("date")
    assert (weeks["entry_at"].list.len() == 1).all()
    entry, maturity = weeks["entry_at"].list.first(), weeks["maturity_at"].list.first()
    assert (maturity[:-1] == entry[1:]).all()
    assert maturity[-1] > entry[-1]
    sessions = seal["portfolio"]["date"].unique().sort()
    for decided, entered in zip(weeks["date"], entry.dt.date(), strict=True):
        later = sessions.filter(sessions > decided)
        # The ledger starts at the first entry, so only later weeks can be compared.
        if sessions[0] <= decided and len(later):
            assert entered == later[0]


def test_instants_are_new_york_hours_in_utc(default_seal: Any) -> None:
    opens = default_seal["trades"]["timestamp"].dt.convert_time_zone("America/New_York").dt.time().unique()
    closes = (
        default_seal["portfolio"]["timestamp"].dt.convert_time_zone("America/New_York").dt.time().unique()
    )
    assert [str(t) for t in opens] == ["09:30:00"]
    assert [str(t) for t in closes] == ["16:00:00"]
    assert default_seal["portfolio"]["timestamp"].dt.hour().n_unique() == 2


def test_a_name_is_marked_filled_exactly_when_a_weekly_fill_of_its_books_exists(seal: Any) -> None:
    for column, prefix in (("fill_at", ""), ("raw_fill_at", "raw_")):
        if column not in seal["decisions"].columns:
            continue
        books = [f"{prefix}long_short", f"{prefix}long_only"]
        fills = (
            seal["trades"]
            .filter(pl.col("book").is_in(books))
            .select(pl.col("decision_at").alias("date"), "symbol", pl.col("timestamp").alias(column))
            .unique()
            .sort("date", "symbol")
        )
        assert seal["decisions"].select("date", "symbol", column).drop_nulls().equals(fills)


def test_long_only_is_the_long_side_of_the_neutral_book(seal: Any) -> None:
    decisions = seal["decisions"]
    assert (decisions["long_only_target_weight"] == decisions["long_short_target_weight"].clip(0.0)).all()


def test_the_strongest_scores_are_held_long_and_the_weakest_short(seal: Any) -> None:
    tradeable = rows(seal, "traded").filter(pl.col("next_open_tradeable") & pl.col("score").is_not_null())
    for _, week in tradeable.group_by("date"):
        ordered = week.sort("score")
        weights = ordered["long_short_target_weight"].to_numpy()
        assert (np.diff(weights) >= -1e-12).all()
        assert (np.sign(weights) == 1).sum() == (np.sign(weights) == -1).sum() == int(0.2 * week.height)


def test_scores_are_the_raw_signal_smoothed(default_seal: Any) -> None:
    """pandas' own exponential mean is the oracle."""
    wide = {
        name: default_seal["decisions"]
        .to_pandas()
        .pivot_table(index="date", columns="symbol", values=name, dropna=False)
        for name in ("unsmoothed_score", "score")
    }
    raw, score = wide["unsmoothed_score"], wide["score"]
    oracle = raw.ewm(halflife=2.0, adjust=False, ignore_na=True).mean().where(raw.notna())
    pd.testing.assert_frame_equal(score, oracle, check_exact=False, rtol=1e-12, atol=1e-14)
    assert score.notna().sum().sum() > 400


def test_an_unsmoothed_run_declares_it_and_has_one_signal(seal: Any) -> None:
    applied = seal.manifest["smoothing"]["applied"]
    if "unsmoothed_score" in seal["decisions"].columns:
        assert applied
        assert (seal["decisions"]["score"] != seal["decisions"]["unsmoothed_score"]).any()
    else:
        assert not applied


def test_sealed_ranks_average_ties_from_the_strongest(tmp_path: Path) -> None:
    decisions = pl.read_parquet(make_seal(tmp_path, ranks=True) / "decisions.parquet")
    for rank, score in (("average_rank", "score"), ("raw_average_rank", "unsmoothed_score")):
        frame = decisions.to_pandas()
        oracle = frame.groupby("date")[score].rank(ascending=False, method="average")
        assert oracle.notna().sum() > 400
        pd.testing.assert_series_equal(frame[rank], oracle, check_names=False)


def test_ranks_are_sealed_only_on_request(default_seal: Any) -> None:
    assert not {"average_rank", "raw_average_rank"} & set(default_seal["decisions"].columns)


def test_notes_follow_the_sides_taken(default_seal: Any) -> None:
    """Replayed by name."""
    active = pl.concat([rows(default_seal, "traded"), rows(default_seal, "pending")]).sort("date")
    for _, name in active.group_by("symbol"):
        before = 0.0
        for row in name.iter_rows(named=True):
            side, raw = np.sign(row["long_short_target_weight"]), np.sign(row["raw_long_short_target_weight"])
            if not row["next_open_tradeable"]:
                assert row["decision_reason"] == "gated_untradeable"
                continue
            expected: str | None
            if side not in (0, before):
                expected = "entered_selection"
            elif side == 0:
                expected = "exited_below_threshold" if before else None
            else:
                expected = None if raw == side else "carried_by_smoothing"
            assert row["decision_reason"] == expected, row
            before = side


def slow_forward_return(market: Market, week: int, name: int) -> float | None:
    """Oracle: walk the bars one by one."""

    def first_open_after(day: int, until: int) -> float | None:
        for session in range(day + 1, until + 1):
            price = market.opens[session, name]
            if not np.isnan(price):
                return float(price)
        return None

    decisions = [int(day) for day in market.decisions]
    if week + 1 >= len(decisions):
        return None
    until = decisions[week + 2] if week + 2 < len(decisions) else market.observed - 1
    entry = first_open_after(decisions[week], decisions[week + 1])
    leave = first_open_after(decisions[week + 1], until)
    return None if entry is None or leave is None else leave / entry - 1


@pytest.mark.parametrize("pending", [True, False])
def test_forward_returns_run_from_first_open_to_first_open(pending: bool) -> None:
    market = simulate_market(5, 24, 14, pending=pending)
    actual = forward_returns(market)
    measured = 0
    for week in range(actual.shape[0]):
        for name in range(actual.shape[1]):
            expected = slow_forward_return(market, week, name)
            if expected is None:
                assert np.isnan(actual[week, name])
            else:
                assert actual[week, name] == pytest.approx(expected, rel=1e-14)
                measured += 1
    assert measured > 200


def test_the_week_before_a_pending_one_has_no_return_yet(default_seal: Any) -> None:
    last_two = default_seal["rebalances"]["date"][-2:]
    returns = default_seal["decisions"].filter(pl.col("date").is_in(last_two.implode()))["forward_return"]
    assert returns.null_count() == len(returns) > 0
    third_last = default_seal["rebalances"]["date"][-3]
    assert default_seal["decisions"].filter(pl.col("date") == third_last)["forward_return"].count() > 20

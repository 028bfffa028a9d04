"""Input of ledgers: what is refused, by name and day, and what is noted."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from alpha_results_seal import Calendar, Costs, Ledger, SealError, weeks

from schemas.notices import NOTICES
from schemas.notices.signal import MIN_SPACED_DECISIONS
from tests.seal_writer.one_week import CLOSE, NYSE, WEEK


@pytest.mark.parametrize(
    ("fill", "said"),
    [
        ({"date": date(2024, 1, 6)}, "a fill of AAA is on 2024-01-06, which has no prices"),
        (
            {"date": date(2024, 1, 5)},
            "AAA is filled on the first session, 2024-01-05, but a decision is on a day before",
        ),
        ({"symbol": "ZZZ"}, "ZZZ is filled on 2024-01-08 but has no close on or before that day"),
        ({"fill_price": None}, "the fill_price of AAA on 2024-01-08 is nan"),
        ({"mid_price": 12.0}, "the fill of AAA on 2024-01-08 is better than its mid"),
        ({"quantity": -50.0, "fill_price": 1.0}, "or state the equity_basis of recorded fills, by default 1"),
        ({"quantity": "many"}, "fills: quantity has 'many', which is not a number"),
    ],
)
def test_an_invalid_fill_is_reported_by_name_and_day(fill: dict[str, Any], said: str) -> None:
    made = {"date": date(2024, 1, 8), "symbol": "AAA", "quantity": 1.0, "fill_price": 11.0} | fill
    with pytest.raises(SealError, match=said):
        Ledger.from_fills(pl.DataFrame([made]), CLOSE, NYSE)


def test_optional_columns_of_fills_that_are_missing_are_noted() -> None:
    made = {
        "date": date(2024, 1, 8),
        "symbol": "AAA",
        "quantity": 0.05,
        "fill_price": 11.0,
        "fees": 0.01,
        "order": "7",
    }
    notes = Ledger.from_fills(pl.DataFrame([made]), CLOSE, NYSE).notes
    assert [note.split(":")[0] for note in notes if "unknown" in note] == [
        "target weights and scores are unknown",
        "fees of fills are unknown",
        "mid prices are unknown",
        "decision days of fills are unknown",
    ]


@pytest.mark.parametrize(
    ("weights", "close", "said"),
    [
        ({"long_only": WEEK}, CLOSE, "sum to 0.5, and a long-only book is fully invested"),
        ({"long_only": WEEK.with_columns(AAA=-pl.col("AAA"))}, CLOSE, "is short of AAA on 2024-01-05"),
        ({"mine": WEEK}, CLOSE, "'mine' is not a book of weights: name it one of long_short"),
        (WEEK.with_columns(date=pl.lit(date(2024, 1, 9))), CLOSE, "no decision is followed by a session with prices"),
        (pl.concat([WEEK, WEEK]), CLOSE, "has a day twice: 2024-01-05"),
        (
            pl.concat([WEEK, WEEK.with_columns(date=pl.lit(date(2024, 1, 4)))]),
            CLOSE,
            "2024-01-04 and 2024-01-05 are decisions of one week",
        ),
        (
            pl.concat([WEEK, WEEK.with_columns(date=pl.lit(date(2024, 1, 7)))]),
            CLOSE,
            ("2024-01-05 and 2024-01-07 (no session; dated 2024-01-05) are decisions of one week, and a seal is of weekly "
            "decisions: give the weights of one day a week"),
        ),
        (
            pl.concat([WEEK.with_columns(date=pl.lit(date(2024, 1, day))) for day in (8, 15)]),
            pl.concat([CLOSE, CLOSE.with_columns(pl.col("date").dt.offset_by("11d"))]).sort("date"),
            ("2024-01-08 and 2024-01-15 (no session; dated 2024-01-09) are decisions of one week, and a seal is of weekly "
            "decisions: date 2024-01-15 by a session of its own week"),
        ),
        (
            pl.concat([WEEK.with_columns(date=pl.lit(date(2024, 1, day))) for day in (5, 12, 19)]),
            CLOSE,
            ("2024-01-12 (no session; dated 2024-01-09) and 2024-01-19 (no session; dated 2024-01-09) are decisions of one "
            "week, and a seal is of weekly decisions: the sessions end on 2024-01-09: extend the prices"),
        ),
        (WEEK.head(0), CLOSE, "weights have no day: give at least one decision"),
        (WEEK.rename({"AAA": "aaa"}), CLOSE, "no name with weights has prices, the first: 'aaa': compare the names"),
        (WEEK.drop("date"), CLOSE, "weights of long_short has no days"),
        (WEEK, {"open": CLOSE.drop("AAA"), "close": CLOSE}, "open and close differ in days or names, the first: AAA"),
        (WEEK, {"open": CLOSE, "close": CLOSE.tail(2)}, "open and close differ in days or names, the first: 2024-01-05"),
        (WEEK, CLOSE.with_columns(AAA=pl.col("AAA") - 11), "the close of AAA on 2024-01-05 is -1.0"),
        (WEEK.with_columns(AAA=-3.0), CLOSE.with_columns(AAA=pl.Series([1.0, 1.0, 9.0])), "lost all its equity on 2024-01-09"),
    ],
)  # fmt: skip
def test_invalid_input_is_reported_by_name(weights: Any, close: Any, said: str) -> None:
    with pytest.raises(SealError, match=re.escape(said)):
        Ledger.from_weights(weights, close, Costs(), NYSE)


@pytest.mark.parametrize(
    ("interest", "said"),
    [
        (5, "Costs.interest is 5: give the return of a session, between -1 and 1"),
        (float("nan"), "Costs.interest is nan: give the return of a session"),
        (
            {date(2024, 1, 8): float("nan")},
            "Costs.interest of 2024-01-08 is nan: give the return of a session",
        ),
        (
            {pd.Timestamp("2024-01-08"): 0.0001},
            "Costs.interest has a rate of Timestamp('2024-01-08 00:00:00'): give rates by datetime.date",
        ),
        (
            pd.Series([0.0001]),
            "Costs.interest is of type Series: give the return of a session, between -1 and 1, or returns by datetime.date",
        ),
    ],
)
def test_an_unusable_interest_rate_is_refused_by_day(interest: Any, said: str) -> None:
    with pytest.raises(SealError, match=re.escape(said)):
        Costs(interest=interest)


@pytest.mark.parametrize("rate", [-0.1, 1, 5.0, float("nan"), "0.1%"])
@pytest.mark.parametrize("name", ["fee", "impact", "borrow"])
def test_a_rate_that_is_no_fraction_is_refused(name: str, rate: Any) -> None:
    with pytest.raises(SealError, match=f"Costs.{name} is .*: give a fraction of 0 or more, below 1"):
        Costs(**{name: rate})


def test_decisions_that_are_less_frequent_than_weekly_are_noted() -> None:
    days = pl.date_range(date(2024, 1, 1), date(2024, 12, 31), eager=True).alias("date")
    close = pl.DataFrame({"date": days, "AAA": 10.0 + np.arange(days.len()) % 3})
    fridays = close.filter(pl.col("date").dt.weekday() == 5)
    monthly = fridays.filter(pl.col("date").dt.day() <= 7).select("date", AAA=pl.lit(0.5))
    notes = Ledger.from_weights(monthly, close, Costs(), NYSE).notes
    assert any(
        note.startswith(
            "half of the decisions are 28 days or more after the one before: weekly figures count decisions, so that icir is"
        )
        for note in notes
    )
    weekly = fridays.select("date", AAA=pl.lit(0.5))
    for weights in (weekly, pl.concat([weekly.head(15), weekly.tail(15)])):
        notes = Ledger.from_weights(weights, close, Costs(), NYSE).notes
        assert not any("count decisions" in note for note in notes)


def test_the_note_and_the_notice_on_infrequent_decisions_have_one_threshold() -> None:
    assert NOTICES["signal.frequency"].threshold == weeks.MAX_DAYS_BETWEEN_DECISIONS
    assert MIN_SPACED_DECISIONS == weeks.MIN_SPACED_DECISIONS


def test_sessions_without_an_interest_rate_are_noted() -> None:
    costs = Costs(interest={date(2024, 1, 8): 0.0001})
    notes = Ledger.from_weights(WEEK, CLOSE, costs, NYSE).notes
    assert any(
        note.startswith("1 session has no interest rate, the first: 2024-01-09; cash earns none")
        for note in notes
    )
    complete = Costs(interest={date(2024, 1, 8): 0.0001, date(2024, 1, 9): 0.0})
    assert not any("interest" in note for note in Ledger.from_weights(WEEK, CLOSE, complete, NYSE).notes)


def test_weighted_names_without_prices_are_noted() -> None:
    weights = WEEK.with_columns(BBB=0.5, CCC=0.0)
    notes = Ledger.from_weights(weights, CLOSE, Costs(), NYSE).notes
    assert "1 name with weights has no prices and no trades, the first: BBB" in notes


def test_fills_have_the_names_of_other_libraries_and_an_index_of_days() -> None:
    row = {"date": date(2024, 1, 8), "symbol": "AAA", "quantity": 0.01, "fill_price": 11.0}
    plain = pl.DataFrame([row])
    expected = Ledger.from_fills(plain, CLOSE, NYSE).tables["trades"]
    instants = pd.DatetimeIndex(["2024-01-08 15:30"], tz=NYSE.zone)
    for fills in (
        plain.rename({"date": "Timestamp", "symbol": "Ticker", "quantity": "Quantity"}),
        plain.drop("date").to_pandas().set_index(instants),
    ):
        assert Ledger.from_fills(fills, CLOSE, NYSE).tables["trades"].equals(expected)


def test_scores_that_no_decision_uses_are_refused_or_noted() -> None:
    weights = pl.concat([WEEK, WEEK.with_columns(date=pl.col("date").dt.offset_by("7d"))])
    scores = weights.select("date", AAA=pl.lit(1.0))
    for unused in (
        scores.with_columns(date=pl.col("date").dt.offset_by("-1d")),
        scores.rename({"AAA": "aaa"}),
    ):
        with pytest.raises(
            SealError, match="on every decision day no name with weights has a score, the first: 2024-01-05"
        ):
            Ledger.from_weights(weights, CLOSE, Costs(), NYSE, scores=unused)
    notes = Ledger.from_weights(weights, CLOSE, Costs(), NYSE, scores=scores.head(1)).notes
    assert "on 1 of 2 decision days no name with weights has a score, the first: 2024-01-12" in notes


def test_many_held_names_without_a_last_price_are_one_note_for_each_book() -> None:
    names = [f"N{number:02}" for number in range(20)]
    days = pl.date_range(date(2024, 1, 5), date(2024, 1, 12), eager=True).alias("date")
    close = pl.DataFrame({"date": days, **{name: [10.0] * 4 + [None] * 4 for name in names}})
    close = close.with_columns(LAST=pl.lit(5.0))
    weights = pl.DataFrame({"date": [date(2024, 1, 5)], **dict.fromkeys(names, 0.05), "LAST": [-1.0]})
    notes = [x for x in Ledger.from_weights(weights, close, Costs(), NYSE).notes if "still holds" in x]
    assert [note.partition(",")[0] for note in notes] == ["long_short still holds N00"]
    assert "N00, N01, N02 and 17 more, without a price on the last day, at the last price" in notes[0]


def test_a_recovery_in_percent_is_refused() -> None:
    with pytest.raises(SealError, match="recovery is 80: give the share of the last close received, above 0"):
        Costs(recovery=80)


def test_costs_and_calendar_in_each_others_place_are_refused() -> None:
    with pytest.raises(SealError, match=r"costs is Calendar\(.*\): give Costs\(…\)"):
        Ledger.from_weights(WEEK, CLOSE, NYSE, Costs())  # type: ignore[arg-type]


def test_an_unknown_time_zone_is_reported_in_one_line() -> None:
    with pytest.raises(SealError, match="09:30 in 'NewYork' is not a valid time") as refusal:
        Ledger.from_weights(WEEK, CLOSE, Costs(), Calendar("NewYork", "09:30", "16:00"))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["opened", "Opens"])
def test_a_misspelt_open_is_no_price_frame_without_opens(name: str) -> None:
    long = CLOSE.unpivot(index="date", variable_name="symbol", value_name="close")
    close = CLOSE.select("date", "AAA")
    weights = WEEK.select("date", "AAA")
    for prices in (long.with_columns(pl.col("close").alias(name)), {"close": close, name: close}):
        with pytest.raises(SealError, match=f"prices have no 'open' but '{name}': name that 'open'"):
            Ledger.from_weights(weights, prices, Costs(), NYSE)
    with pytest.raises(SealError, match="prices have no 'open' but 'Open': name that 'open'"):
        Ledger.from_weights(weights, {"close": close, "Open": close}, Costs(), NYSE)
    further = long.with_columns(volume=1.0, adj_close="close")
    assert Ledger.from_weights(weights, further, Costs(), NYSE).tables


def test_a_wide_frame_may_have_a_name_open() -> None:
    close = CLOSE.select("date", "AAA", open="AAA")
    ledger = Ledger.from_weights(WEEK.select("date", "AAA"), close, Costs(), NYSE)
    assert (
        "prices have no open: fills are at closes, and forward_return is from close to close" in ledger.notes
    )

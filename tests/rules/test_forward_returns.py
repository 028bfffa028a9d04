"""Forward returns are compared with traded prices, and the coverage is reported."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from pipeline.check_command import check as check_command
from pipeline.rule import Coverage, Finding
from pipeline.rules import Tables, check
from pipeline.rules.return_rules import decisions_forward_return
from pipeline.seal import Seal
from tests.support.seals import make_seal, rewrite

MONDAY = date(2024, 3, 4)
DAYS = [MONDAY + timedelta(days=n) for n in (0, 1, 2, 3, 4, 7, 8)]
ENTRY, MATURITY = (datetime(2024, 3, day, 14, 30, tzinfo=UTC) for day in (4, 11))
WEEK = date(2024, 3, 1)


def run(
    forward_return: float,
    *,
    mids: tuple[float, float] = (100.0, 104.0),
    adjustments: dict[int, dict[str, float]] | None = None,
    held: int = 5,
    shares: float = 2.0,
    book: str = "long_short",
    variant: str = "",
    marks: float = 100.0,
    neighbour: float | None = None,
) -> Tables:
    """Return a week of one name, filled at the opens of two Mondays and held for that many closes between.

    `adjustments` are by position of the day: shares received and cash paid. `neighbour` is the value of shares of another
    name that were received without a fill on the second day.
    """
    decisions = pl.DataFrame(
        {
            "date": [WEEK],
            "symbol": ["AAA"],
            "entry_at": [ENTRY],
            "maturity_at": [MATURITY],
            "forward_return": [forward_return],
        }
    ).with_columns(pl.col("entry_at", "maturity_at").dt.cast_time_unit("us"))
    trades = pl.DataFrame(
        {
            "book": [book, book + variant],
            "timestamp": [ENTRY, MATURITY],
            "decision_at": [WEEK, WEEK + timedelta(days=7)],
            "symbol": ["AAA", "AAA"],
            "mid_price": list(mids),
        }
    ).with_columns(pl.col("timestamp").dt.cast_time_unit("us"))
    quantity, pnl, positions = shares, [], []
    for place, day in enumerate(DAYS[:held]):
        came = (adjustments or {}).get(place, {})
        quantity += came.get("quantity_adjustment", 0.0)
        positions.append((book, day, "AAA", quantity, marks))
    if neighbour is not None:
        positions += [(book, day, "NEW", 1.0, neighbour) for day in DAYS[1:held]]
        pnl.append((book, DAYS[1], "NEW", 1.0, 0.0))
    for place, came in (adjustments or {}).items():
        pnl.append(
            (book, DAYS[place], "AAA", came.get("quantity_adjustment", 0.0), came.get("cash_adjustment", 0.0))
        )
    frames = {
        "decisions": decisions,
        "trades": trades,
        "portfolio": pl.DataFrame({"book": book, "date": DAYS}),
        "positions": pl.DataFrame(
            positions, {"book": pl.String, "date": pl.Date, "symbol": pl.String, "quantity": pl.Float64, "mark_price": pl.Float64}, orient="row"
        ),
    }  # fmt: skip
    if adjustments is not None or neighbour is not None:
        columns = {
            "book": pl.String,
            "date": pl.Date,
            "symbol": pl.String,
            "quantity_adjustment": pl.Float64,
            "cash_adjustment": pl.Float64,
        }
        frames["pnl"] = pl.DataFrame(pnl, columns, orient="row")
    return Tables(frames)  # fmt: skip


def coverage(tables: Tables) -> Coverage:
    result = decisions_forward_return.body(tables)
    assert isinstance(result, Coverage)
    return result


def test_a_forward_return_matches_its_two_fills() -> None:
    assert coverage(run(0.04)) == Coverage(1, 1, 1)
    wrong = coverage(run(0.05)).finding
    assert isinstance(wrong, Finding)
    (example,) = wrong.examples
    assert (example["symbol"], example["actual"], example["expected"]) == ("AAA", 0.05, pytest.approx(0.04))
    assert (example["mid_at_entry"], example["mid_at_maturity"]) == (100.0, 104.0)
    assert coverage(run(0.04 + 1e-8)).finding is not None
    assert coverage(run(0.04 + 1e-10)).finding is None


def test_fills_of_any_book_but_settlements_prove_a_return() -> None:
    assert coverage(run(0.05, variant="_adjustments")).finding is not None
    assert coverage(run(0.05, book="raw_long_short")).finding is not None
    assert coverage(run(0.04, book="raw_long_only")) == Coverage(1, 1, 0)
    settled = coverage(run(0.05, variant="_settlements"))
    assert (settled.checked, settled.of, settled.finding) == (0, 1, None)
    assert settled.reason is not None


@pytest.mark.parametrize("day", [1, 4, 5])
def test_a_declared_split_between_the_two_fills_counts(day: int) -> None:
    """Also on the Monday of the second fill, since a split precedes the open."""
    came = {day: {"quantity_adjustment": 2.0}}
    assert coverage(run(0.04, mids=(100.0, 52.0), adjustments=came)) == Coverage(1, 1, 1)
    assert coverage(run(-0.2, mids=(100.0, 52.0), adjustments=came)).finding is not None
    assert coverage(run(0.04, mids=(100.0, 52.0))).finding is not None, "nothing declares it"


def test_a_split_before_the_first_open_does_not_count() -> None:
    came = {0: {"quantity_adjustment": 2.0}}
    assert coverage(run(0.04, adjustments=came)).finding is None
    assert coverage(run(1.08, adjustments=came)).finding is not None


@pytest.mark.parametrize("shares", [2.0, -2.0])
def test_a_declared_dividend_may_be_part_of_the_return_or_not(shares: float) -> None:
    """One of 100 was paid on the third day, and the name fell by it."""
    paid = {2: {"cash_adjustment": shares}}
    for valid in (0.03, 0.04, 1.03 / 0.99 - 1.0):
        assert coverage(run(valid, mids=(100.0, 103.0), adjustments=paid, shares=shares)).finding is None
    for wrong in (0.0299, 0.0405, -0.03):
        assert coverage(run(wrong, mids=(100.0, 103.0), adjustments=paid, shares=shares)).finding is not None


def test_a_dividend_after_a_split_is_paid_on_the_new_shares() -> None:
    events = {1: {"quantity_adjustment": 2.0}, 3: {"cash_adjustment": 4.0}}
    assert coverage(run(0.02, mids=(100.0, 50.0), adjustments=events, marks=50.0)).finding is None
    assert coverage(run(0.05, mids=(100.0, 50.0), adjustments=events, marks=50.0)).finding is not None


def test_shares_of_another_name_may_be_part_of_the_return() -> None:
    """Half of the 100 goes into a new name of which one share comes for two."""
    for valid in (-0.5, -0.25, 0.0):
        assert coverage(run(valid, mids=(100.0, 50.0), neighbour=100.0)).finding is None
    for wrong in (-0.6, 0.2):
        assert coverage(run(wrong, mids=(100.0, 50.0), neighbour=100.0)).finding is not None


def test_a_name_not_held_throughout_is_not_compared() -> None:
    sold = coverage(run(0.04, mids=(100.0, 52.0), adjustments={0: {}}, held=3))
    assert (sold.checked, sold.of, sold.finding) == (0, 1, None)
    assert coverage(run(0.04, mids=(100.0, 52.0), adjustments={0: {}})).finding is not None


def test_the_number_of_compared_returns_matches_a_loop(tmp_path: Path) -> None:
    seal = Seal.open(str(make_seal(tmp_path)))
    mids = {
        (row["timestamp"], row["symbol"]): (row["mid_price"], row["book"])
        for row in seal.table("trades").sort("book", descending=True).iter_rows(named=True)
        if not row["book"].endswith("_settlements")
    }
    compared = without_raw = stated = 0
    for row in seal.table("decisions").iter_rows(named=True):
        ends = [mids.get((row[at], row["symbol"])) for at in ("entry_at", "maturity_at")]
        stated += row["forward_return"] is not None
        if row["forward_return"] is not None and ends[0] and ends[1]:
            compared += 1
            without_raw += not (ends[0][1].startswith("raw_") or ends[1][1].startswith("raw_"))
            assert row["forward_return"] == pytest.approx(ends[1][0] / ends[0][0] - 1.0, abs=1e-9)
    report = check(seal)
    assert report.coverage == {"decisions.forward_return": Coverage(compared, stated, without_raw)}
    assert 0.3 < compared / stated < 0.7


def test_the_compared_share_is_printed_and_in_json(tmp_path: Path) -> None:
    seal = make_seal(tmp_path)
    share = check(Seal.open(str(seal))).coverage["decisions.forward_return"]
    compared, stated = share.checked, share.of
    shown = CliRunner().invoke(check_command, [str(seal)]).stdout
    assert f"decisions.forward_return: {compared:,} of {stated:,} rows compared" in shown
    document: dict[str, Any] = json.loads(CliRunner().invoke(check_command, [str(seal), "--json"]).stdout)
    assert document["seals"][0]["coverage"] == {
        "decisions.forward_return": {"checked": compared, "of": stated}
    }


def test_without_fills_at_both_instants_the_rule_is_reported_as_unchecked(
    tmp_path: Path,
) -> None:
    seal = make_seal(tmp_path)
    later = pl.col("entry_at", "maturity_at") + timedelta(minutes=1)
    rewrite(seal, "decisions", lambda frame: frame.with_columns(later))
    report = check(Seal.open(str(seal)))
    assert report.violations == ()
    ((rule, reason),) = ((entry.rule, entry.reason) for entry in report.not_checked)
    assert rule == "decisions.forward_return"
    assert "filled both at entry_at and at maturity_at" in reason

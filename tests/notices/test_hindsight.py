"""Runs of the reference engine that use what they could not know yet, at true prices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.reference_engine import AlphaSpec, Market, RunRecord, run_alpha, simulate_market, write_seal
from examples.reference_engine.signal import raw_signal
from examples.reference_engine.weekly_tables import forward_returns
from pipeline.notices import NoticeOutcome
from pipeline.rules import check
from pipeline.seal import Seal

SPEC = AlphaSpec("Test_hindsight", "reversal", raw=False)


@pytest.fixture(scope="module")
def market() -> Market:
    return simulate_market(11, 60, 110)


def given(run: RunRecord, folder: Path) -> dict[str, NoticeOutcome]:
    seal = write_seal(folder / "seal", RunRecord(run.manifest, run.tables, None, None, None))
    report = check(Seal.open(str(seal)))
    assert not report.violations, [violation.message for violation in report.violations]
    return {outcome.notice: outcome for outcome in report.given}


def test_an_honest_run_has_no_notice(market: Market, tmp_path: Path) -> None:
    assert given(run_alpha(market, SPEC), tmp_path) == {}


def test_losing_names_that_could_not_be_traded_are_noticed(market: Market, tmp_path: Path) -> None:
    """In each week the name of either tail that is to lose most is said to be illiquid."""
    scores = raw_signal("reversal", market.closes, market.marks, market.first, market.decisions)
    gains, illiquid = np.nan_to_num(forward_returns(market)), market.illiquid.copy()
    for week, day in enumerate(market.decisions[:-1]):
        low, high = np.nanquantile(scores[week], [0.2, 0.8])
        losses = np.where(scores[week] < low, gains[week], np.where(scores[week] > high, -gains[week], 0.0))
        illiquid[day, losses.argmax()] = True
    notices = given(run_alpha(replace(market, illiquid=illiquid), SPEC), tmp_path)
    assert notices.keys() == {"universe.barred_names"}
    outcome = notices["universe.barred_names"]
    assert outcome.value == pytest.approx(0.33, abs=0.05)
    assert (outcome.message or "").startswith("225 names that could not be traded would have lost: ")


@pytest.mark.parametrize("variant", ["_adjustments", ""])
def test_positions_closed_before_they_lose_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    """Positions that lose 8 % or more by the next decision are closed at the open, at the price of the market."""

    def stop(books: Any) -> None:
        following = market.decisions[market.decisions >= books.session].min(initial=market.observed - 1)
        loss = -np.sign(books.shares) * (books.marks[following] / books.mid - 1)
        kept = np.where(books.bars[books.session] & (loss > 0.08), 0.0, books.shares)
        books.fill(kept, variant=variant, phase="close", change="exit", exit_reason="risk_exit")

    monkeypatch.setattr("examples.reference_engine.ledger._Books.adjust", stop)
    notices = given(run_alpha(market, SPEC), tmp_path)
    assert notices.keys() == {"fills.foresight"}
    outcome = notices["fills.foresight"]
    assert outcome.value == pytest.approx(880, abs=50)
    assert "gained" in (outcome.message or "")

"""Runs of the reference engine that know a little of the returns to come: for some names, weeks or sessions, or in small parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from examples.reference_engine import AlphaSpec, Market, RunRecord, run_alpha, simulate_market, write_seal
from examples.reference_engine.strategy import decide
from pipeline.notices import NoticeOutcome
from pipeline.rules import check
from pipeline.seal import Seal

SPEC = AlphaSpec("Test_known_returns", "reversal", 1.0, raw=False)


@pytest.fixture(scope="module")
def market() -> Market:
    return simulate_market(21, 60, 120)


def given(run: RunRecord, folder: Path) -> dict[str, NoticeOutcome]:
    seal = write_seal(folder / "seal", RunRecord(run.manifest, run.tables, None, None, None))
    report = check(Seal.open(str(seal)))
    assert not report.violations, [violation.message for violation in report.violations]
    return {x.notice: x for x in report.notices if x.outcome == "notice"}


def test_losing_sessions_in_which_names_hardly_moved_are_noticed(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names move by two fifths of what they did, beside the market, in the twentieth of the sessions in which the book lost most."""
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
    notices = given(run_alpha(forged, SPEC), tmp_path)
    assert notices.keys() == {"book.missing_losses"}
    assert "largest moves of the book" in (notices["book.missing_losses"].message or "")

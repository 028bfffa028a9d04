"""A root of three alphas, one of which has checks of every outcome."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from pipeline.rules.registry import RULES
from pipeline.snapshot_builder import build_seal
from schemas.metrics.checked import FORWARD_RETURN_RULE
from tests.support.recorded import record
from tests.support.seals import make_seal, rewrite

AUDITED: Final = "Test_audited"
OTHER: Final = "Test_other"
HIDDEN: Final = "Prod_hidden"
WARNED: Final = "decisions.rank_order"


def check(rule: str, outcome: str = "pass", **more: Any) -> dict[str, Any]:
    """Return a manifest's record of a rule."""
    return {"rule": rule, "outcome": outcome, "reason": None, "checked": None, "of": None, **more}


def notice(name: str, outcome: str = "notice", **more: Any) -> dict[str, Any]:
    """Return a manifest's record of a notice."""
    return {
        "notice": name,
        "outcome": outcome,
        "figure": "mean_ic",
        "value": 0.31,
        "threshold": 0.15,
        "unit": "ratio",
        "reason": None,
        "message": f"{name} is above its threshold." if outcome == "notice" else None,
        "raw": False,
        "details": {},
        **more,
    }


def earlier(snapshot: str, outcome: str, **restated: int) -> dict[str, Any]:
    """Return a manifest's record of an earlier seal."""
    return {
        "seal_digest": "d" * 64,
        "sealed_at": "2025-06-05T07:30:00Z",
        "snapshot": snapshot,
        "outcome": outcome,
        "common_weeks": 20,
        "restated_weeks": {"scores": 0, "targets": 0, "forward_returns": 0, "fills": 0, **restated},
        "restated_since": "2020-03-06" if restated else None,
        "mean_ic_before": 0.02,
        "mean_ic_after": 0.3 if restated else 0.02,
    }


CHECKS: Final = (
    *(check(rule) for rule in RULES if rule not in (FORWARD_RETURN_RULE, WARNED, "trials.days")),
    check("trials.days", "not_checked", reason="the run sealed no trials"),
    check(FORWARD_RETURN_RULE, checked=629, checked_without_raw=620, of=1000),
    check(WARNED, "notice"),
)
NOTICES: Final = (
    notice("signal.mean_ic"),
    notice("signal.raw_ic", raw=True, figure="raw_mean_ic", message="raw_score is better than score."),
    notice(
        "catalogue.prices",
        details={"alphas": [OTHER, HIDDEN]},
        value=0.97,
        message="2 runs of 2 contradict it.",
    ),
    notice("catalogue.forward_returns", details={"alphas": [HIDDEN]}),
    notice("book.sharpe", "pass", value=1.1, threshold=4.0),
    notice("book.borrow", "not_checked", value=None, reason="the run sealed no short position"),
)
HISTORY: Final = (earlier("a" * 20, "extended"), earlier("b" * 20, "restated", scores=12, forward_returns=3))
WARNINGS: Final = (
    {
        "rule": WARNED,
        "file": "decisions.parquet",
        "rows": 4,
        "examples": [{"date": "2020-01-03", "unsmoothed_score": 1.0}],
        "message": "the ranks of raw_average_rank and average_rank do not follow their scores",
        "remedy": "Rank the scores.",
    },
)


def _falsified(document: Mapping[str, Any]) -> dict[str, Any]:
    """State a mean IC that the tables contradict."""
    records = [
        {**row, "value": 0.9} if (row["name"], row["scope"]) == ("mean_ic", "overall") else row
        for row in document["records"]
    ]
    return {**document, "records": records}


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit")
    published = folder / "published"
    for alpha in (AUDITED, OTHER, HIDDEN):
        seal = make_seal(folder, alpha_id=alpha)
        build_seal(str(rewrite(seal, "metrics", _falsified) if alpha == AUDITED else seal), published)
    record(published, AUDITED, checks=CHECKS, notices=NOTICES, history=HISTORY, warnings=WARNINGS)
    return published

"""For any series the answer is complete, valid JSON without NaN."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
from hypothesis import given
from hypothesis import strategies as st

from schemas.documents.metrics_documentation import documentation
from tests.support import factories
from tests.support.factories import EVERYTHING, answer_metrics, codes

VALUES = st.one_of(st.none(), st.sampled_from([0.0, 1.0, -1.0, 1e-9]), st.floats(-1e3, 1e3, allow_nan=False))


def series(draw: Any, size: int, values: st.SearchStrategy[Any] = VALUES) -> Any:
    drawn = draw(st.lists(values, min_size=size, max_size=size))
    return np.array([math.nan if x is None else x for x in drawn], np.float64)


@st.composite
def runs(draw: Any) -> Any:
    """Runs of few weeks and sessions with any values in them and any part missing."""
    weeks, sessions = draw(st.integers(0, 14)), draw(st.integers(0, 14))
    sections = factories.cross_sections(
        weeks, pending=min(weeks, draw(st.integers(0, 2))), raw=draw(st.booleans())
    )
    sections = replace(
        sections,
        ic=series(draw, weeks, st.one_of(st.none(), st.floats(-1, 1))),
        n_return_obs=series(draw, weeks, st.sampled_from([0.0, 3.0, 50.0])),
        n_symbols=series(draw, weeks, st.sampled_from([0.0, 50.0])),
    )
    book = factories.ledger(sessions)
    book = replace(
        book,
        starting=series(draw, sessions),
        ending=series(draw, sessions),
        turnover=series(draw, sessions, st.floats(0, 2)),
    )
    figures = factories.run(cross_sections=sections, ledger=book)
    if draw(st.booleans()):
        figures = replace(figures, sealed=None)
    if draw(st.booleans()):
        figures = replace(figures, ledger=None, kinds=figures.kinds - {"portfolio"})
    return figures


QUESTIONS = st.fixed_dictionaries(
    {
        "may_call": st.sets(st.sampled_from(sorted(EVERYTHING))).map(frozenset),
        "granularity": st.sampled_from(["overall", "yearly", "monthly"]),
        "first": st.sampled_from([None, "2019-06-01", "2020-01-10", "2020-02-01"]),
        "last": st.sampled_from([None, "2020-02-01", "2020-02-20", "2021-01-01"]),
    }
)


@given(figures=runs(), question=QUESTIONS)
def test_an_answer_is_finite_complete_and_documented(figures: Any, question: dict[str, Any]) -> None:
    answer = answer_metrics(figures, **question)
    assert "block_error" not in codes(answer)
    text = orjson.dumps(answer.data).decode()
    assert json.loads(text) == answer.data
    documented = documentation()["fields"]
    for path, value in factories.walk(answer.data):
        assert path in documented
        assert not isinstance(value, float) or math.isfinite(value)
        assert not isinstance(value, np.generic)
        if isinstance(value, dict) and "status" in value:
            available = value["status"] == "available"
            assert (value["value"] is not None) == available == (value["source"] is not None)
            assert ("withheld_reason" in value) != available
    assert {re.split(r"\.|\[", x)[0] for x in documented} - answer.data.keys() == {"doc"}


@given(figures=runs(), question=QUESTIONS)
def test_the_order_of_requests_does_not_matter(figures: Any, question: dict[str, Any]) -> None:
    first = answer_metrics(figures, **question)
    answer_metrics(figures)
    assert answer_metrics(figures, **question) == first


@given(scale=st.floats(1e-3, 1e6), question=QUESTIONS)
def test_scaling_the_ledger_scales_only_money(scale: float, question: dict[str, Any]) -> None:
    figures = factories.run(sealed=None)
    assert figures.ledger is not None
    book = replace(
        figures.ledger, starting=figures.ledger.starting * scale, ending=figures.ledger.ending * scale
    )
    scaled = replace(figures, ledger=book)
    one, other = (answer_metrics(x, **question).data["core"] for x in (figures, scaled))
    for name in one.keys() - {"tenure"}:
        factor = scale if name in ("pnl", "max_drawdown") else 1.0
        if one[name]["value"] is None:
            assert other[name]["value"] is None
        else:
            assert math.isclose(
                other[name]["value"], one[name]["value"] * factor, rel_tol=1e-7, abs_tol=1e-9 * factor
            )

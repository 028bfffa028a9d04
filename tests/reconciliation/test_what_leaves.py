"""Manifest content about hidden columns never leaves the service."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import datasets
from datasets.provenance.manifest_view import visible
from pipeline.snapshot_builder import build_seal
from schemas.endpoints import ENDPOINTS
from tests.reconciliation.test_falsified_figures import OVERALL, restated
from tests.support.client import ApiClient
from tests.support.seals import make_seal, rewrite

ALPHA = "Test_every_warning"
EXEMPT = {"performance.metrics.doc", "admin.keys.usage", "catalog.alphas.source.download"}
"""Documentation, the same for everybody; another key's own affairs; a file."""


def with_every_warning(seal: Path) -> Path:
    """Break every warning rule with raw, sealed-name and undeclared columns."""

    def ranks(frame: pl.DataFrame) -> pl.DataFrame:
        frame = frame.with_columns(
            average_rank=pl.col("score").rank("average").over("date"),
            raw_average_rank=pl.col("unsmoothed_score").rank("average").over("date"),
        )
        return frame.with_columns(raw_private=pl.lit(1.0), unsmoothed_score_of_last_week=pl.lit(1.0))

    rewrite(seal, "decisions", ranks)
    rewrite(seal, "portfolio", lambda frame: frame.with_columns(raw_nav=pl.lit(1.0)))
    for name in OVERALL:
        restated(seal, name, "overall", lambda record: {"value": (record["value"] or 0.0) + 0.123})
    rewrite(seal, "seal", lambda manifest: manifest | {"raw_remark": "x", "unsmoothed_score": 1})
    return rewrite(seal, "description", lambda document: document | {"raw_notes": "x"})


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leaks")
    seal = with_every_warning(make_seal(folder, alpha_id=ALPHA))
    built = build_seal(str(seal), folder / "root")
    assert {warning["rule"] for warning in built.warnings} >= {
        "seal.unknown", "table.extra", "decisions.rank_order", "metrics.reproduced", "description.extra",
    }  # fmt: skip
    shutil.rmtree(seal)
    return folder / "root"


def targets(week: str) -> Iterator[str]:
    """Yield every endpoint of a run with the parameters of its largest answer."""
    for endpoint in ENDPOINTS.values():
        if endpoint.id in EXEMPT:
            continue
        path = endpoint.path.format(
            alpha=ALPHA, date=week, key_id="none", symbol="SPY", book="long_short", table="trades"
        )
        if endpoint.id == "performance.metrics":
            for granularity in ("overall", "yearly", "monthly"):
                yield f"{path}?panel=1&granularity={granularity}"
        elif endpoint.id == "signals.scores":
            yield f"{path}?fields=all"
        elif "book" in {parameter.name for parameter in endpoint.query}:
            for book in ("long_short", "raw_long_short"):
                yield f"{path}?book={quote(book)}"
        else:
            yield path


@pytest.mark.parametrize("raw", [True, False], ids=["with raw access", "without"])
def test_no_answer_names_hidden_columns(
    api: ApiClient, root: Path, raw: bool, caplog: pytest.LogCaptureFixture
) -> None:
    key = api.key(admin=True, raw=raw)
    week = str(datasets.open(root)[ALPHA].scan("rebalances").collect()["date"][-3])
    forbidden = re.compile("unsmoothed_score" if raw else "unsmoothed_score|raw_")
    requested = 0
    with caplog.at_level(logging.DEBUG):
        for target in targets(week):
            answer = api.get(target, key)
            # Neither the flag itself nor a book named by the caller is a column.
            text = answer.text.replace("expose_raw_book", "")
            if "book=raw" in target:
                text = text.replace("raw_long_short", "")
            match = forbidden.search(text)
            assert match is None, (target, text[max(0, match.start() - 200) : match.end() + 50])
            requested += answer.status_code == 200
    assert requested > 12
    assert "unsmoothed_score" not in caplog.text


def test_readiness_shows_visible_columns(api: ApiClient) -> None:
    path = f"/v1/admin/alphas/{ALPHA}/readiness"
    closed, open_ = (api.json(path, api.key(admin=True, raw=raw))["data"] for raw in (False, True))
    rules = [warning["rule"] for warning in open_["warnings"]]
    assert [warning["rule"] for warning in closed["warnings"]] == rules
    (order,) = [warning for warning in open_["warnings"] if warning["rule"] == "decisions.rank_order"]
    assert order["examples"]
    names = {figure["name"] for figure in open_["reconciliation"]["figures"]}
    assert {figure["name"] for figure in closed["reconciliation"]["figures"]} == names - {
        "raw_mean_ic",
        "raw_icir",
    }


JSON: Any = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text() | st.sampled_from(
        ["raw_score", "unsmoothed_score", "raw_long_short", "score raw_icir", "x_unsmoothed_score_y", "draw_down"]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "raw_b", "unsmoothed_score", "name"]), inner, max_size=3),
    max_leaves=20,
)  # fmt: skip


@given(content=JSON, raw=st.booleans())
def test_no_hidden_content_remains(content: Any, raw: bool) -> None:
    text = json.dumps(visible(content, raw=raw))
    assert "unsmoothed_score" not in text
    if not raw:
        assert not re.search(r"(?<![A-Za-z0-9])raw_", text)


def test_similar_words_are_kept() -> None:
    violation = {"message": "the draw_down of raw material", "examples": [{"symbol": "RAW", "score": 1.0}]}
    assert visible(violation, raw=False) == violation

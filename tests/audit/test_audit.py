"""The audit of a run: worst entries first, hidden ones omitted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import datasets
from datasets.figures.checks import CheckSummary
from datasets.figures.headline import Headline
from datasets.provenance.audit import verdict
from pipeline.rules.registry import RULES
from schemas.metrics.checked import FORWARD_RETURN_RULE
from schemas.metrics.headline import HEADLINE_VERSION
from schemas.notices.catalogue import TOO_FEW_OTHERS
from schemas.objects.audit import ENTRY_KINDS, STATUSES
from tests.audit.conftest import AUDITED, CHECKS, HIDDEN, HISTORY, NOTICES, OTHER, WARNED
from tests.support.client import ApiClient

PATH = f"/v1/alphas/{AUDITED}/audit"
TESTS_ONLY: dict[str, Any] = {"alphas": "prefix:Test_", "runs": "prefix:Test_"}


def audited(api: ApiClient, **grants: Any) -> dict[str, Any]:
    data: dict[str, Any] = api.json(PATH, api.key(**grants))["data"]
    return data


def by_id(entries: Sequence[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for entry in entries if entry["kind"] == kind}


def test_every_rule_figure_notice_and_earlier_seal_has_an_entry(api: ApiClient, root: Path) -> None:
    data = audited(api, raw=True)
    entries = data["entries"]
    figures = datasets.open(root)[AUDITED].manifest.reconciliation["figures"]
    assert set(by_id(entries, "rule")) == {check["rule"] for check in CHECKS}
    assert set(by_id(entries, "notice")) == {notice["notice"] for notice in NOTICES}
    assert set(by_id(entries, "history")) == {seal["snapshot"] for seal in HISTORY}
    names = [x["name"] if x["period"] is None else f"{x['name']}.{x['period']}" for x in figures]
    assert sorted(by_id(entries, "figure")) == sorted(names)
    assert len(entries) == len({(entry["kind"], entry["id"]) for entry in entries})
    for status in STATUSES:
        assert data["summary"][status] == sum(entry["status"] == status for entry in entries)


def test_entries_are_sorted_worst_first(api: ApiClient) -> None:
    entries = audited(api, raw=True)["entries"]
    places = [(STATUSES.index(entry["status"]), ENTRY_KINDS.index(entry["kind"])) for entry in entries]
    assert places == sorted(places)
    assert entries[0]["status"] == "notice"
    assert entries[0]["kind"] == "notice"


def test_an_entry_has_value_threshold_and_reason(api: ApiClient) -> None:
    entries = audited(api)["entries"]
    mean_ic = by_id(entries, "notice")["signal.mean_ic"]
    assert (mean_ic["value"], mean_ic["threshold"]) == (0.31, 0.15)
    assert mean_ic["reason"] == "signal.mean_ic is above its threshold."
    borrow = by_id(entries, "notice")["book.borrow"]
    assert (borrow["status"], borrow["reason"]) == ("not_checked", "the run sealed no short position")
    figure = by_id(entries, "figure")["mean_ic"]
    assert (figure["status"], figure["value"]) == ("notice", 0.9)
    assert f"{figure['threshold']:.9g}" in figure["reason"]
    assert by_id(entries, "figure")["icir"]["status"] == "pass"
    share = by_id(entries, "rule")["decisions.forward_return"]
    assert (share["value"], share["details"]) == (0.62, {"checked": 620, "of": 1000})
    assert by_id(entries, "rule")["trials.days"]["reason"] == "the run sealed no trials"
    restated = by_id(entries, "history")["b" * 20]
    assert restated["status"] == "notice"
    assert "weeks restated since 2020-03-06: forward returns 3, scores 12" in restated["reason"]
    assert (restated["threshold"], restated["value"]) == (0.02, 0.3)


def test_raw_entries_are_omitted_without_raw_access(api: ApiClient) -> None:
    data = audited(api)
    text = json.dumps(data)
    assert "raw_" not in text
    assert "unsmoothed_score" not in text
    assert "signal.raw_ic" not in by_id(data["entries"], "notice")
    rule = by_id(data["entries"], "rule")[WARNED]
    assert rule["status"] == "notice"
    assert "rows" not in rule["details"], "rows of raw columns are counted there"
    assert (
        data["summary"]["checked"]["notices"] == audited(api, raw=True)["summary"]["checked"]["notices"] - 1
    )


def test_a_notice_names_no_alpha_that_the_key_may_not_read(api: ApiClient) -> None:
    everything, limited = audited(api), audited(api, **TESTS_ONLY)
    assert by_id(everything["entries"], "notice")["catalogue.prices"]["details"] == {
        "alphas": [OTHER, HIDDEN]
    }
    prices = by_id(limited["entries"], "notice")["catalogue.prices"]
    assert prices["details"] == {"alphas": [OTHER]}
    assert prices["value"] is None, "it is counted over alphas that the key may not read"
    assert "2 runs" not in prices["reason"]
    returns = by_id(limited["entries"], "notice")["catalogue.forward_returns"]
    assert (returns["status"], returns["reason"], returns["value"]) == ("not_checked", TOO_FEW_OTHERS, None)
    assert (returns["threshold"], returns["details"]) == (None, {}), "as of a run without other runs"
    assert HIDDEN not in json.dumps(limited)
    alone = audited(api, alphas="all", runs=f"list:{AUDITED}")
    catalogue = [entry for entry in alone["entries"] if entry["id"].startswith("catalogue.")]
    assert [entry["status"] for entry in catalogue] == ["not_checked", "not_checked"]
    assert [x["summary"]["checked"]["notices"] for x in (everything, limited, alone)] == [3, 2, 1]


def test_a_key_without_access_to_the_data_gets_outcomes_without_figures(api: ApiClient) -> None:
    full = audited(api)
    closed = audited(api, endpoints="performance.audit,performance.metrics")
    outcomes = [[(x["kind"], x["id"], x["status"]) for x in data["entries"]] for data in (full, closed)]
    assert outcomes[0] == outcomes[1]
    for entry in closed["entries"]:
        assert (entry["value"], entry["threshold"], entry["unit"]) == (None, None, None)
        if entry["status"] == "notice":
            assert "signals.rebalances.get" in entry["reason"]


@pytest.mark.parametrize("grants", [{}, {"raw": True}, TESTS_ONLY, {"runs": f"list:{AUDITED}"}])
def test_list_metrics_and_audit_agree_on_the_checks(api: ApiClient, grants: dict[str, Any]) -> None:
    key = api.key(**grants)
    checked = api.json(PATH, key)["data"]["summary"]["checked"]
    rows = api.json("/v1/screen?fields=ic", key)["data"]
    (row,) = [row for row in rows if row["alpha_id"] == AUDITED]
    assert row["checked"] == api.json(f"/v1/alphas/{AUDITED}/metrics", key)["data"]["checked"] == checked
    assert checked["contradicted"] == 1
    assert checked["reproduced"] > 5
    assert checked["forward_returns_proven"] == (0.629 if grants.get("raw") else 0.62), (
        "what the raw books prove is not shown to every reader"
    )


def test_a_window_does_not_change_the_checks(api: ApiClient) -> None:
    key = api.key()
    full, window = (
        api.json(f"/v1/alphas/{AUDITED}/metrics{query}", key)["data"]["checked"]
        for query in ("", "?from=2020-03-01&to=2020-04-01")
    )
    assert full == window


def test_a_row_of_a_run_that_the_key_may_not_read_has_no_checks(api: ApiClient) -> None:
    rows = api.json("/v1/screen?fields=ic", api.key(alphas="all", runs=f"list:{OTHER}"))["data"]
    checked = {row["alpha_id"]: row["checked"] for row in rows}
    assert checked[AUDITED] is None
    assert checked[HIDDEN] is None
    assert "checked" not in api.json("/v1/alphas", api.key())["data"][0]


def test_an_earlier_snapshots_audit_is_requested_by_id(api: ApiClient, root: Path) -> None:
    snapshot = datasets.open(root)[AUDITED].id
    key = api.key()
    assert api.json(f"{PATH}?snapshot={snapshot}", key)["data"] == api.json(PATH, key)["data"]
    assert api.json(f"{PATH}?snapshot={'0' * 20}", key, status=404)["error"]["code"] == "snapshot_not_found"


def test_the_datasets_package_returns_the_same_entries(api: ApiClient, root: Path) -> None:
    frame = datasets.open(root)[AUDITED].audit()
    entries = audited(api, raw=True)["entries"]
    assert frame.drop("details").to_dicts() == [
        {name: value for name, value in entry.items() if name != "details"} for entry in entries
    ]
    assert [json.loads(text) for text in frame["details"]] == [entry["details"] for entry in entries]
    assert frame.filter(pl.col("status") == "notice").height == sum(x["status"] == "notice" for x in entries)


def test_an_audit_is_small_enough_for_a_page(api: ApiClient) -> None:
    answer = api.get(PATH, api.key(raw=True))
    assert len(answer.content) < 400 * len(answer.json()["data"]["entries"])


def test_the_verdict_is_one_line_of_text(api: ApiClient) -> None:
    assert audited(api)["summary"]["verdict"].startswith("3 notices · 62% of forward returns proven · ")
    counts = {"reproduced": 10, "stated": 1, "contradicted": 0, "forward_returns_proven": 0.62, "notices": 7}
    assert (
        verdict(counts) == "7 notices · 62% of forward returns proven · 10 of 11 figures reproduced, 1 stated"
    )
    empty = {"reproduced": 0, "stated": 0, "contradicted": 0, "forward_returns_proven": None, "notices": 1}
    assert verdict(empty) == "1 notice · no forward return could be checked · no figure sealed"
    assert "99%" in verdict({**counts, "forward_returns_proven": 0.9999})
    assert "build its seal again" in verdict(None)


COUNTS = st.integers(0, 100)


@given(
    counts=st.tuples(COUNTS, COUNTS, COUNTS),
    proven=st.tuples(st.none() | st.floats(0, 1), st.none() | st.floats(0, 1)),
    notices=COUNTS,
    limited=st.lists(st.tuples(st.booleans(), st.lists(st.sampled_from("abc"), unique=True).map(tuple))).map(
        tuple
    ),
    raw=st.booleans(),
    readable=st.sets(st.sampled_from("abc")),
)
def test_a_pointers_check_summary_round_trips_and_counts_what_a_reader_sees(
    counts: tuple[int, int, int],
    proven: tuple[float | None, float | None],
    notices: int,
    limited: tuple[tuple[bool, tuple[str, ...]], ...],
    raw: bool,
    readable: set[str],
) -> None:
    summary = CheckSummary(*counts, proven, notices, limited)
    recorded = {"version": HEADLINE_VERSION, "checked": json.loads(json.dumps(asdict(summary)))}
    assert Headline.decode(recorded).checked == summary
    seen = summary.for_reader(raw=raw, may_read=readable.__contains__)["notices"]
    expected = notices
    for needs_raw, names in limited:
        if (not needs_raw or raw) and (not names or readable & set(names)):
            expected += 1
    assert seen == expected


def test_the_rule_with_a_reported_share_is_a_known_rule() -> None:
    assert FORWARD_RETURN_RULE in RULES

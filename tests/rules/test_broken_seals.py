"""One broken seal for each rule, and the report that the check prints as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipeline.reconciliation.seal_figures import metrics_reproduced
from pipeline.rules import RULES, Tables
from pipeline.rules.table_rules import table_null
from pipeline.seal.file_rules import seal_signature
from schemas.field import Field
from schemas.objects.description import ADDRESS_KEYS, DESCRIPTION
from schemas.table import Column
from schemas.tables import SEALED_TABLES
from tests.reconciliation.ledgers import LEDGERS
from tests.reconciliation.ledgers import WARNED as FALSIFIED_WARNED
from tests.rules.broken_seals import CASES, DOUBLE_ENTRY, WARNED, Case, outcome
from tests.rules.changes import at, both, col, entry, manifest, put, repeat_first, soon, table, with_column
from tests.support.seals import make_seal, rewrite


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seal(tmp_path_factory.mktemp("valid"), ranks=True, tried=(1.0,))


def test_every_rule_has_a_seal_that_breaks_it() -> None:
    of_figures = {metrics_reproduced.id}  # tests/reconciliation falsifies each figure
    of_signatures = {seal_signature.id}  # tests/seal_writer/test_signatures.py signs with other keys
    assert {broken.rule for broken in (*CASES, *WARNED)} == set(
        RULES
    ) - DOUBLE_ENTRY - of_figures - of_signatures
    assert {falsified.rule for falsified in (*LEDGERS, *FALSIFIED_WARNED)} == DOUBLE_ENTRY
    warned = {broken.rule for broken in WARNED} | {falsified.rule for falsified in FALSIFIED_WARNED}
    assert warned | of_figures == {rule.id for rule in RULES.values() if rule.warns}


@pytest.mark.parametrize("raw", [True, False], ids=["with raw books", "without"])
@pytest.mark.parametrize("equity_basis", [1.0, 2_500_000.0])
def test_a_valid_seal_is_accepted(tmp_path: Path, raw: bool, equity_basis: float) -> None:
    report = outcome(make_seal(tmp_path, raw=raw, ranks=True, equity_basis=equity_basis))
    assert not report["refused"]
    assert report["violations"] == report["warnings"] == report["not_checked"] == []
    assert report["rows"]["positions"] > 0


@pytest.mark.parametrize("broken", CASES, ids=str)
def test_a_broken_rule_alone_refuses_the_seal(seal: Path, broken: Case) -> None:
    broken.alter(seal)
    report = outcome(seal)
    assert report["refused"]
    named = {violation["rule"] for violation in report["violations"]}
    # A wrong figure also contradicts the tables it comes from.
    assert named - DOUBLE_ENTRY == {broken.rule} | broken.also
    violation = next(v for v in report["violations"] if v["rule"] == broken.rule)
    assert violation["file"] == broken.file
    assert violation["rows"] == broken.rows
    assert 1 <= len(violation["examples"]) <= 5
    assert broken.shows in json.dumps(violation["examples"])
    assert violation["remedy"] == RULES[broken.rule].remedy
    assert violation["message"]


@pytest.mark.parametrize("warned", WARNED, ids=str)
def test_a_warning_does_not_refuse_the_seal(seal: Path, warned: Case) -> None:
    warned.alter(seal)
    report = outcome(seal)
    assert report["violations"] == []
    (warning,) = report["warnings"]
    assert (warning["rule"], warning["file"], warning["rows"]) == (warned.rule, warned.file, warned.rows)
    assert warned.shows in json.dumps(warning["examples"])


def test_at_most_five_examples_are_shown_and_all_rows_are_counted(seal: Path) -> None:
    rewrite(seal, "positions", put("weight", 17.0, 40))
    (violation,) = outcome(seal)["violations"]
    assert violation["rows"] == 40
    assert len(violation["examples"]) == 5
    assert {"book", "date", "symbol", "expected", "actual"} <= set(violation["examples"][0])
    assert violation["examples"][0]["actual"] == 17.0


def test_all_broken_rules_are_reported_together_in_the_order_of_the_list(seal: Path) -> None:
    rewrite(seal, "trades", put("exit_reason", "risk_exit", where=col("phase") == "open"))
    rewrite(seal, "rebalances", put("week_status", "skipped"))
    rewrite(seal, "portfolio", put("cash_end", 9.0))
    rewrite(seal, "positions", put("weight", float("nan")))
    report = outcome(seal)
    assert [violation["rule"] for violation in report["violations"]] == [
        "table.finite",
        "rebalances.status",
        "portfolio.cash",
        "trades.reasons",
        "portfolio.cash_start",
        "portfolio.cash_flow",
    ]
    assert report["not_checked"] == [
        {"rule": "positions.weight", "reason": "positions.weight failed table.finite"},
        {"rule": "portfolio.turnover", "reason": "in part: positions.weight failed table.finite"},
        {"rule": "metrics.reproduced", "reason": "the seal is refused"},
    ]


def test_rules_unchecked_because_of_a_bad_file_are_reported(seal: Path) -> None:
    entry("portfolio", sha256="0" * 64)(seal)
    report = outcome(seal)
    skipped = {entry["rule"]: entry["reason"] for entry in report["not_checked"]}
    assert skipped["positions.total"] == "portfolio failed seal.digest"
    assert skipped["table.null"] == "portfolio failed seal.digest"
    assert "positions.notional" not in skipped


@pytest.mark.parametrize("broken", ["seal.path", "seal.size", "seal.digest"])
@pytest.mark.parametrize(
    ("kind", "unchecked"),
    [
        ("metrics", {"metrics.record", "table.finite", "table.vocabulary"}),
        (
            "description",
            {f"description.{part}" for part in ("object", "shape", "extra", "seed", "history")},
        ),
    ],
)
def test_rules_unchecked_because_of_a_bad_document_are_reported(
    seal: Path, kind: str, unchecked: set[str], broken: str
) -> None:
    changes: dict[str, dict[str, Any]] = {
        "seal.path": {"path": f"../{kind}.json"},
        "seal.size": {"bytes": 2**40},
        "seal.digest": {"sha256": "0" * 64},
    }
    entry(kind, **changes[broken])(seal)
    report = outcome(seal)
    assert [violation["rule"] for violation in report["violations"]] == [broken]
    reason = f"{kind} failed {broken}"
    assert unchecked <= {entry["rule"] for entry in report["not_checked"] if entry["reason"] == reason}


@pytest.mark.parametrize(
    ("absent", "unchecked"),
    [
        (
            "portfolio",
            {"portfolio.identity", "positions.weight", "positions.total", "pnl.total", "trades.session"},
        ),
        ("positions", {"positions.notional", "positions.weight", "positions.total"}),
        ("rebalances", {"rebalances.status", "decisions.week", "decisions.pending", "decisions.long_only"}),
        ("decisions", {"decisions.week", "decisions.untradeable", "decisions.pending", "decisions.rank"}),
        ("trades", {"trades.session", "trades.reasons"}),
        ("pnl", {"pnl.total"}),
    ],
)
def test_a_missing_kind_is_accepted_and_its_rules_reported_as_unchecked(
    tmp_path: Path, absent: str, unchecked: set[str]
) -> None:
    report = outcome(make_seal(tmp_path, without_kinds={absent}))
    assert not report["refused"]
    assert unchecked <= {entry["rule"] for entry in report["not_checked"]}
    assert all(absent in entry["reason"] for entry in report["not_checked"])


@pytest.mark.parametrize("field", DESCRIPTION.fields, ids=lambda field: field.name)
def test_any_part_of_a_description_may_be_null_or_absent(seal: Path, field: Field) -> None:
    def drop(document: Any) -> Any:
        return {name: value for name, value in document.items() if name != field.name}

    for change in (at(field.name, None), drop):
        rewrite(seal, "description", change)
        report = outcome(seal)
        assert not report["refused"]
        # Of these keys, only the address does not come from the description.
        extra = change is not drop and field.name in ADDRESS_KEYS
        assert [entry["rule"] for entry in report["warnings"]] == (["description.extra"] if extra else [])


def test_an_empty_description_is_valid(seal: Path) -> None:
    rewrite(seal, "description", lambda _: {})
    report = outcome(seal)
    assert report["violations"] == report["warnings"] == report["not_checked"] == []


def test_every_fault_of_a_description_is_counted_and_cross_checks_are_skipped(seal: Path) -> None:
    rewrite(seal, "description", at("tldr", 7))
    rewrite(seal, "description", at("source_papers.0.role", 7))
    report = outcome(seal)
    (violation,) = report["violations"]
    assert (violation["rule"], violation["rows"]) == ("description.shape", 2)
    assert [(entry["field"], entry["found"]) for entry in violation["examples"]] == [
        ("tldr", 7),
        ("source_papers[0].role", 7),
    ]
    assert {entry["rule"] for entry in report["not_checked"]} == {
        "description.seed",
        "description.history",
        "metrics.reproduced",
    }


def test_optional_columns_may_be_absent(tmp_path: Path) -> None:
    absent = {"decisions": ["forward_return", "entry_at", "maturity_at", "decision_reason"]}
    report = outcome(make_seal(tmp_path, raw=False, without_columns=absent))
    assert report["violations"] == report["warnings"] == report["not_checked"] == []


def test_tables_without_rows_are_accepted(seal: Path) -> None:
    for kind in SEALED_TABLES:
        rewrite(seal, kind, lambda frame: frame.clear())
    rewrite(seal, "metrics", lambda _: {"records": []})
    report = outcome(seal)
    assert report["violations"] == []
    assert set(report["rows"].values()) == {0}


def test_a_run_without_rows_of_trials_is_not_said_to_be_among_them(seal: Path) -> None:
    rewrite(seal, "trials", lambda frame: frame.clear())
    report = outcome(seal)
    assert not report["refused"]
    assert report["not_checked"] == [{"rule": "trials.own", "reason": "trials has no rows"}]


def test_the_order_of_the_rows_changes_nothing(seal: Path) -> None:
    rewrite(seal, "positions", put("weight", 17.0, 3))
    rewrite(seal, "pnl", put("market_pnl", 1.0, 2))
    rewrite(seal, "decisions", repeat_first)
    before = outcome(seal)
    for kind in SEALED_TABLES:
        rewrite(seal, kind, lambda frame: frame.sample(fraction=1, shuffle=True, seed=3))
    after = outcome(seal)
    assert [(v["rule"], v["rows"]) for v in after["violations"]] == [
        (v["rule"], v["rows"]) for v in before["violations"]
    ]


SEALED_COLUMNS = [
    (kind, column) for kind, declared in SEALED_TABLES.items() for column in declared.sealed_columns
]


def columns(chosen: Iterable[tuple[str, Column]]) -> pytest.MarkDecorator:
    """Run a test for each of some columns."""
    return pytest.mark.parametrize(
        ("kind", "column"),
        [pytest.param(kind, column, id=f"{kind}.{column.name}") for kind, column in chosen],
    )


@columns(SEALED_COLUMNS)
def test_a_missing_column_does_not_suppress_other_rules(seal: Path, kind: str, column: Column) -> None:
    rewrite(seal, kind, with_column(column))
    other = "portfolio" if kind != "portfolio" else "positions"
    spoilt = {"portfolio": "cash_end", "positions": "mark_price"}[other]
    rewrite(seal, kind, lambda frame: frame.drop(column.name))
    rewrite(seal, other, put(spoilt, 9.0))
    report = outcome(seal)
    assert report["refused"]
    named = {violation["rule"] for violation in report["violations"]}
    assert {"portfolio.cash", "positions.notional"} & named
    assert ("table.columns" in named) is not column.optional


@columns((kind, column) for kind, column in SEALED_COLUMNS if not column.nullable)
def test_a_forbidden_null_is_reported_in_any_column(valid: Path, kind: str, column: Column) -> None:
    change = both(with_column(column), put(column.name, None, 2))
    violation = table_null(kind, Tables({kind: change(pl.read_parquet(valid / f"{kind}.parquet"))}))
    assert violation is not None
    assert violation.rows == 2
    assert column.name in violation.message


def test_a_clock_a_few_minutes_ahead_is_accepted(tmp_path: Path) -> None:
    seal = make_seal(tmp_path)
    manifest(sealed_at=soon(minutes=4))(seal)
    assert not outcome(seal)["refused"]


def test_a_close_at_midnight_belongs_to_the_day_it_ends(tmp_path: Path) -> None:
    seal = make_seal(tmp_path, trades=False)
    midnight = col("date").cast(pl.Datetime("us", "UTC")).dt.offset_by("1d")
    table("portfolio", lambda frame: frame.with_columns(timestamp=midnight))(seal)
    assert not outcome(seal)["refused"]


def test_long_texts_are_truncated_in_reports(tmp_path: Path) -> None:
    seal = make_seal(tmp_path)
    table("decisions", put("symbol", "A" * 100_000))(seal)
    assert len(json.dumps(outcome(seal))) < 10_000

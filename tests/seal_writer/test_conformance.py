"""The conformance seals have the specified outcomes; the schema matches the reader; generated parts are up to date."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from alpha_results_seal.conformance import write_conformance
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pipeline.check_command import check_seal
from pipeline.rules import Report
from pipeline.seal.manifest import manifest_schema, parse_manifest
from tests.support.processes import REPOSITORY

PAGE = (REPOSITORY / "docs/seal/specification.md").read_text("utf-8")


def test_the_twelve_conformance_seals_have_the_expected_outcomes(tmp_path: Path) -> None:
    expected = write_conformance(tmp_path / "seals")
    assert json.loads((tmp_path / "seals" / "expected.json").read_text()) == expected
    assert len(expected) == 12
    for name, rules in expected.items():
        report = check_seal(str(tmp_path / "seals" / name), False, None, None, lambda _: None)
        assert isinstance(report, Report), name
        assert {violation.rule for violation in report.violations} == set(rules), name
        assert {violation.rule for violation in report.warnings} <= {"seal.unknown", "table.extra"}, name
        (row,) = re.findall(rf"^\| `{name}` \|.*\| (.*) ?\|$", PAGE, re.MULTILINE)
        assert set(re.findall(r"`(.*?)`", row)) <= set(rules)
        assert bool(row.strip()) == bool(rules)


def test_the_published_schema_is_up_to_date() -> None:
    assert json.loads((REPOSITORY / "docs/seal/seal.schema.json").read_text("utf-8")) == manifest_schema()


LAWFUL: dict[str, Any] = {
    "seal_version": 1,
    "alpha_id": "Test_two_names",
    "source_alpha_id": None,
    "started_at": "2026-01-05T06:00:00Z",
    "sealed_at": "2026-01-05T07:30:00.5Z",
    "engine": {"name": "my-engine", "version": "3.2"},
    "equity_basis": 1.0,
    "smoothing": {"applied": True, "half_life_weeks": 2.0, "detail": "weekly"},
    "reconciliation": {"outside_ledger": ["settlements"], "targets": "advisory", "rounding": 1e-5},
    "kinds": {
        "rebalances": {"path": "rebalances.parquet", "sha256": "0" * 64, "bytes": 1855, "rows": 297},
        "metrics": {"path": "metrics.json", "sha256": "F" * 64, "bytes": 5},
        "source": {"path": "source/", "files": {"signal.py": "a" * 64}},
    },
}
PLACES = [
    *((key,) for key in LAWFUL),
    *(("smoothing", key) for key in LAWFUL["smoothing"]),
    *(("reconciliation", key) for key in (*LAWFUL["reconciliation"], "outside_turnover", "misspelt")),
    *(("kinds", kind) for kind in LAWFUL["kinds"]),
    *(("kinds", "rebalances", key) for key in LAWFUL["kinds"]["rebalances"]),
    *(("kinds", "metrics", key) for key in ("path", "sha256", "bytes")),
    *(("kinds", "source", key) for key in ("path", "files")),
    ("kinds", "source", "files", "signal.py"),
    ("more",),
]
ABSENT = object()
VALUES: list[Any] = [
    ABSENT, None, True, 0, 1, 2, -1, 0.5, 1.5, "", "x", "..", "a..b", "0" * 64, "2026-01-05T06:00:00Z", "2026-01-05 06:00",
    "binding", "a\nb", [], ["settlements"], ["other"], {}, {"applied": False}, {"x": "y"}, {"path": "p"},
]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(VALUES)), min_size=0, max_size=2))
def test_the_schema_and_the_reader_agree(changes: list[tuple[tuple[str, ...], Any]]) -> None:
    document = json.loads(json.dumps(LAWFUL))
    for (*path, last), value in changes:
        at: Any = document
        for step in path:
            at = at.get(step) if isinstance(at, dict) else None
        if not isinstance(at, dict):
            return
        if value is ABSENT:
            at.pop(last, None)
        else:
            at[last] = copy.deepcopy(value)  # a later change must not reach the value of another example
    manifest, problems = parse_manifest(json.dumps(document).encode())
    errors = list(Draft202012Validator(manifest_schema()).iter_errors(document))
    assert (manifest is None) == bool(errors), (problems, errors)


def test_the_schema_is_a_valid_json_schema() -> None:
    Draft202012Validator.check_schema(manifest_schema())


@pytest.mark.parametrize("name", ["half_life_weeks", "detail"])
def test_the_schema_and_the_reader_agree_on_optional_keys(name: str) -> None:
    document = {
        **LAWFUL,
        "smoothing": {key: value for key, value in LAWFUL["smoothing"].items() if key != name},
    }
    assert not list(Draft202012Validator(manifest_schema()).iter_errors(document))

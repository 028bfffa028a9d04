"""Each row of docs/security.md names a test that is there."""

from __future__ import annotations

import re

from tests.support.processes import REPOSITORY

PAGE = (REPOSITORY / "docs" / "security.md").read_text("utf-8")
ROW = re.compile(r"^\| (?!what is tried)(.+) \| (.+) \| (.+) \|$", re.MULTILINE)


def test_every_row_on_what_is_stopped_names_tests_that_are_there() -> None:
    there = set(
        re.findall(
            r"def (test_\w+)\(",
            "\n".join(path.read_text("utf-8") for path in (REPOSITORY / "tests").rglob("test_*.py")),
        )
    )
    rows = ROW.findall(PAGE[PAGE.index("### 1. ") : PAGE.index("## The container")])
    assert len(rows) > 25
    for tried, _, tests in rows:
        assert re.search(r"`(test_\w+)`", tests), f"no test is named for: {tried}"
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named <= there, sorted(named - there)


def test_who_reports_a_weakness_is_led_to_what_is_protected() -> None:
    assert "(docs/security.md)" in (REPOSITORY / "SECURITY.md").read_text("utf-8")

"""Each row of docs/security.md names an existing test."""

from __future__ import annotations

import re

from tests.support.processes import REPOSITORY

PAGE = (REPOSITORY / "docs" / "security.md").read_text("utf-8")
ROW = re.compile(r"^\| (?!threat )(.+) \| (.+) \| (.+) \|$", re.MULTILINE)


def test_every_control_names_existing_tests() -> None:
    there = set(
        re.findall(
            r"def (test_\w+)\(",
            "\n".join(path.read_text("utf-8") for path in (REPOSITORY / "tests").rglob("test_*.py")),
        )
    )
    rows = ROW.findall(PAGE[PAGE.index("### 1. ") : PAGE.index("## The container")])
    assert len(rows) > 25
    for threat, _, tests in rows:
        assert re.search(r"`(test_\w+)`", tests), f"no test is named for: {threat}"
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named <= there, sorted(named - there)


def test_the_reporting_page_links_to_the_threat_model() -> None:
    assert "(docs/security.md)" in (REPOSITORY / "SECURITY.md").read_text("utf-8")

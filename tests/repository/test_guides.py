"""Files, folders, tests and recipes named in the guides exist."""

from __future__ import annotations

import re

import pytest

from tests.support.processes import REPOSITORY

GUIDES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md", "docs/glossary.md"]
LINK = re.compile(r"\]\(([^)#:]+)\)")
PLACE = re.compile(r"`((?:schemas|datasets|pipeline|serve|tests|docs|deploy|benchmarks)/[\w./*-]*)`")
TEST = re.compile(r"`(test_\w+)`")


@pytest.mark.parametrize("guide", GUIDES)
def test_every_link_of_a_guide_leads_to_a_file_or_folder(guide: str) -> None:
    result = LINK.findall((REPOSITORY / guide).read_text())
    assert not [link for link in result if not (REPOSITORY / guide).parent.joinpath(link).exists()]


@pytest.mark.parametrize("guide", GUIDES)
def test_every_path_in_a_guide_exists(guide: str) -> None:
    result = PLACE.findall((REPOSITORY / guide).read_text())
    assert not [place for place in result if not list(REPOSITORY.glob(place.rstrip("/")))]


def test_every_test_named_in_contributing_exists() -> None:
    tests = "\n".join(path.read_text() for path in (REPOSITORY / "tests").rglob("test_*.py"))
    named = TEST.findall((REPOSITORY / "CONTRIBUTING.md").read_text())
    assert named
    assert not [name for name in named if f"def {name}(" not in tests]


def test_every_recipe_named_in_a_guide_exists() -> None:
    recipes = re.findall(r"^([a-z-]+)[^:\n]*:(?!=)", (REPOSITORY / "justfile").read_text(), re.MULTILINE)
    for guide in GUIDES:
        named = re.findall(r"\bjust ([a-z-]+)", (REPOSITORY / guide).read_text())
        assert set(named) <= set(recipes), guide


def test_the_readme_links_to_every_guide() -> None:
    linked = set(LINK.findall((REPOSITORY / "README.md").read_text()))
    assert {*GUIDES, "CHANGELOG.md"} - {"README.md"} <= linked

"""Every test is run by a recipe, and every recipe by CI or nightly."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.support.processes import REPOSITORY

TESTS = REPOSITORY / "tests"
JUST = str(Path(sys.executable).with_name("just"))
CI = "".join((REPOSITORY / ".ci" / name).read_text("utf-8") for name in ("run", "nightly"))


@cache
def recipe(name: str) -> list[str]:
    """Return the words of the commands that a recipe runs, without running them."""
    done = subprocess.run(
        [JUST, "--dry-run", name], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return shlex.split(done.stderr)


def apart() -> list[str]:
    """Return the test folders with their own recipe."""
    done = subprocess.run(
        [JUST, "--evaluate", "apart"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def folders_with_tests() -> set[str]:
    return {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}


def ci_recipes() -> list[str]:
    """Return the recipes that CI runs, in order."""
    return re.findall(r"^recipe ([a-z0-9-]+)", CI, re.MULTILINE)


def test_no_test_lies_outside_of_a_folder() -> None:
    assert list(TESTS.glob("test_*.py")) == [], "folders are what recipes name"


def test_the_suite_runs_every_folder_that_has_no_recipe_of_its_own() -> None:
    ignored = [word.removeprefix("--ignore=tests/") for word in recipe("test") if "ignore" in word]
    assert ignored == apart()
    given = [word for word in recipe("test") if word.startswith("tests")]
    assert given == [], "without paths it collects all of `testpaths`"


@pytest.mark.parametrize("folder", apart())
def test_folders_outside_the_suite_have_one_recipe_that_ci_runs(folder: str) -> None:
    assert folder in folders_with_tests()
    assert len([name for name in ci_recipes() if f"tests/{folder}" in recipe(name)]) == 1


def test_ci_runs_the_suite_and_every_cheap_check_before_it() -> None:
    cheap = ["lint", "types", "imports", "deps", "spelling", "secrets"]
    assert ci_recipes()[: len(cheap) + 1] == [*cheap, "test"]


def test_tests_with_special_requirements_are_in_their_folders() -> None:
    """A test elsewhere that needs the S3 gateway or the cluster would start it."""
    needs = re.compile(r"^(?:async )?def test_\w+\([^)]*\b(bucket|s3_server|dask)\b", re.MULTILINE)
    outside = {
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("test_*.py")
        if needs.search(path.read_text("utf-8")) and path.relative_to(TESTS).parts[0] not in apart()
    }
    assert outside == set()

"""The examples of CONTRIBUTING.md, each applied to a copy of the product and tested."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from schemas.errors import AlphaResultsError
from tests.contributing.proofs import PROOFS

REPOSITORY = Path(__file__).resolve().parents[2]
COPIED = ("schemas", "datasets", "pipeline", "serve", "examples", "tests")
PRODUCT = ("schemas/", "datasets/", "pipeline/", "serve/")
FOLDER_OF_TOOLS = Path(sys.executable).parent


class Example(NamedTuple):
    """A section of the guide, and how many files of the product it may touch."""

    section: str
    files: int


EXAMPLES = {
    "limit": Example("a limit on calls", 1),
    "backend": Example("a storage backend", 1),
    "column": Example("a column", 1),
    "endpoint": Example("an endpoint", 2),
    "metric": Example("a metric", 3),
}


def printed(section: str) -> str:
    """Return the patches of a section, as they are printed there."""
    guide = (REPOSITORY / "CONTRIBUTING.md").read_text()
    match = re.search(rf"^### {re.escape(section)}$(.*?)(?=^##|\Z)", guide, re.MULTILINE | re.DOTALL)
    assert match, section
    patches = re.findall(r"^```diff\n(.*?)^```$", match[1], re.MULTILINE | re.DOTALL)
    assert patches, f"{section} has no example"
    return "".join(patches)


def prove(name: str, tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.contributing.proofs", name],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the product and its proofs, with compiled files."""
    left_out = shutil.ignore_patterns("*.xz", ".*")
    for name in COPIED:
        shutil.copytree(REPOSITORY / name, tmp_path / "tree" / name, ignore=left_out)
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path / "tree")
    return tmp_path / "tree"


def test_every_example_is_tested() -> None:
    assert EXAMPLES.keys() == PROOFS.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_changes_the_promised_files_and_works(name: str, tree: Path) -> None:
    section, most = EXAMPLES[name]
    patch = printed(section)
    touched = re.findall(r"^\+\+\+ b/(\S+)", patch, re.MULTILINE)
    assert len({path for path in touched if path.startswith(PRODUCT)}) <= most
    subprocess.run(
        ["git", "apply", "-"],
        input=patch,
        text=True,
        cwd=tree,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)},
        check=True,
    )
    for check in (["format", "--check"], ["check"]):
        subprocess.run([FOLDER_OF_TOOLS / "ruff", *check, "-q", *touched], cwd=tree, check=True)
    done = prove(name, tree)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.parametrize("name", EXAMPLES)
def test_without_the_example_its_feature_is_missing(name: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, AlphaResultsError, KeyError)):
        PROOFS[name](tmp_path)

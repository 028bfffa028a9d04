"""A request's way through the code stays short: few files, few moves between them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.processes import REPOSITORY

BOUNDS = {
    "finished body": (19, 42),
    "cut from rows": (30, 81),
    "from Parquet": (38, 141),
    "metrics, cold": (51, 342),
}
"""Request -> files it may touch, and moves between them: up to two files and a sixth more than were measured, for what a timer or a thread beside
it may add."""


@pytest.fixture(scope="module")
def journeys() -> dict[str, tuple[list[str], int]]:
    """Follow the requests in a process of its own: what other tests left in this one changes their way."""
    words = [sys.executable, "-m", "tests.support.trace", "--json"]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, tuple[list[str], int]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", list(BOUNDS))
def test_a_request_touches_few_files(journeys: dict[str, tuple[list[str], int]], name: str) -> None:
    (most_files, most_moves), (files, moves) = BOUNDS[name], journeys[name]
    assert len(files) <= most_files, files
    assert moves <= most_moves

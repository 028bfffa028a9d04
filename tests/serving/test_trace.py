"""A request passes through few files with few moves between them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.processes import REPOSITORY

Journeys = dict[str, tuple[list[str], int]]
BOUNDS = {
    "finished body": (9, 20),
    "cut from rows": (13, 32),
    "from Parquet": (18, 55),
    "metrics, cold": (28, 135),
    "screen": (15, 37),
    "luck of the catalogue": (17, 48),
    "correlations": (23, 102),
    "correlations of scores": (25, 82),
    "costs": (19, 47),
    "concentration": (19, 47),
    "risk": (19, 47),
    "signal": (18, 44),
    "luck": (25, 72),
    "exposures": (25, 82),
    "regimes": (25, 110),
    "neighbours": (25, 69),
    "luck of a window": (33, 287),
    "neighbours among few": (22, 85),
    "contribution": (25, 112),
}
"""Request -> files it may touch, and moves between them: as many files as were measured, and a few moves more."""


def follow() -> Journeys:
    """Trace the requests in a separate process, free of other tests' state."""
    words = [sys.executable, "-m", "tests.support.trace", "--json"]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=300)
    result: Journeys = json.loads(done.stdout.splitlines()[-1])
    return result


def is_short(name: str, journeys: Journeys) -> bool:
    """Whether a request stays within its bounds."""
    (most_files, most_moves), (files, moves) = BOUNDS[name], journeys[name]
    return len(files) <= most_files and moves <= most_moves


@pytest.fixture(scope="module")
def journeys() -> Journeys:
    return follow()


def test_every_traced_request_has_a_bound(journeys: Journeys) -> None:
    assert list(journeys) == list(BOUNDS)


@pytest.mark.parametrize("name", list(BOUNDS))
def test_a_request_touches_few_files(journeys: Journeys, name: str) -> None:
    assert is_short(name, journeys), journeys[name]

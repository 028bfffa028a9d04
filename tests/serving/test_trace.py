"""A request passes through few files with few moves between them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.processes import REPOSITORY
from tests.support.waiting import PATIENCE

Journeys = dict[str, tuple[list[str], int]]
BOUNDS = {
    "finished body": (9, 20),
    "cut from rows": (13, 32),
    "from Parquet": (17, 51),
    "metrics, cold": (26, 131),
    "screen": (15, 37),
    "luck of the catalogue": (17, 46),
    "correlations": (21, 83),
    "correlations of scores": (24, 80),
    "costs": (18, 46),
    "concentration": (18, 46),
    "risk": (18, 46),
    "signal": (17, 43),
    "luck": (24, 71),
    "exposures": (24, 81),
    "regimes": (24, 108),
    "neighbours": (25, 69),
    "luck of a window": (32, 283),
    "neighbours among few": (24, 98),
    "contribution": (26, 125),
}
"""Request -> files it may touch, and moves between them: as many files as were measured, and a few moves more."""


def follow() -> Journeys:
    """Trace the requests in a separate process, free of other tests' state."""
    words = [sys.executable, "-m", "tests.support.trace", "--json"]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=PATIENCE)
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

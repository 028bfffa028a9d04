"""A request passes through few files with few moves between them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.processes import REPOSITORY

Journeys = dict[str, tuple[list[str], int]]
BOUNDS = {
    "finished body": (9, 21),
    "cut from rows": (13, 33),
    "from Parquet": (19, 59),
    "metrics, cold": (28, 146),
    "screen": (15, 38),
    "luck of the catalogue": (17, 52),
    "correlations": (22, 98),
    "correlations of scores": (24, 83),
    "costs": (19, 50),
    "concentration": (19, 50),
    "risk": (19, 50),
    "signal": (18, 47),
    "luck": (25, 76),
    "exposures": (25, 86),
    "regimes": (25, 114),
    "neighbours": (24, 73),
    "luck of a window": (33, 293),
    "neighbours among few": (21, 82),
    "contribution": (25, 110),
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

"""A request passes through few files with few moves between them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.processes import REPOSITORY

Journeys = dict[str, tuple[list[str], int]]
BOUNDS = {
    "finished body": (10, 24),
    "cut from rows": (14, 36),
    "from Parquet": (20, 61),
    "metrics, cold": (29, 148),
    "screen": (16, 42),
    "luck of the catalogue": (18, 55),
    "correlations": (23, 102),
    "correlations of scores": (25, 87),
    "costs": (20, 54),
    "concentration": (20, 54),
    "risk": (20, 54),
    "signal": (19, 51),
    "luck": (26, 80),
    "exposures": (26, 88),
    "regimes": (26, 117),
    "neighbours": (25, 76),
    "luck of a window": (34, 296),
    "neighbours among few": (22, 86),
    "contribution": (26, 113),
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

"""A request's way through the code stays short: few files, few moves between them."""

from __future__ import annotations

import pytest

from tests.support import published
from tests.support.trace import Journey, followed

BOUNDS = {
    "finished body": (21, 48),
    "cut from rows": (34, 86),
    "from Parquet": (47, 186),
    "metrics, cold": (56, 352),
}
"""Request -> files it may touch, and moves between them: a file and a tenth more than were measured, for what a thread beside
it may add."""


@pytest.fixture(scope="module")
def journeys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Journey]:
    """Follow every request three times, and return the shortest of each: what runs beside it only adds to its way."""
    root = tmp_path_factory.mktemp("traced") / "published"
    root.mkdir()
    published.publish(root, published.full())
    tries: list[dict[str, Journey]] = []
    for _ in range(3):
        with followed(root) as found:
            tries.append(found)
    return {name: min((one[name] for one in tries), key=lambda x: (len(x.files), x.moves)) for name in BOUNDS}


@pytest.mark.parametrize("name", list(BOUNDS))
def test_a_request_touches_few_files(journeys: dict[str, Journey], name: str) -> None:
    files, moves = BOUNDS[name]
    journey = journeys[name]
    assert len(journey.files) <= files, sorted(journey.files)
    assert journey.moves <= moves

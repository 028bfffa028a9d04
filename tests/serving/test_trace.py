"""A request's way through the code stays short: few files, few moves between them."""

from __future__ import annotations

from collections.abc import Iterator

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
def journeys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Journey]]:
    root = tmp_path_factory.mktemp("traced") / "published"
    root.mkdir()
    published.publish(root, published.full())
    with followed(root) as found:
        yield found


@pytest.mark.parametrize("name", list(BOUNDS))
def test_a_request_touches_few_files(journeys: dict[str, Journey], name: str) -> None:
    files, moves = BOUNDS[name]
    journey = journeys[name]
    assert len(journey.files) <= files, sorted(journey.files)
    assert journey.moves <= moves

"""One catalogue for the suite, and an application over it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.research import catalogue
from tests.research.catalogue import Curve
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient


@dataclass(frozen=True)
class Published:
    """The catalogue's root and its alphas' returns."""

    root: Path
    returns: dict[str, Curve]


@pytest.fixture(scope="session")
def market(tmp_path_factory: pytest.TempPathFactory) -> Published:
    root = tmp_path_factory.mktemp("peers") / "published"
    root.mkdir()
    results = {}
    for number, (alpha, curve) in enumerate(catalogue.draw_returns().items()):
        results[alpha] = catalogue.returns_of(catalogue.publish_alpha(root, alpha, curve, number))
    published.publish(root, {}, alpha_id="Test_nothing", description={"name": "No data"})
    return Published(root, results)


@pytest.fixture(scope="session")
def api(market: Published) -> Iterator[ApiClient]:
    with running(market.root) as result:
        yield result


@pytest.fixture(scope="session")
def token(api: ApiClient) -> str:
    return api.key()

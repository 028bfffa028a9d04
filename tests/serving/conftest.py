from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import published
from tests.support.client import ApiClient
from tests.support.redis import RedisServer, redis_running


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a root that publishes the hand-made run."""
    folder = tmp_path_factory.mktemp("serving") / "published"
    folder.mkdir()
    published.publish(folder, published.full(), description={"name": "By hand"}, name="By hand")
    return folder


@pytest.fixture(scope="module")
def plain(api: ApiClient) -> str:
    """Return a key without raw access."""
    return api.key()


@pytest.fixture(scope="module")
def raw(api: ApiClient) -> str:
    """Return a key with raw access."""
    return api.key(raw=True)


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    """A Redis that tests may stop and kill."""
    with redis_running() as server:
        yield server

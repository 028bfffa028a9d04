"""One published root, one store of keys and one running application for the whole contract suite."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import world as w
from tests.contract.world import Keys, World


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contract")


@pytest.fixture(scope="session")
def root(folder: Path) -> Path:
    return w.publish(folder)


@pytest.fixture(scope="session")
def prices(folder: Path) -> Path:
    return w.market_data(folder)


@pytest.fixture(scope="session")
def keys(folder: Path) -> Keys:
    return asyncio.run(w.issue_keys(w.access_settings(folder)))


@pytest.fixture(scope="session")
def world(root: Path, prices: Path, keys: Keys, folder: Path) -> Iterator[World]:
    with w.open_world(w.settings(root, prices), w.access_settings(folder)) as running:
        yield World(running, keys, root)

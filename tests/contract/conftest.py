"""One published root, one store of keys and one running application for the contract suite."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import contract_app
from tests.support.contract_app import ContractApp, Keys
from tests.support.contract_root import ContractRoot


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contract")


@pytest.fixture(scope="session")
def root(folder: Path, contract_root: ContractRoot) -> Path:
    return contract_root(folder)


@pytest.fixture(scope="session")
def prices(folder: Path) -> Path:
    return contract_app.market_data(folder)


@pytest.fixture(scope="session")
def keys(folder: Path) -> Keys:
    return asyncio.run(contract_app.issue_keys(contract_app.access_settings(folder)))


@pytest.fixture(scope="session")
def api(root: Path, prices: Path, keys: Keys, folder: Path) -> Iterator[ContractApp]:
    with contract_app.opened(
        contract_app.settings(root, prices), contract_app.access_settings(folder), keys
    ) as api:
        yield api

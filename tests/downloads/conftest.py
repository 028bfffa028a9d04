from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.client import ApiClient
from tests.support.contract_root import ContractRoot


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, contract_root: ContractRoot) -> Path:
    return contract_root(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def reader(api: ApiClient) -> str:
    return api.key()


@pytest.fixture(scope="module")
def raw(api: ApiClient) -> str:
    return api.key(raw=True)

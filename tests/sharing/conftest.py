"""One published root, one store of keys and one running application for the tests of Delta Sharing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.support import contract_app
from tests.support.contract_app import ContractApp
from tests.support.contract_root import ContractRoot


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory, contract_root: ContractRoot) -> Iterator[ContractApp]:
    folder = tmp_path_factory.mktemp("sharing")
    access = contract_app.access_settings(folder)
    keys = asyncio.run(contract_app.issue_keys(access))
    with contract_app.opened(contract_app.settings(contract_root(folder)), access, keys) as api:
        yield api

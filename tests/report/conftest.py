"""A root with market data, and the API over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.contract_app import FULL
from tests.support.contract_root import ContractRoot
from tests.support.prices import write_prices


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("it's a folder")


@pytest.fixture(scope="module")
def root(folder: Path, contract_root: ContractRoot) -> Path:
    return contract_root(folder)


@pytest.fixture(scope="module")
def market(root: Path, folder: Path) -> Path:
    return write_prices(root, FULL, folder / "spy.parquet")


@pytest.fixture(scope="module")
def api(root: Path, market: Path) -> Iterator[ApiClient]:
    with running(root, market_data=str(market)) as result:
        yield result

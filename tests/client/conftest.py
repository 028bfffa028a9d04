"""A served root with every kind of key."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from alpha_results_client import exchange

from tests.support import contract_app
from tests.support.contract_app import Keys


@dataclass(frozen=True)
class Service:
    """A running service: its address, and the keys it knows."""

    address: str
    keys: Keys
    root: Path


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("client")
    root = contract_app.publish(folder)
    prices = contract_app.market_data(folder)
    keys = asyncio.run(contract_app.issue_keys(contract_app.access_settings(folder)))
    with contract_app.served_over_sockets(
        root, prices, folder, ALPHA_RESULTS_REFRESH_SECONDS="0.2"
    ) as address:
        yield Service(address, keys, root)


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "backoff_seconds", lambda _: 0.0)

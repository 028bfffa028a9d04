from __future__ import annotations

from pathlib import Path

import pytest

from examples.reference_engine import Market, simulate_market
from tests.notices.beside_prices import prices_of


@pytest.fixture(scope="module")
def market() -> Market:
    """Return the market of the tests with prices; other modules define a smaller one."""
    return simulate_market(11, 40, 80)


@pytest.fixture(scope="module")
def prices(market: Market, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of its prices."""
    return prices_of(market, tmp_path_factory.mktemp("prices"))

"""The regimes endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.diagnostic import breaks_cusumolsresid

from schemas.endpoints import ENDPOINTS
from tests.research.catalogue import SESSIONS
from tests.research.conftest import Published
from tests.research.test_exposures import price_rows
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.conformance import data_of

ALPHA = "Test_like_0"


@pytest.fixture(scope="module")
def marketed(market: Published, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiClient]:
    folder = tmp_path_factory.mktemp("marketed")
    price_rows().write_parquet(folder / "prices.parquet")
    with running(
        market.root,
        counts=folder / "counts",
        store=f"sqlite:///{folder}/keys.sqlite",
        market_data=str(folder / "prices.parquet"),
    ) as result:
        yield result


def fetch(api: ApiClient, key: str, alpha: str = ALPHA, query: str = "") -> dict[str, Any]:
    data: dict[str, Any] = data_of(
        ENDPOINTS["research.regimes"], api.get(f"/v1/alphas/{alpha}/regimes?{query}", key)
    )
    return data


def test_regimes_and_breaks_match_the_returns(marketed: ApiClient, market: Published) -> None:
    result = fetch(marketed, marketed.key(), query="benchmark=QQQ")
    assert (result["benchmark"], result["observations"]) == ("QQQ", len(SESSIONS))
    assert [x["name"] for x in result["groups"]] == ["halves", "market", "volatility"]
    returns = np.array([market.returns[ALPHA][day] for day in SESSIONS])
    statistic, p_value, _ = breaks_cusumolsresid(returns - returns.mean())
    broke = result["breaks"]["returns"]
    assert (broke["statistic"], broke["p_value"]) == pytest.approx((statistic, p_value), rel=1e-9)
    prices = price_rows().filter(symbol="QQQ")["close"].pct_change().to_numpy()[1:]
    up = returns[prices > 0]
    shown = {x["name"]: x for x in result["groups"][1]["regimes"]}
    assert shown["up"]["sessions"] == up.size
    assert shown["up"]["sharpe"] == pytest.approx(up.mean() / up.std(ddof=1) * 252**0.5, rel=1e-9)
    assert fetch(marketed, marketed.key(), query="benchmark=QQQ") == result, (
        "the same question has the same answer"
    )


def test_a_key_needs_access_to_the_underlying_data(marketed: ApiClient) -> None:
    alone = marketed.key(endpoints="research.regimes")
    assert marketed.get(f"/v1/alphas/{ALPHA}/regimes", alone).status_code == 403
    result = fetch(marketed, marketed.key(endpoints="research.regimes,portfolio.ledger"))
    assert [x["name"] for x in result["groups"]] == ["halves"]
    assert result["breaks"]["ic"] is None
    assert set(result["withheld"]) == {"market", "volatility", "breaks.ic"}


def test_short_or_missing_data_are_withheld(marketed: ApiClient) -> None:
    few = fetch(marketed, marketed.key(), "Test_few")
    assert few["groups"] == []
    assert {"groups", "breaks.returns"} <= set(few["withheld"])
    empty = fetch(marketed, marketed.key(), "Test_nothing")
    assert (empty["observations"], empty["first_date"]) == (0, None)
    refused = marketed.get(f"/v1/alphas/{ALPHA}/regimes?benchmark=DIA", marketed.key())
    assert refused.json()["error"]["details"]["parameters"][0]["constraint"] == "one of QQQ, SPY"

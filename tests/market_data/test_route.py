"""The benchmark route over the real application."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.waiting import eventually_is

File = Callable[..., bytes]
PATH = "/v1/benchmarks/ABC/daily"


@pytest.fixture
def api(tmp_path: Path, market_file: File) -> Iterator[ApiClient]:
    (tmp_path / "published").mkdir()
    (tmp_path / "market.parquet").write_bytes(market_file())
    with running(tmp_path / "published", market_data=str(tmp_path / "market.parquet")) as result:
        yield result


def test_an_unknown_symbol_is_refused_with_the_available_ones(api: ApiClient) -> None:
    for symbol in ("SPY", "A", "ABCD", "abc", "Abc", "%20"):
        error = api.json(f"/v1/benchmarks/{symbol}/daily", api.key(), 400)["error"]
        assert error["code"] == "bad_request"
        assert error["details"]["available"] == ["ABC"]
        assert error["details"]["parameters"] == [{"name": "symbol", "constraint": "one of ABC"}]


def test_benchmarks_are_listed_with_their_days(api: ApiClient, tmp_path: Path) -> None:
    (row,) = api.json("/v1/benchmarks", api.key())["data"]
    daily = api.json(PATH, api.key())["data"]
    assert row["symbol"] == "ABC"
    assert (row["first_date"], row["last_date"]) == (daily[0]["date"], daily[-1]["date"])
    assert (row["sessions"], row["simulated"]) == (len(daily), False)
    with running(tmp_path / "published", counts=tmp_path / "counts.sqlite3") as without:
        assert without.json("/v1/benchmarks", without.key())["data"] == []


def test_simulated_prices_are_marked(tmp_path: Path, market_file: File) -> None:
    (tmp_path / "published").mkdir()
    (tmp_path / "market").mkdir()
    (tmp_path / "market" / "a.parquet").write_bytes(market_file({"simulated": "true"}))
    with running(tmp_path / "published", market_data=str(tmp_path / "market")) as api:
        meta = api.json(PATH, api.key())["meta"]
    assert meta["source"] == "simulated market data"
    assert "simulated" in meta["summary"]["name"]


def test_without_market_data_only_benchmarks_are_unavailable(tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    with running(tmp_path / "published") as api:
        token = api.key()
        result = api.get(PATH, token)
        assert (result.status_code, result.json()["error"]["code"]) == (503, "benchmark_not_configured")
        assert api.get("/v1/alphas", token).status_code == 200


def test_health_is_degraded_while_the_market_data_cannot_be_read(tmp_path: Path, market_file: File) -> None:
    (tmp_path / "published").mkdir()
    file = tmp_path / "market.parquet"
    file.write_bytes(b"no parquet")

    def health() -> str:
        """Request the health."""
        result = program.get("/v1/health")
        assert result.status_code == 200
        return str(result.json()["status"])

    with running(tmp_path / "published", market_data=str(file)) as program:
        eventually_is(health, "degraded")
        file.write_bytes(market_file())
        eventually_is(health, "ok")


def test_a_broken_file_is_reported_to_the_operator_and_not_to_callers(
    tmp_path: Path,
    market_file: File,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "published").mkdir()
    file = tmp_path / "market.parquet"
    file.write_bytes(market_file(close=None))
    with running(tmp_path / "published", market_data=str(file)) as api:
        actual = api.get(PATH, api.key())
        assert (actual.status_code, actual.json()["error"]["code"]) == (503, "benchmark_not_configured")
        assert str(tmp_path) not in actual.text
    # The destination of the line depends on whether logging is already set up in this process.
    result = "".join(capfd.readouterr()) + caplog.text
    assert str(file) in result
    assert "there is no close" in result


def test_real_prices_page_by_page(tmp_path: Path, shared: Path) -> None:
    (tmp_path / "published").mkdir()
    with running(tmp_path / "published", market_data=str(shared / "data" / "spy.parquet")) as api:
        token = api.key()
        path = "/v1/benchmarks/SPY/daily?from=2011-01-01&to=2022-12-31"
        pages = [api.json(f"{path}&limit=1000&offset={offset}", token) for offset in range(0, 4000, 1000)]
        full = api.json(f"{path}&limit=5000", token)
    assert [row for page in pages for row in page["data"]] == full["data"]
    assert {json.dumps(page["meta"]) for page in pages} == {json.dumps(full["meta"])}
    assert full["meta"]["source"] == "market data"
    assert full["meta"]["summary"]["return_basis"] == "adjusted_close"
    assert full["pagination"]["total"] == 3020
    assert full["meta"]["summary"]["max_drawdown_pct"] == pytest.approx(33.717, abs=5e-4)

"""The exposures endpoint."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

import datasets
from schemas.endpoints import ENDPOINTS
from schemas.errors import SettingsError, StorageUnavailable
from serve.auth.settings import AccessSettings
from serve.cli.run import check
from serve.market_data.operator_files import MarketData, factor_files
from serve.settings import Settings
from tests.research.catalogue import SESSIONS
from tests.research.conftest import Published
from tests.support import published
from tests.support.application import running
from tests.support.client import ApiClient
from tests.support.conformance import data_of
from tests.support.waiting import eventually

ALPHA = "Test_like_0"
NAMES = ("HML", "Mkt-RF", "SMB")


def factor_rows() -> pl.DataFrame:
    draw = np.random.default_rng(8)
    return pl.concat(
        pl.DataFrame({"date": SESSIONS, "factor": name, "return": draw.normal(0.0002, 0.008, len(SESSIONS))})
        for name in NAMES
    )


def price_rows() -> pl.DataFrame:
    days = [SESSIONS[0] - dt.timedelta(days=3), *SESSIONS]
    draw = np.random.default_rng(9)
    return pl.concat(
        pl.DataFrame(
            {
                "date": days,
                "symbol": symbol,
                "close": 100 * np.exp(np.cumsum(draw.normal(0.0003, 0.01, len(days)))),
            }
        )
        for symbol in ("QQQ", "SPY")
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explained")
    factor_rows().write_parquet(folder / "factors.parquet")
    price_rows().write_parquet(folder / "prices.parquet")
    return folder


@pytest.fixture(scope="module")
def explained(
    market: Published, files: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiClient]:
    access = tmp_path_factory.mktemp("keys")
    with running(
        market.root,
        counts=access / "counts",
        store=f"sqlite:///{access}/keys.sqlite",
        market_data=str(files / "prices.parquet"),
        factors=str(files / "factors.parquet"),
    ) as result:
        yield result


def fetch(api: ApiClient, key: str, alpha: str = ALPHA, query: str = "") -> dict[str, Any]:
    data: dict[str, Any] = data_of(
        ENDPOINTS["research.exposures"], api.get(f"/v1/alphas/{alpha}/exposures?{query}", key)
    )
    return data


def test_benchmark_and_factor_models_match_statsmodels(explained: ApiClient, market: Published) -> None:
    result = fetch(explained, explained.key(), query="benchmarks=QQQ,SPY&rolling=40")
    assert [x["name"] for x in result["models"]] == ["QQQ", "SPY", "factors"]
    assert result["withheld"] == {}
    y = np.array([market.returns[ALPHA][day] for day in SESSIONS])
    prices = price_rows().pivot("symbol", index="date", values="close").sort("date")
    factors = factor_rows().pivot("factor", index="date", values="return").sort("date")
    regressors = {symbol: prices[symbol].pct_change().to_numpy()[1:, None] for symbol in ("QQQ", "SPY")} | {
        "factors": factors.select(NAMES).to_numpy()
    }
    for model in result["models"]:
        x, fit = regressors[model["name"]], model["regression"]
        theirs = sm.OLS(y, sm.add_constant(x)).fit(
            cov_type="HAC", cov_kwds={"maxlags": fit["lags"], "use_correction": False}, use_t=True
        )
        betas = fit["betas"].values()
        assert [fit["alpha_daily"], *(b["beta"] for b in betas)] == pytest.approx(theirs.params, rel=1e-9)
        errors = [fit["standard_error"], *(b["standard_error"] for b in betas)]
        assert errors == pytest.approx(theirs.bse, rel=1e-9)
        assert fit["r_squared"] == pytest.approx(theirs.rsquared, abs=1e-9)
        assert model["measured"] == result["observations"] == len(SESSIONS)
        parts = model["attribution"]
        total = sum(parts["factors"].values()) + sum(
            parts[name] for name in ("alpha", "risk_free", "residual", "unmeasured")
        )
        assert total == pytest.approx(parts["pnl"], abs=1e-12)
        assert parts["pnl"] == pytest.approx(np.prod(1 + y) - 1, abs=1e-9)
        assert model["rolling"][-1]["date"] == str(SESSIONS[-1])


def test_a_windows_first_return_starts_at_the_previous_close(explained: ApiClient) -> None:
    first = SESSIONS[40]
    result = fetch(explained, explained.key(), query=f"from={first}&rolling=20")
    assert result["observations"] == len(SESSIONS) - 40
    assert {x["measured"] for x in result["models"]} == {len(SESSIONS) - 40}


def test_a_windows_first_return_includes_days_that_the_book_lacks(
    explained: ApiClient, market: Published
) -> None:
    first = SESSIONS[11]
    assert SESSIONS[10] not in market.returns["Test_holes"], "the benchmark has a close on it"
    result = fetch(explained, explained.key(), "Test_holes", f"from={first}")
    assert result["first_date"] == str(first)
    assert {x["measured"] for x in result["models"]} == {result["observations"]}


def test_a_benchmarks_return_over_more_days_than_the_books_is_not_measured(explained: ApiClient) -> None:
    result = fetch(explained, explained.key(), "Test_weekends")
    saturdays = 12
    assert result["observations"] == len(SESSIONS) + saturdays
    assert {x["measured"] for x in result["models"]} == {len(SESSIONS) - saturdays}, (
        "nor are the Mondays after"
    )


def test_a_short_record_is_withheld_with_its_reason(explained: ApiClient) -> None:
    result = fetch(explained, explained.key(), "Test_few")
    for model in result["models"]:
        assert model["regression"] is model["attribution"] is model["rolling"] is None
        assert set(model["withheld"]) == {"regression", "attribution", "rolling"}


def test_a_run_without_a_ledger_has_no_models(explained: ApiClient) -> None:
    result = fetch(explained, explained.key(), "Test_nothing")
    assert (result["models"], set(result["withheld"])) == ([], {"models"})


def test_a_key_needs_access_to_the_underlying_data(explained: ApiClient) -> None:
    path = f"/v1/alphas/{ALPHA}/exposures"
    alone = explained.key(endpoints="research.exposures")
    refused = explained.get(path, alone)
    assert refused.json()["error"]["details"] == {"endpoint": "portfolio.ledger"}
    without_prices = explained.key(endpoints="research.exposures,portfolio.ledger")
    result = fetch(explained, without_prices)
    assert [x["name"] for x in result["models"]] == ["factors"]
    assert result["withheld"] == {"benchmarks": "the key may not call benchmarks.daily"}


@pytest.mark.parametrize("family", ["exposures", "regimes"])
def test_rights_are_checked_before_market_data_that_cannot_be_read(
    market: Published, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    def away(_: MarketData) -> None:
        raise StorageUnavailable("the store does not answer")

    monkeypatch.setattr(MarketData, "check", away)
    prices, store = str(files / "prices.parquet"), f"sqlite:///{tmp_path}/keys.sqlite"
    path = f"/v1/alphas/{ALPHA}/{family}"
    with running(market.root, counts=tmp_path / "counts", store=store, market_data=prices) as api:
        alone = api.key(endpoints=f"research.{family}")
        assert api.json(path, alone, 403)["error"]["details"] == {"endpoint": "portfolio.ledger"}
        without_prices = api.key(endpoints=f"research.{family},portfolio.ledger")
        withheld = api.json(path, without_prices)["data"]["withheld"]
        assert "the key may not call benchmarks.daily" in withheld.values()
        assert api.json(path, api.key(), 503)["error"]["code"] == "benchmark_unavailable"


@pytest.mark.parametrize("wanted", ["DIA", "SPY,DIA"])
def test_a_missing_benchmark_is_refused_with_the_available_ones(explained: ApiClient, wanted: str) -> None:
    response = explained.get(f"/v1/alphas/{ALPHA}/exposures?benchmarks={wanted}", explained.key())
    assert response.status_code == 400
    assert response.json()["error"]["details"]["parameters"] == [
        {"name": "benchmarks", "constraint": "at most 10 of QQQ, SPY"}
    ]


def test_missing_market_data_and_factors_are_reported(api: ApiClient, token: str) -> None:
    result = fetch(api, token)
    assert result["models"] == []
    assert set(result["withheld"]) == {"benchmarks", "factors"}


BAD: dict[str, tuple[pl.DataFrame, str]] = {
    "percent": (factor_rows().with_columns(pl.col("return") * 400), "divide returns in per cent by 100"),
    "twice": (pl.concat([factor_rows(), factor_rows().head(1)]), "a factor has one row per day"),
    "rate": (factor_rows().with_columns(pl.col("factor").replace("SMB", "RF")), "RF is left out"),
    "empty": (factor_rows().clear(), "at least one row"),
    "missing": (factor_rows().drop("factor"), "there is no factor"),
    "text": (factor_rows().cast({"return": pl.String}), "return is a number"),
    "null": (factor_rows().with_columns(pl.lit(None, pl.Float64).alias("return")), "return has no nulls"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_invalid_file_is_refused_with_name_rule_and_fix(tmp_path: Path, name: str) -> None:
    rows, rule = BAD[name]
    path = tmp_path / "factors.parquet"
    rows.write_parquet(path)
    with pytest.raises(SettingsError, match=rule) as raised:
        factor_files(str(path)).check()
    assert str(path) in str(raised.value)
    assert "correct the file" in str(raised.value)


def test_the_server_does_not_start_with_an_invalid_file(market: Published, tmp_path: Path) -> None:
    access = AccessSettings.from_environment({}, market.root)
    with pytest.raises(SettingsError, match=r"^--factors or ALPHA_RESULTS_FACTORS: .* is neither a file"):
        check(Settings(datasets=str(market.root), factors=str(tmp_path / "absent.parquet")), access)


def test_a_file_that_cannot_be_read_degrades_the_health(market: Published, tmp_path: Path) -> None:
    with running(market.root, counts=tmp_path / "counts", factors=str(tmp_path / "absent.parquet")) as api:
        eventually(lambda: api.get("/v1/health").json()["status"] == "degraded")


def test_a_newer_file_is_read_and_an_invalid_one_ignored(tmp_path: Path) -> None:
    path = tmp_path / "factors.parquet"
    factor_rows().write_parquet(path)
    files = factor_files(str(path))

    def names() -> tuple[str, ...] | None:
        return None if files.result is None else files.result.names

    files.check()
    assert names() == NAMES
    factor_rows().filter(pl.col("factor") != "HML").write_parquet(path)
    files.check()
    assert names() == ("Mkt-RF", "SMB")
    path.write_bytes(b"no Parquet")
    with pytest.raises(SettingsError):
        files.check()
    assert names() == ("Mkt-RF", "SMB")


def test_the_datasets_package_returns_the_same(explained: ApiClient, market: Published, files: Path) -> None:
    served = fetch(explained, explained.key(), query="rolling=60")
    run = datasets.open(market.root)[ALPHA]
    assert run.exposures(files / "prices.parquet", files / "factors.parquet", rolling=60) == served
    prices, factors = files / "prices.parquet", files / "factors.parquet"
    for symbols in ("SPY", ["spy"], [None], None):
        assert run.exposures(prices, factors, benchmarks=symbols, rolling=60) == served
    assert run.exposures()["models"] == []


@pytest.mark.parametrize("rolling", [0, -60, 19, 60.0])
def test_the_datasets_package_refuses_rolling_windows_that_are_too_short(
    market: Published, rolling: Any
) -> None:
    rule = f"rolling={rolling}: give a whole number, at least 20 sessions"
    with pytest.raises(SettingsError, match=rule):
        datasets.open(market.root)[ALPHA].exposures(rolling=rolling)


def test_a_run_with_only_raw_books_shows_nothing_of_them_without_access(tmp_path: Path) -> None:
    root, book = tmp_path / "published", "raw_long_short"
    root.mkdir()
    for alpha in ("Test_raw", "Test_other"):
        published.publish(root, {"portfolio": {book: published.ledger(book)}}, alpha_id=alpha)
    paths = [f"/v1/alphas/Test_raw/{name}?book={book}" for name in ("exposures", "regimes", "luck", "risk")]
    paths += [
        f"/v1/alphas/Test_raw/contribution?alphas=Test_other&book={book}",
        f"/v1/correlations?alphas=Test_raw,Test_other&book={book}",
    ]
    neighbours = f"/v1/alphas/Test_raw/neighbours?among=Test_other&book={book}"
    with running(root) as api:
        key, trusted = api.key(), api.key(raw=True)
        for path in paths:
            refused = api.get(path, key)
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unknown_book"), path
            assert api.get(path, trusted).status_code == 200, path
        assert api.json(neighbours, key)["data"] == []
        assert api.json(neighbours, key)["meta"]["first_date"] is None
        assert api.json(neighbours, trusted)["meta"]["first_date"] is not None


def test_factors_of_the_package_may_be_in_a_folder_and_must_exist(
    market: Published, files: Path, tmp_path: Path
) -> None:
    run = datasets.open(market.root)[ALPHA]
    folder = tmp_path / "factors"
    folder.mkdir()
    shutil.copy(files / "factors.parquet", folder)
    assert run.exposures(factors=folder) == run.exposures(factors=files / "factors.parquet")
    shutil.copy(files / "factors.parquet", folder / "more.parquet")
    with pytest.raises(SettingsError, match="factors must be in one file"):
        run.exposures(factors=folder)
    with pytest.raises(SettingsError, match="is neither a file nor a folder"):
        run.exposures(factors=tmp_path / "absent.parquet")

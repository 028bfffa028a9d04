"""The client in notebooks: keys from the environment, reported waits, name completion and suggestions, wide frames."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import math
import time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from alpha_results_client import (
    AlphaResultsClientError,
    ApiError,
    AsyncClient,
    Client,
    InvalidRequest,
    NotFound,
    ResultsWarning,
)

from tests.client.conftest import Service
from tests.client.test_calls import BASE, KEY, answering
from tests.support.contract_app import FULL, PLAIN


def test_a_client_without_arguments_reads_environment_variables(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALPHA_RESULTS_URL", service.address)
    monkeypatch.setenv("ALPHA_RESULTS_KEY", service.keys["reader"])
    with Client() as client:
        assert FULL in client
    monkeypatch.delenv("ALPHA_RESULTS_KEY")
    with pytest.raises(AlphaResultsClientError, match="no key was given: pass it, or set ALPHA_RESULTS_KEY"):
        Client()
    with pytest.raises(AlphaResultsClientError, match="ALPHA_RESULTS_KEY"):
        AsyncClient()
    with Client(key=service.keys["reader"]) as client:
        assert FULL in client


@pytest.mark.parametrize(
    ("argument", "rule"),
    [
        ({"timeout": -1}, "timeout must be more than 0 seconds"),
        ({"timeout": 0}, "timeout must be more than 0 seconds"),
        ({"timeout": None}, "timeout must be more than 0 seconds"),
        ({"retries": -1}, "retries must be 0 or more"),
        ({"retries": "4"}, "retries must be 0 or more"),
        ({"longest_wait": "65"}, "longest_wait must be 0 or more seconds"),
        ({"longest_wait": float("nan")}, "longest_wait must be 0 or more seconds"),
        ({"frames": "arrow"}, "frames must be one of polars, pandas, rows"),
    ],
)
def test_an_invalid_argument_is_named_with_its_rule(argument: dict[str, Any], rule: str) -> None:
    with pytest.raises(AlphaResultsClientError, match=rule):
        Client(BASE, KEY, **argument)


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:port", "http://127.0.0.1:99999", "http://[::1", "http://a\n", "127.0.0.1:8000"],
)
@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_an_invalid_address_is_refused_with_an_example(client: type[Any], address: str) -> None:
    with pytest.raises(
        AlphaResultsClientError, match=r"base_url must be a URL such as https://results\.example"
    ):
        client(address, KEY)


@pytest.mark.parametrize(
    ("status", "why"), [(429, "the key is at its limit of calls"), (503, f"{BASE} does not answer yet")]
)
def test_a_wait_is_reported_once(
    status: int, why: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    error = {"error": {"code": "rate_limited" if status == 429 else "not_ready", "message": "Later."}}
    refusals = [httpx.Response(status, json=error, headers={"Retry-After": "7"}) for _ in range(3)]
    with (
        caplog.at_level(logging.WARNING, "alpha_results_client"),
        Client(
            BASE, KEY, transport=answering(*refusals, httpx.Response(200, json={"status": "ok"}))
        ) as client,
    ):
        client.health()
    assert [record.getMessage() for record in caplog.records] == [
        f"{why}: waiting 7 s; later waits for this reason are not logged"
    ]
    assert KEY not in caplog.text


def test_alpha_names_are_completed_in_notebooks(service: Service) -> None:
    with Client(service.address, service.keys["reader"]) as client:
        assert client._ipython_key_completions_() == list(client)
    with Client(service.address, KEY) as client:
        assert client._ipython_key_completions_() == []


def test_an_unknown_name_is_reported_with_similar_ones(service: Service) -> None:
    with Client(service.address, service.keys["reader"]) as client:
        with pytest.raises(NotFound, match=f"Did you mean '{FULL}'") as wrong:
            client[FULL.lower() + "x"].metrics()
        assert FULL in wrong.value.suggestions
        with pytest.raises(InvalidRequest, match="Did you mean 'long_short'"):
            client[FULL].positions("longshort")
        with pytest.raises(InvalidRequest, match=r"from\. The argument 'start' sets 'from'\."):
            client[FULL].scores(start="2021-01-01", end="2020-01-01")
        with pytest.raises(TypeError, match=r"scores\(\) has no argument 'symbol'; did you mean 'symbols'"):
            client[FULL].scores(symbol=["AAA"])  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"scores\(\) has no argument 'from'; did you mean 'start'"):
            client[FULL].scores(**{"from": "2021-01-01"})  # type: ignore[arg-type]
        with pytest.raises(AlphaResultsClientError, match=r"did you mean 'portfolio\.equity_curve'"):
            client[FULL].table("portfolio.equitycurve")
        with pytest.raises(
            AlphaResultsClientError, match=r"performance\.metrics has no rows: call metrics\(\)"
        ):
            client[FULL].table("performance.metrics")
        with pytest.raises(AlphaResultsClientError, match=r"signals\.scores needs alpha: pass alpha="):
            client.table("signals.scores")
        with pytest.raises(NotFound) as wrong:
            client["nothing like it at all"].metrics()
        assert wrong.value.suggestions == ()


def test_a_thousand_symbols_fit_into_a_call_and_too_many_are_refused_with_the_way_out(
    service: Service,
) -> None:
    symbols = [f"X{number:05d}" for number in range(1, 3000)]
    with Client(service.address, service.keys["reader"]) as client:
        with pytest.warns(ResultsWarning, match="unknown_symbol"):
            assert client[FULL].scores(symbols=symbols[:1000]).is_empty()
        with pytest.raises(
            ApiError, match=r"longer than 8192 bytes; .*\. 'symbols' has 2,999 values: pass fewer"
        ):
            client[FULL].scores(symbols=symbols)


def test_names_may_be_a_column_of_a_frame(service: Service) -> None:
    with Client(service.address, service.keys["reader"]) as client:
        symbols = client[FULL].scores()["symbol"].unique().sort().head(3)
        columns: list[Any] = [symbols, symbols.to_pandas(), symbols.to_numpy()]
        for column in columns:
            assert set(client[FULL].scores(symbols=column)["symbol"]) == set(symbols)
        alphas: Any = client.alphas().filter(pl.col("alpha_id").is_in([FULL, PLAIN]))["alpha_id"]
        assert client.correlations(alphas=alphas)["alphas"] == alphas.to_list()
        assert client.returns(alphas).columns == ["date", *alphas]


def test_weights_may_be_numbers(service: Service) -> None:
    with Client(service.address, service.keys["reader"]) as client:
        run = client[FULL]
        numbers = run.contribution(alphas=[PLAIN], weights=[0.00001, 1])
        assert numbers["weights"] == run.contribution(alphas=[PLAIN], weights="0.00001,1")["weights"]


def test_values_of_numpy_and_pandas_count_as_those_of_python(service: Service) -> None:
    with Client(service.address, service.keys["reader"], frames="rows") as client:
        run = client[FULL]
        days = [row["date"] for row in run.rebalances()]
        day = days[3]
        for given in (
            day,
            dt.datetime.combine(day, dt.time(20)),
            pd.Timestamp(day),
            pd.Timestamp(day, tz="America/New_York"),
            np.datetime64(day),
            np.datetime64(day, "ns"),
            pd.Series([day], dtype="datetime64[us]").iloc[0],
            pl.Series([day])[0],
        ):
            given_day: Any = given
            assert [row["date"] for row in run.rebalances(start=given_day)] == days[3:]
            assert run.rebalance(given_day)
            assert client.table("signals.rebalances.get", alpha=FULL, date=given_day).frame
            assert client.returns([FULL], start=given_day) == client.returns([FULL], start=day.isoformat())
        weights: Any = np.array([0.5, 1], dtype=np.float32)
        assert run.contribution(alphas=[PLAIN], weights=weights) == run.contribution(
            alphas=[PLAIN], weights=[0.5, 1]
        )
        count: Any = np.int64(20)
        assert run.luck(trials=count) == run.luck(trials=20)
        yes: Any = np.True_
        assert run.metrics(doc=yes) == run.metrics(doc=True)
        few: Any = (symbol for symbol in ["SIM001", "SIM002"])
        assert {row["symbol"] for row in run.scores(symbols=few)} == {"SIM001", "SIM002"}


@pytest.mark.parametrize(
    "value",
    [
        pd.NaT,
        np.datetime64("NaT"),
        np.datetime64("2024-01"),
        pd.NA,
        b"2024-01-31",
        object(),
        math.nan,
        np.float32("nan"),
        Decimal("NaN"),
    ],
)
def test_a_value_without_an_exact_meaning_is_refused_by_the_name_of_its_argument(value: Any) -> None:
    with Client(BASE, KEY, frames="rows") as client:
        run = client[FULL]
        for call in (run.scores, run.metrics_frame, partial(client.returns, [FULL])):
            with pytest.raises(AlphaResultsClientError, match=r"^start must be "):
                call(start=value)
        with pytest.raises(AlphaResultsClientError, match=r"^symbols must be "):
            run.scores(symbols=["SIM001", value])


def test_an_alpha_that_is_no_text_is_refused_at_once() -> None:
    number: Any = 3
    with Client(BASE, KEY) as client, pytest.raises(TypeError, match="by its address, a string, not by 3"):
        client[number]


def test_a_cache_that_is_no_folder_is_refused_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AlphaResultsClientError, match=r"^cache must be a folder .*/file cannot: File exists"):
        Client(BASE, KEY, cache=tmp_path / "file")


def test_a_missing_argument_is_reported_with_its_method(service: Service) -> None:
    with (
        Client(service.address, service.keys["reader"]) as client,
        pytest.raises(TypeError, match=r"correlations\(\): missing a required argument: 'alphas'"),
    ):
        client.correlations(book="long_only")  # type: ignore[call-arg]


def test_compared_alphas_come_first_as_in_the_files(service: Service) -> None:
    with Client(service.address, service.keys["reader"]) as client:
        named = client.correlations(alphas=[FULL, PLAIN], book="long_only")
        assert client.correlations([FULL, PLAIN], "long_only") == named
        assert client[FULL].contribution([PLAIN])["alphas"] == [PLAIN]


def test_returns_of_several_alphas_are_joined_by_date(service: Service) -> None:
    with Client(service.address, service.keys["reader"]) as client:
        with pytest.warns(ResultsWarning):
            frame = client.returns()
        assert {FULL, PLAIN} <= set(frame.columns)
        for name in (FULL, PLAIN):
            own = client[name].equity_curve().select("date", "period_return")
            assert frame.select("date", name).drop_nulls().rows() == own.drop_nulls().rows()
        assert frame["date"].is_sorted()
        assert frame.schema["date"] == pl.Date
        curve = client[FULL].equity_curve(book="long_only")
        first = curve["date"][3]
        one = client.returns([FULL], book="long_only", start=first)
        assert client.returns(FULL, book="long_only", start=first).equals(one)
        assert client.returns(f"{FULL}, {PLAIN}").columns == ["date", FULL, PLAIN]
    assert one.columns == ["date", FULL]
    assert one["date"][0] == first
    with pytest.raises(InvalidRequest), Client(service.address, service.keys["reader"]) as client:
        client.returns([FULL], book="no_such_book")


def test_returns_of_all_alphas_leave_out_those_without_the_book(service: Service) -> None:
    with Client(service.address, service.keys["raw"]) as client:
        with pytest.warns(ResultsWarning) as caught:
            frame = client.returns(book="raw_long_short")
        assert any(
            str(x.message).startswith(f"{PLAIN} is left out: The run has no such book") for x in caught
        )
        assert FULL in frame.columns
        assert PLAIN not in frame.columns
        with pytest.raises(InvalidRequest):
            client.returns([FULL, PLAIN], book="raw_long_short")


def test_returns_are_equal_in_every_frame_library_and_client(service: Service) -> None:
    key, names = service.keys["reader"], [FULL, PLAIN]
    with Client(service.address, key, frames="rows") as client:
        rows = client.returns(names)
    with Client(service.address, key, frames="pandas") as pandas_client:
        frame = pandas_client.returns(names)
    assert list(frame.columns) == ["date", *names]
    assert frame.dtypes["date"] == "datetime64[us]"
    assert frame[FULL].notna().sum() == sum(row[FULL] is not None for row in rows)

    async def scenario() -> Any:
        async with AsyncClient(service.address, key, frames="rows") as awaited:
            return await awaited.returns(names)

    assert asyncio.run(scenario()) == rows

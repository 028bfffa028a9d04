from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from datasets.market_data.prices import read_benchmarks
from examples.reference_engine.run import simulate
from schemas.errors import SettingsError

File = Callable[..., bytes]


def test_rows_are_grouped_by_symbol_and_sorted_by_day(market_file: File) -> None:
    days = [
        dt.date(2024, 1, 2),
        dt.date(2024, 1, 2),
        dt.date(2024, 1, 3),
        dt.date(2024, 1, 3),
        dt.date(2024, 1, 4),
    ]
    mixed = market_file(
        date=days, symbol=["xyz", "ABC", "ABC", "XYZ", "ABC"], adj_close=[1.0, None, 2.0, 3.0, 4.0]
    )
    result = read_benchmarks({"m": mixed})
    assert list(result) == ["ABC", "XYZ"]
    assert result["XYZ"].close.tolist() == [100.0, 99.0]
    assert result["ABC"].dates.tolist() == [days[0], days[2], days[4]]
    assert np.isnan(result["ABC"].adjusted).tolist() == [True, False, False]
    assert result["ABC"].name == "ABC"
    assert not result["ABC"].simulated
    assert result["ABC"].source == "market data"


def test_a_symbol_may_span_several_files(market_file: File) -> None:
    late = market_file(date=[dt.date(2025, 1, day) for day in (2, 3, 6, 7, 8)])
    result = read_benchmarks({"a": late, "b": market_file()})
    assert result["ABC"].dates.size == 10
    assert np.all(np.diff(result["ABC"].dates) > np.timedelta64(0, "D"))


def test_a_file_without_adjusted_closes_has_none(market_file: File) -> None:
    assert np.isnan(read_benchmarks({"m": market_file(adj_close=None)})["ABC"].adjusted).all()
    nulls = read_benchmarks({"m": market_file(adj_close=[None] * 5, name=[None] * 5)})["ABC"]
    assert np.isnan(nulls.adjusted).all()
    assert nulls.name == "ABC"
    unknown = read_benchmarks({"m": market_file(adj_close=[1.0, 2.0, float("nan"), None, 3.0])})[
        "ABC"
    ].adjusted
    assert np.isnan(unknown).tolist() == [False, False, True, True, False]


@pytest.mark.parametrize(
    ("metadata", "columns", "name", "source"),
    [
        ({}, {}, "ABC", "market data"),
        ({}, {"symbol": ["spy"] * 5}, "SPDR S&P 500 ETF Trust", "market data"),
        ({}, {"name": ["An Index"] * 5}, "An Index", "market data"),
        ({}, {"name": [None, "An Index", None, None, None]}, "An Index", "market data"),
        ({"simulated": "true"}, {}, "ABC (simulated)", "simulated market data"),
        ({"simulated": "true"}, {"name": ["Simulated index"] * 5}, "Simulated index", "simulated market data"),
        ({"simulated": "false"}, {}, "ABC", "market data"),
        ({}, {"symbol": ["SIMSPY"] * 5}, "Simulated market index", "simulated market data"),
    ],
)  # fmt: skip
def test_simulated_symbols_are_named_as_such(
    market_file: File, metadata: dict[str, str], columns: dict[str, Any], name: str, source: str
) -> None:
    (actual,) = read_benchmarks({"m": market_file(metadata, **columns)}).values()
    assert (actual.name, actual.source) == (name, source)


def test_the_reference_engines_market_is_read_as_simulated(tmp_path: Path) -> None:
    simulate(tmp_path / "runs", seed=3, names=24, weeks=12)
    (file,) = (tmp_path / "runs" / "market").iterdir()
    (actual,) = read_benchmarks({file.name: file.read_bytes()}).values()
    assert actual.simulated
    assert "imulated" in actual.name
    assert actual.dates.size == pl.read_parquet(file).height
    assert not np.isnan(actual.adjusted).any()


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ({"date": None}, "it has the columns date, symbol, close, but there is no date"),
        ({"symbol": None}, "there is no symbol"),
        ({"close": None}, "there is no close"),
        ({"date": ["2024-01-02"] * 5}, "date is a DATE"),
        ({"date": [dt.datetime.fromisoformat(f"2024-01-0{day}T16:00") for day in (2, 3, 4, 5, 8)]}, "date is a DATE"),
        ({"date": [dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in (2, 3, 4, 5, 8)]}, "date is a DATE"),
        ({"date": pl.Series([0, 1, 2, 3, 4_000_000], dtype=pl.Int32).cast(pl.Date)}, "of the years 1 to 9999"),
        ({"close": ["100", "1", "1", "1", "1"]}, "close is a number"),
        ({"symbol": [1, 2, 3, 4, 5]}, "symbol is text"),
        ({"close": [1.0, None, 1.0, 1.0, 1.0]}, "close has no nulls, but there is one in row 1"),
        ({"date": [dt.date(2024, 1, 2), None, None, None, None]}, "date has no nulls"),
        ({"close": [None] * 5}, "close has no nulls, but there is one in row 0"),
        ({"close": [1.0, 0.0, 1.0, 1.0, 1.0]}, "close is a finite number above 0, but it is 0.0"),
        ({"close": [1.0, -2.0, 1.0, 1.0, 1.0]}, "close is a finite number above 0"),
        ({"close": [1.0, float("nan"), 1.0, 1.0, 1.0]}, "close is a finite number above 0"),
        ({"adj_close": [1.0, float("inf"), 1.0, 1.0, 1.0]}, "adj_close is a finite number above 0"),
        ({"symbol": ["A B"] * 5}, "symbol is not empty, without comma"),
        ({"symbol": [""] * 5}, "symbol is not empty"),
        ({"symbol": ["A/B"] * 5}, "symbol is without slash, as a part of an address, but it is 'A/B'"),
        ({"symbol": ["\ufeffABC"] * 5}, "symbol is not empty, without comma"),
        ({"date": [dt.date(2024, 1, 2)] * 5}, "a symbol has one row per day, but ABC has several on 2024-01-02"),
        ({"name": ["One", "Two", None, None, None]}, "a symbol has one name, but ABC is called 'One' and 'Two'"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named_with_its_file(market_file: File, columns: dict[str, Any], rule: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read_benchmarks({"prices.parquet": market_file(**columns)})
    assert "prices.parquet" in str(refused.value)
    assert rule in str(refused.value)


def test_symbols_ignore_letter_case(market_file: File) -> None:
    with pytest.raises(SettingsError, match=r"b\.parquet.*one row per day|a\.parquet, b\.parquet"):
        read_benchmarks({"a.parquet": market_file(), "b.parquet": market_file(symbol=["abc"] * 5)})


def test_midnight_timestamps_integers_and_categories_are_accepted(market_file: File) -> None:
    result = read_benchmarks(
        {
            "m": market_file(
                date=[dt.datetime(2024, 1, day) for day in (2, 3, 4, 5, 8)],  # noqa: DTZ001 - a day needs no zone
                symbol=pl.Series(["ABC"] * 5, dtype=pl.Categorical),
                close=[100, 110, 99, 99, 121],
                volume=[1, 2, 3, 4, 5],
            )
        }
    )
    assert result["ABC"].close.tolist() == [100.0, 110.0, 99.0, 99.0, 121.0]
    assert str(result["ABC"].dates[-1]) == "2024-01-08"


@pytest.mark.parametrize("cut", [slice(0, -20), slice(0, 0), slice(4, None), slice(0, 30)])
def test_an_invalid_parquet_file_is_named(market_file: File, cut: slice) -> None:
    with pytest.raises(
        SettingsError,
        match=r"prices\.parquet: the rule is that it is a Parquet file, .*[^.]; correct the file",
    ):
        read_benchmarks({"prices.parquet": market_file()[cut]})


def test_a_file_without_rows_is_named(market_file: File) -> None:
    empty = market_file(
        date=pl.Series([], dtype=pl.Date), symbol=pl.Series([], dtype=pl.String),
        close=pl.Series([], dtype=pl.Float64), adj_close=None,
    )  # fmt: skip
    with pytest.raises(SettingsError, match="at least one row"):
        read_benchmarks({"prices.parquet": empty})

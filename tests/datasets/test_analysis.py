"""The datasets package for analysts: returns, benchmarks, factors, units, errors."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import alphalens
import numpy as np
import pandas as pd
import polars as pl
import pytest

import datasets
from datasets.market_data.prices import read_benchmarks
from pipeline.snapshot_builder import build_seal
from schemas.errors import KindNotPublished, SettingsError, SnapshotCorrupt
from schemas.tables import PUBLISHED_TABLES
from serve.market_data.window import measure
from tests.datasets.conftest import ONE, OTHER
from tests.support import contract_app
from tests.support.application import running
from tests.support.seals import make_seal


@pytest.fixture(scope="module")
def root(two_alphas: Path) -> Path:
    return two_alphas


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize(
    "options", [{}, {"panel": True, "granularity": "yearly"}, {"first": "2020-03-02", "last": "2020-05-29"}]
)
def test_the_figures_of_a_run_are_those_that_the_interface_answers(
    root: Path, options: dict[str, Any], raw: bool
) -> None:
    days: dict[str, Any] = {
        name: dt.date.fromisoformat(options[name]) for name in ("first", "last") if name in options
    }
    with running(root) as api:
        names = {"first": "from", "last": "to"}
        query = "&".join(f"{names.get(name, name)}={value}" for name, value in options.items())
        answer = api.json(f"/v1/alphas/{ONE}/metrics?{query.replace('True', '1')}", api.key(raw=raw))
    result = datasets.open(root)[ONE].metrics(**(options | days | ({} if raw else {"raw": False})))
    for member in ("warnings", "notices"):
        assert result.pop(member) == answer["meta"].get(member, [])
    assert json.loads(json.dumps(result)) == answer["data"]


def test_arguments_of_metrics_are_validated(root: Path) -> None:
    run = datasets.open(root)[ONE]
    with pytest.raises(SettingsError, match="no granularity 'weekly'; there are overall, yearly, monthly"):
        run.metrics(granularity="weekly")
    with pytest.raises(SettingsError, match="is after the last"):
        run.metrics(first=dt.date(2020, 2, 1), last=dt.date(2020, 1, 1))
    with pytest.raises(SettingsError, match=r"first='2020-01-01': give a datetime.date, or None"):
        run.metrics(first="2020-01-01")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (datasets.Window("2022-01", "2022-06"), "first='2022-01': give a datetime.date, or None for an open end"),  # type: ignore[arg-type]
        (datasets.Window(dt.date(2022, 2, 1), dt.date(2022, 1, 1)), "the first day, 2022-02-01, is after the last, 2022-01-01"),
        ((dt.date(2022, 1, 1), dt.date(2022, 2, 1)), r"give Window\(first, last\)"),
    ],
)  # fmt: skip
def test_a_window_that_is_not_one_of_days_is_refused(root: Path, window: Any, said: str) -> None:
    opened = datasets.open(root)
    run = opened[ONE]
    calls: list[Callable[[], object]] = [
        lambda: run.luck(window=window), lambda: run.regimes(window=window), lambda: run.exposures(window=window),
        lambda: opened.correlations([ONE, OTHER], window=window),
        lambda: opened.neighbours(ONE, window=window),
        lambda: opened.contribution(ONE, [OTHER], window=window),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(SettingsError, match=said):
            call()


def test_an_instant_in_a_window_counts_as_its_day(root: Path) -> None:
    run = datasets.open(root)[ONE]
    first, last = (run.returns()["date"][place] for place in (5, -5))
    afternoon = dt.time(15, 30)
    instants = pd.Timestamp(dt.datetime.combine(first, afternoon)), dt.datetime.combine(last, afternoon)
    assert run.luck(window=datasets.Window(*instants)) == run.luck(window=datasets.Window(first, last))
    assert run.metrics(first=instants[0], last=instants[1]) == run.metrics(first=first, last=last)


def test_a_position_in_place_of_an_id_is_an_error(root: Path) -> None:
    with pytest.raises(TypeError, match="an alpha is named by its id, a string, not by 0"):
        datasets.open(root)[0]  # type: ignore[index]


def test_an_unknown_column_of_a_factor_names_those_that_there_are(root: Path) -> None:
    with pytest.raises(KindNotPublished, match="no column 'scor' in its decisions; there are date, symbol,"):
        datasets.open(root)[ONE].factor("scor")


@pytest.mark.parametrize(
    ("table", "column", "book", "held"),
    [("decisions", "scor", None, "date, symbol, direction"), ("positions", "book", "long_only", "date, symbol, quantity")],
)  # fmt: skip
def test_a_column_that_a_file_lacks_is_an_error_and_no_frame_without_it(
    root: Path, table: str, column: str, book: str | None, held: str
) -> None:
    with pytest.raises(KindNotPublished, match=f"no column '{column}' in its {table}; there are {held}"):
        datasets.open(root)[ONE].read(table, ["date", column], book)


def test_a_factor_of_a_run_without_decisions_names_the_missing_table(tmp_path: Path) -> None:
    build_seal(str(make_seal(tmp_path, without_kinds={"decisions"})), tmp_path / "published")
    with pytest.raises(KindNotPublished, match="Test_small has no decisions; it holds rebalances, portfolio"):
        datasets.open(tmp_path / "published")["Test_small"].factor()


def test_a_column_without_numbers_is_no_factor(root: Path) -> None:
    run = datasets.open(root)[ONE]
    for column in ("symbol", "date", "decision_reason"):
        with pytest.raises(SettingsError, match=f"'{column}' is not a column of numbers"):
            run.factor(column)


def test_a_damaged_pointer_is_no_unpublished_alpha(tmp_path: Path) -> None:
    build_seal(str(make_seal(tmp_path)), tmp_path / "published")
    pointer = tmp_path / "published" / "catalog" / "Test_small.json"
    pointer.write_text(json.dumps({**json.loads(pointer.read_text()), "format": 2}))
    with pytest.raises(SnapshotCorrupt, match=r"catalog/Test_small\.json"):
        datasets.open(tmp_path / "published")["Test_small"]


def test_figures_are_not_computed_from_a_damaged_file(tmp_path: Path) -> None:
    build_seal(str(make_seal(tmp_path)), tmp_path / "published")
    (ledger,) = tmp_path.glob("published/alphas/*/*/weekly_deciles/part-0.parquet")
    ledger.write_bytes(ledger.read_bytes()[:-20] + bytes(20))
    with pytest.raises(SnapshotCorrupt):
        datasets.open(tmp_path / "published")["Test_small"].metrics()


def test_returns_compound_to_the_books_equity(root: Path) -> None:
    run = datasets.open(root)[ONE]
    returns = run.returns("long_only")
    assert returns.schema == {"date": pl.Date, "period_return": pl.Float64}
    equity = run.scan("equity_curve", "long_only").collect()
    total = (1 + returns["period_return"]).product()
    assert total == pytest.approx(equity["ending_equity"][-1] / equity["starting_equity"][0], rel=1e-9)
    with pytest.raises(KindNotPublished):
        run.returns("nothing")


def test_a_book_that_a_run_lacks_is_an_error_and_no_empty_result(root: Path) -> None:
    opened = datasets.open(root)
    run = opened[ONE]
    calls: list[Callable[[str], object]] = [
        run.concentration, run.costs, run.risk, run.returns,
        lambda book: run.luck(book=book), lambda book: run.regimes(book=book),
        lambda book: run.exposures(book=book),
        lambda book: opened.correlations([ONE, OTHER], book=book),
        lambda book: opened.neighbours(ONE, by="holdings", book=book),
        lambda book: opened.contribution(ONE, [OTHER], book=book),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(KindNotPublished, match=r"book longshort; .* name one of long_short, long_only"):
            call("longshort")
    # One of them has it.
    assert opened.correlations([OTHER, ONE], book="raw_long_short")[ONE].to_list() == [None, 1.0]


def test_one_alpha_in_place_of_a_list_is_an_error(root: Path) -> None:
    opened = datasets.open(root)
    calls: list[Callable[[str], object]] = [
        opened.correlations,
        lambda text: opened.neighbours(ONE, among=text),
        lambda text: opened.contribution(ONE, text),
    ]
    for call in calls:
        with pytest.raises(SettingsError, match=f"give a list of alphas, such as .'{OTHER}'"):
            call(OTHER)
    with pytest.raises(SettingsError, match="at least 1"):
        opened.neighbours(ONE, limit=0)


def test_arguments_of_another_type_are_named_with_what_to_give(root: Path, tmp_path: Path) -> None:
    opened = datasets.open(root)
    run = opened[ONE]
    books: Any = ["long_short", "long_only"]
    number: Any = 3
    file = tmp_path / "spy.parquet"
    run.returns().select("date", symbol=pl.lit("SPY"), close=pl.lit(100.0)).write_parquet(file)
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: run.returns(books), "book=.*give one name"),
        (lambda: run.risk(books), "book=.*give one name"),
        (lambda: run.scan("positions", books), "book=.*give one name"),
        (lambda: run.arrow(books), "dataset=.*give one name"),
        (lambda: run.columns(books), "dataset=.*give one name"),
        (lambda: run.n_rows(books), "dataset=.*give one name"),
        (lambda: run.research(books), "family=.*give one name"),
        (lambda: run.research("cost"), "family='cost': there are costs, concentration, risk, signal"),
        (
            lambda: run.read("decisions", "score"),
            r"columns='score': give a list of columns, such as \['score'\]",
        ),
        (lambda: run.read("decisions", number), r"columns=3: give a list of columns, such as \['date'\]"),
        (lambda: run.benchmark(file, symbol=number), "holds no row of 3; it has 1 symbol"),
        (lambda: run.exposures(file, benchmarks=number), "holds no row of 3; it has 1 symbol"),
        (lambda: run.metrics(first=pd.NaT), "first=NaT: give a datetime.date"),  # type: ignore[arg-type]
        (lambda: run.metrics(raw="false"), "raw='false': give True or False"),  # type: ignore[arg-type]
        (lambda: run.metrics(panel=number), "panel=3: give True or False"),
        (lambda: opened.correlations(number), "alphas: 3 is not the id of an alpha; give a list"),
        (lambda: opened.neighbours(ONE, among=[number]), "among: 3 is not the id of an alpha"),
        (lambda: opened.neighbours(ONE, limit=2.5), "limit=2.5: give a whole number"),  # type: ignore[arg-type]
        (
            lambda: opened.contribution(ONE, [OTHER], weights=number),
            "weights=3: give equal or volatility, or",
        ),
        (lambda: opened.contribution(ONE, [OTHER], weights=["a", "b"]), "weights=.*a number for each alpha"),  # type: ignore[list-item]
        (lambda: datasets.open(None), "None is not an address; give a folder"),  # type: ignore[arg-type]
    ]
    for call, said in calls:
        with pytest.raises(SettingsError, match=said):
            call()


def test_the_returns_of_a_run_are_those_of_one_book(root: Path, tmp_path: Path) -> None:
    run = datasets.open(root)[ONE]
    file = tmp_path / "spy.parquet"
    run.returns().select("date", symbol=pl.lit("SPY"), close=pl.lit(100.0)).write_parquet(file)
    for call in (run.returns, lambda book: run.benchmark(file, book=book)):
        with pytest.raises(KindNotPublished, match="stored by book: name one of long_short, long_only"):
            call(None)  # type: ignore[arg-type]


def test_a_window_needs_no_module_below_the_package(root: Path) -> None:
    first = dt.date(2022, 1, 1)
    assert datasets.open(root)[ONE].luck(window=datasets.Window(first=first))["first_date"] >= "2022-01-01"


@pytest.mark.filterwarnings("ignore")  # the library's own, under a newer pandas
def test_a_factor_is_accepted_by_alphalens(root: Path) -> None:
    run = datasets.open(root)[ONE]
    factor = run.factor()
    assert factor.index.names == ["date", "asset"]
    decisions = run.scan("decisions").collect().drop_nulls("score")
    assert len(factor) == decisions.height
    day, name = decisions["date"][-1], decisions["symbol"][-1]
    assert factor.loc[(str(day), name)] == decisions["score"][-1]
    days = factor.index.get_level_values("date").unique()
    rng = np.random.default_rng(1)
    prices = pd.DataFrame(
        100 * np.exp(np.cumsum(rng.normal(0, 0.01, (len(days), 24)), axis=0)),
        index=days, columns=sorted(factor.index.get_level_values("asset").unique())[:24],
    )  # fmt: skip
    made = alphalens.utils.get_clean_factor_and_forward_returns(
        factor, prices, quantiles=3, periods=(1,), max_loss=1.0
    )
    assert made.index.names == ["date", "asset"]
    assert len(made) > 100
    with pytest.raises(KindNotPublished, match="raw_score"):
        datasets.open(root)[OTHER].factor("raw_score")


@pytest.mark.parametrize("adjusted", [True, False])
def test_a_benchmark_equals_the_served_one(
    root: Path, tmp_path: Path, adjusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = datasets.open(root)[ONE]
    sessions = run.scan("portfolio", "long_short").collect()["date"]
    days = pl.date_range(sessions[0].replace(month=1, day=1), sessions[-1], eager=True)
    close = 300 * np.exp(np.cumsum(np.random.default_rng(2).normal(0, 0.01, len(days))))
    frame = pl.DataFrame({"date": days, "symbol": "SPY", "close": close})
    if adjusted:
        frame = frame.with_columns(adj_close=pl.col("close") * 0.9 + pl.int_range(pl.len()) / 100)
    frame.write_parquet(tmp_path / "spy.parquet")
    served = measure(
        read_benchmarks({"spy": (tmp_path / "spy.parquet").read_bytes()})["SPY"], sessions[0], sessions[-1]
    )
    result = run.benchmark(tmp_path / "spy.parquet")
    assert result.columns == served.rows.columns
    for name in ("date", "close"):
        assert result[name].equals(served.rows[name])
    assert result["period_return"][1:].equals(served.rows["period_return"][1:])
    assert result["period_return"][0] == served.summary["first_return"]
    assert result["cumulative_return"][-1] == pytest.approx(served.summary["total_return_from_previous"])
    price = frame["adj_close" if adjusted else "close"].to_numpy()[
        days.is_between(sessions[0] - dt.timedelta(1), sessions[-1])
    ]
    assert result["drawdown_pct"].to_numpy() == pytest.approx(
        (1 - price / np.maximum.accumulate(price))[1:] * 100, abs=1e-9
    )
    assert run.benchmark(tmp_path, symbol="spy").equals(result)
    monkeypatch.setenv("ALPHA_RESULTS_MARKET_DATA", str(tmp_path))
    assert run.benchmark().equals(result)
    frame.filter(pl.col("date") >= sessions[0]).write_parquet(tmp_path / "spy.parquet")
    assert run.benchmark().equals(served.rows), "without a close before, as the rows that are served"


def test_a_missing_benchmark_is_named(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = datasets.open(root)[ONE]
    monkeypatch.delenv("ALPHA_RESULTS_MARKET_DATA", raising=False)
    with pytest.raises(SettingsError, match="ALPHA_RESULTS_MARKET_DATA"):
        run.benchmark()
    with pytest.raises(SettingsError, match="nowhere"):
        run.benchmark(tmp_path / "nowhere.parquet")
    prices = contract_app.market_data(tmp_path)
    with pytest.raises(SettingsError, match=r"holds no row of QQQ; it has .* SPY"):
        run.benchmark(prices, symbol="QQQ")
    rows = pl.read_parquet(prices).drop("symbol")
    many = pl.concat([rows.with_columns(symbol=pl.lit(f"S{number}")) for number in range(9)])
    many.write_parquet(tmp_path / "many.parquet")
    for symbol in (None, "QQQ"):
        with pytest.raises(SettingsError, match=r"9 symbols: S0, S1, S2, S3, S4, …"):
            run.benchmark(tmp_path / "many.parquet", symbol=symbol)
    pl.read_parquet(prices).drop("close").write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(SettingsError, match="close"):
        run.benchmark(tmp_path / "bad.parquet")


def test_the_only_series_is_the_benchmark_of_exposures(root: Path, tmp_path: Path) -> None:
    prices = pl.read_parquet(contract_app.market_data(tmp_path)).filter(pl.col("symbol") == "SPY")
    prices.with_columns(symbol=pl.lit("OWN")).write_parquet(tmp_path / "own.parquet")
    (model,) = datasets.open(root)[ONE].exposures(tmp_path / "own.parquet")["models"]
    assert model["name"] == "OWN"


def test_an_empty_variable_is_no_market_data(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MARKET_DATA", "FACTORS"):
        monkeypatch.setenv(f"ALPHA_RESULTS_{name}", "")
    assert datasets.open(root)[ONE].exposures()["withheld"] == {
        "benchmarks": "no market data were given",
        "factors": "no file of factors was given",
    }


def test_units_list_the_columns_of_a_run(root: Path) -> None:
    units = datasets.open(root)[OTHER].units()
    names = set(units.select("table", "column").iter_rows())
    assert ("decisions", "score") in names
    assert ("decisions", "entry_at") not in names
    assert ("decisions", "raw_score") not in names
    row = units.filter(table="positions", column="weight").row(0, named=True)
    declared = PUBLISHED_TABLES["positions"]["weight"]
    assert (row["unit"], row["meaning"], row["type"]) == (
        declared.unit.value,
        declared.meaning,
        declared.type.value,
    )


def test_a_missing_or_invalid_root_is_an_error(root: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="nowhere: there is no such folder"):
        datasets.open(tmp_path / "nowhere")
    with pytest.raises(SettingsError, match="holds no catalog/"):
        datasets.open(root.parent)
    (tmp_path / "new").mkdir()
    new = datasets.open(tmp_path / "new")
    assert list(new) == []
    assert new.list().schema == datasets.open(root).list().schema

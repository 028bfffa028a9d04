"""Frames contain the API's rows with dates, timestamps and declared types."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import warnings
from typing import Any

import httpx
import pandas as pd
import polars as pl
import pytest
from alpha_results_client import AsyncClient, Client, ResultsWarning, Table, collect
from alpha_results_client.declared import ENDPOINTS, ROWS

from tests.client.conftest import Service
from tests.support.contract_app import BARE, EMPTY, FULL, PLAIN

POLARS = {
    "date": pl.Date, "instant": pl.Datetime("us", "UTC"), "text": pl.String, "float": pl.Float64, "int": pl.Int64,
    "bool": pl.Boolean, "texts": pl.List(pl.String), "objects": pl.List,
}  # fmt: skip
PANDAS = {"date": "datetime64[us]", "instant": "datetime64[us, UTC]", "text": "string", "float": "float64", "int": "Int64",
          "bool": "boolean", "texts": "object", "objects": "object"}  # fmt: skip
COLLECTIONS = [name for name, entry in ENDPOINTS.items() if entry.collection]
QUERIES: dict[str, dict[str, Any]] = {
    "portfolio.trades": {"book": "long_short"},
    "benchmarks.daily": {"symbol": "SPY"},
}


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "PAGE", 97)


def parameters(service: Service, endpoint: str) -> dict[str, Any]:
    entry = ENDPOINTS[endpoint]
    result = dict(QUERIES.get(endpoint, {}))
    if "alpha" in entry.in_path:
        result["alpha"] = FULL
    if "date" in entry.in_path:
        result["date"] = served_rows(service, "signals.rebalances.list", {"alpha": FULL})[20]["date"]
    if endpoint == "signals.scores":
        result["fields"] = "all"
    return result


def served_rows(service: Service, endpoint: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows as the API sends them, read without the client."""
    entry = ENDPOINTS[endpoint]
    path = entry.path.format(**{name: given[name] for name in entry.in_path})
    query = {name: value for name, value in given.items() if name not in entry.in_path}
    headers = {"authorization": f"Bearer {service.keys['administrator']}"}
    rows: list[dict[str, Any]] = []
    while True:
        answer = httpx.get(
            f"{service.address}{path}", params={**query, "limit": 5000, "offset": len(rows)}, headers=headers
        )
        rows += answer.json()["data"]
        if not answer.json()["pagination"]["has_more"]:
            return rows


def as_sent(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "date":
        return dt.date.fromisoformat(value)
    return dt.datetime.fromisoformat(value) if kind == "instant" else value


def at(row: dict[str, Any], name: str) -> Any:
    result: Any = row
    for part in name.split("."):
        result = result.get(part) if isinstance(result, dict) else None
    return result


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("endpoint", [name for name in COLLECTIONS if name != "meta.keys"])
def test_a_polars_frame_is_every_row_of_the_interface_with_its_declared_type(
    service: Service, endpoint: str, *, links: bool
) -> None:
    given = parameters(service, endpoint)
    expected = served_rows(service, endpoint, given)
    with Client(service.address, service.keys["administrator"], links=links) as client:
        frame = client.table(endpoint, **given).frame
    entry = ENDPOINTS[endpoint]
    declared = {x.name: x.type for x in ROWS[entry.full_row if given.get("fields") == "all" else entry.row]}
    assert dict(frame.schema) == {name: POLARS[declared[name]] for name in frame.columns}
    assert frame.columns == [name for name in declared if any(name.split(".")[0] in row for row in expected)]
    assert frame.rows() == [
        tuple(as_sent(at(row, x), declared[x]) for x in frame.columns) for row in expected
    ]


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("endpoint", COLLECTIONS)
def test_pandas_and_polars_frames_are_equal(service: Service, endpoint: str) -> None:
    given = parameters(service, endpoint)
    key = service.keys["administrator"]
    with Client(service.address, key) as one, Client(service.address, key, frames="pandas") as other:
        expected, actual = one.table(endpoint, **given).frame, other.table(endpoint, **given).frame
    assert isinstance(actual, pd.DataFrame)
    assert list(actual.columns) == expected.columns
    entry = ENDPOINTS[endpoint]
    declared = {x.name: x.type for x in ROWS[entry.full_row if given.get("fields") == "all" else entry.row]}
    assert {name: str(kind) for name, kind in actual.dtypes.items()} == {
        x: PANDAS[declared[x]] for x in actual.columns
    }
    for name in actual.columns:
        if name.startswith("usage."):
            continue  # this test's own calls are counted meanwhile
        values = [None if not isinstance(x, list) and pd.isna(x) else x for x in actual[name]]
        values = [x.date() if declared[name] == "date" and x is not None else x for x in values]
        assert values == expected[name].to_list(), name


@pytest.mark.parametrize("endpoint", COLLECTIONS)
def test_every_frame_can_be_written_to_parquet(service: Service, endpoint: str) -> None:
    with Client(service.address, service.keys["administrator"]) as client:
        frame = client.table(endpoint, **parameters(service, endpoint)).frame
    written = io.BytesIO()
    frame.write_parquet(written)
    assert pl.read_parquet(written.getvalue()).equals(frame)


def test_columns_are_omitted_if_a_run_or_a_key_lacks_them(service: Service) -> None:
    with Client(service.address, service.keys["raw"]) as client:
        full, plain = client[FULL].scores(fields="all"), client[PLAIN].scores(fields="all")
    with Client(service.address, service.keys["reader"]) as client:
        seen = client[FULL].scores(fields="all")
    assert {"entry_at", "raw_score"} <= set(full.columns)
    assert "entry_at" not in plain.columns
    assert seen.columns == [name for name in full.columns if not name.startswith("raw_")]


def test_an_empty_table_has_its_columns_and_a_missing_table_warns(service: Service) -> None:
    with Client(service.address, service.keys["raw"]) as client:
        with pytest.warns(ResultsWarning, match="kind_missing") as caught:
            frame = client[BARE].rebalances()
        assert {entry.filename for entry in caught} == {__file__}, "a warning is shown at the caller's line"
        assert frame.schema == {"date": pl.Date, "week_status": pl.String}
        assert frame.is_empty()
        with pytest.warns(ResultsWarning, match="kind_missing"):
            assert client.table("signals.scores", alpha=BARE).frame.is_empty()
        with pytest.warns(ResultsWarning, match="kind_missing"):
            assert client[EMPTY].scores().is_empty()


@pytest.mark.filterwarnings("ignore:unknown_symbol")
@pytest.mark.parametrize("key", ["raw", "reader"])
@pytest.mark.parametrize("frames", ["polars", "pandas"])
def test_a_query_without_rows_has_the_columns_of_one_with_rows(
    service: Service, key: str, frames: Any
) -> None:
    with Client(service.address, service.keys[key], frames=frames) as client:
        for run in (client[FULL], client[PLAIN]):
            date = served_rows(service, "signals.rebalances.list", {"alpha": run.alpha})[20]["date"]
            for all_rows, no_rows in (
                (run.scores(), run.scores(start="2000-01-01", end="2000-01-31")),
                (run.scores(fields="all"), run.scores(fields="all", symbols="NOBODY")),
                (run.rebalances(), run.rebalances(end="2000-01-31")),
                (run.pnl("long_short"), run.pnl("long_short", end="2000-01-31")),
                (run.rebalance(date), run.rebalance(date, symbols="NOBODY")),
            ):
                assert len(all_rows), "only a table with rows shows its columns"
                assert len(no_rows) == 0
                assert list(no_rows.columns) == list(all_rows.columns)
                assert list(no_rows.dtypes) == list(all_rows.dtypes)


def test_objects_have_real_dates_and_instants(service: Service) -> None:
    with Client(service.address, service.keys["raw"]) as client:
        assert client.health()["time"].tzinfo is dt.UTC
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResultsWarning)
            metrics = client[FULL].metrics(start="2019-06-03", panel=True)
        assert metrics["window"]["from"] == dt.date(2019, 6, 3)
        assert isinstance(client[FULL].table("portfolio.equity_curve").meta["summary"]["first_date"], dt.date)
        assert client.me()["rate_limit"]["per_second"] == 100_000


def test_metrics_are_returned_as_a_table(service: Service) -> None:
    with Client(service.address, service.keys["raw"]) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResultsWarning)
        frame = client[FULL].metrics_frame(granularity="yearly")
        result = client[FULL].metrics(granularity="yearly")
    overall = frame.filter(pl.col("period").is_null())
    assert overall.filter(name="core.ic")["value"].item() == result["core"]["ic"]["value"]
    last = result["periods"][-1]
    by_year = frame.filter(period=last["period"], name="core.pnl")
    assert by_year["value"].item() == last["core"]["pnl"]["value"]
    assert by_year["unit"].item() == last["core"]["pnl"]["unit"]


def test_a_window_adds_rows_to_the_metrics_table(service: Service) -> None:
    with Client(service.address, service.keys["raw"]) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResultsWarning)
        days = client[FULL].equity_curve()["date"]
        first, last = days[len(days) // 3], days[-5]
        frame = client[FULL].metrics_frame(**{"from": first, "to": last}, granularity="yearly")
        within = client[FULL].metrics(start=first, end=last, granularity="yearly")["within_window"]
        assert client[FULL].metrics_frame(start=first, end=last, granularity="yearly").equals(frame)
    overall = frame.filter(pl.col("period").is_null())
    assert overall.filter(name="within_window.core.pnl")["value"].item() == within["core"]["pnl"]["value"]
    assert overall.filter(name="core.pnl")["value"].item() != within["core"]["pnl"]["value"]
    first = within["periods"][0]
    by_year = frame.filter(period=first["period"], name="within_window.core.pnl")
    assert by_year["value"].item() == first["core"]["pnl"]["value"]


def test_both_clients_return_the_same(service: Service) -> None:
    key = service.keys["raw"]

    async def fetch() -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Any], Table[pl.DataFrame], str | None]:
        async with AsyncClient(service.address, key) as client:
            run = client[FULL]
            scores, trades = await asyncio.gather(run.scores(), run.trades("long_only"))
            pinned = await run.pinned()
            return (
                scores,
                trades,
                await client.me(),
                await pinned.table("portfolio.equity_curve"),
                pinned.snapshot,
            )

    scores, trades, me, equity, snapshot = asyncio.run(fetch())
    with Client(service.address, key) as client:
        run = client[FULL]
        assert scores.equals(run.scores())
        assert trades.equals(run.trades("long_only"))
        assert me["key_id"] == client.me()["key_id"]
        assert equity.frame.equals(run.equity_curve())
        assert snapshot == run.pinned().snapshot == equity.meta["snapshot"]


def test_a_pinned_run_lists_and_compares_all_snapshots_of_its_alpha(service: Service) -> None:
    with Client(service.address, service.keys["raw"]) as client:
        run = client[FULL]
        pinned = run.pinned()
        assert pinned.snapshots().equals(run.snapshots())
        assert pinned.table("research.snapshots.list").frame.equals(run.snapshots())
        ends = {"from_snapshot": pinned.snapshot, "to_snapshot": pinned.snapshot}
        assert pinned.compare_snapshots(**ends) == run.compare_snapshots(**ends)

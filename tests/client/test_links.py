"""Large tables are downloaded by link and equal the paged ones."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import polars as pl
import pytest
from alpha_results_client import (
    AsyncClient,
    Client,
    collect,
)
from alpha_results_client.declared import ENDPOINTS
from polars.testing import assert_frame_equal

from tests.client.conftest import Service
from tests.client.tampering import BrokenStream, TamperingTransport
from tests.support.contract_app import FULL, PLAIN

BY_TABLE = [name for name, entry in ENDPOINTS.items() if entry.table]
QUERIES: dict[str, dict[str, Any]] = {
    "everything": {},
    "a window": {"from": dt.date(2021, 10, 1), "to": "2022-03-07"},
    "an open window": {"from": "2021-12-01"},
    "names": {"symbol": ["SIM003", "SIM001", "NOBODY"]},
    "one name in a window": {"symbol": "SIM002", "to": dt.datetime(2022, 1, 31, 15, 0)},  # noqa: DTZ001 - of which the day counts
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pages, so that nearly everything is downloaded by link."""
    monkeypatch.setattr(collect, "PAGE", 7)


def queries(endpoint: str) -> Iterator[dict[str, Any]]:
    taken = ENDPOINTS[endpoint].query
    for query in QUERIES.values():
        if set(query) <= set(taken):
            yield {**query, "book": "long_only"} if "book" in taken else query


@pytest.mark.usefixtures("small")
@pytest.mark.filterwarnings("ignore::alpha_results_client.ResultsWarning")
@pytest.mark.parametrize("key", ["raw", "reader"])
@pytest.mark.parametrize("endpoint", BY_TABLE)
def test_a_downloaded_table_equals_the_paged_one(service: Service, endpoint: str, key: str) -> None:
    by_link = 0
    token = service.keys[key]
    with (
        Client(service.address, token) as client, Client(service.address, token, links=False) as paging,
        Client(service.address, token, frames="pandas") as pandas,
        Client(service.address, token, frames="pandas", links=False) as paging_pandas,
    ):  # fmt: skip
        for alpha in (FULL, PLAIN):
            for given in queries(endpoint):
                for fields in ({"fields": "core"}, {"fields": "all"}) if "scores" in endpoint else ({},):
                    query: dict[str, Any] = {"alpha": alpha, **given, **fields}
                    actual, expected = client.table(endpoint, **query), paging.table(endpoint, **query)
                    assert expected.fetched_by == "pages"
                    assert_frame_equal(actual.frame, expected.frame)
                    assert actual.meta == expected.meta
                    by_link += actual.fetched_by == "link"
                    pd.testing.assert_frame_equal(
                        pandas.table(endpoint, **query).frame, paging_pandas.table(endpoint, **query).frame
                    )
    assert by_link >= 6


def test_every_large_table_is_downloaded_by_link() -> None:
    assert BY_TABLE == [
        "signals.rebalances.list", "signals.scores", "portfolio.ledger", "portfolio.positions", "portfolio.pnl",
        "portfolio.trades",
    ]  # fmt: skip


def test_a_table_takes_one_call_and_one_download_without_the_key(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    tampering = TamperingTransport()
    with Client(service.address, service.keys["raw"], transport=tampering) as client:
        frame = client[FULL].positions()
    assert tampering.calls == [f"/v1/alphas/{FULL}/tables/positions/download"]
    (file,) = tampering.files
    assert "authorization" not in file.headers
    assert service.keys["raw"] not in repr(file.headers.raw)
    signature = file.url.params["signature"]
    assert signature not in caplog.text, "a link is a credential"
    assert file.url.path in caplog.text
    with Client(service.address, service.keys["raw"], links=False) as client:
        assert_frame_equal(frame, client[FULL].positions())


def test_the_asynchronous_client_downloads_by_link_and_resumes(
    service: Service,
) -> None:
    broken: list[int] = []

    def change(request: httpx.Request, body: bytes) -> httpx.Response | None:
        if not request.url.path.startswith("/files") or broken:
            return None
        broken.append(1)
        return httpx.Response(200, headers={"etag": etag_of(body)}, stream=BrokenStream(body[:1000]))

    tampering = TamperingTransport(change)

    async def fetch() -> pl.DataFrame:
        async with AsyncClient(service.address, service.keys["raw"], transport=tampering) as client:
            return await client[FULL].scores(fields="all")

    frame = asyncio.run(fetch())
    assert [x.headers.get("range") for x in tampering.files] == [None, "bytes=1000-"]
    assert len(tampering.calls) == 1
    with Client(service.address, service.keys["raw"], links=False) as client:
        assert_frame_equal(frame, client[FULL].scores(fields="all"))


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()}"'


@pytest.mark.usefixtures("no_waits")
@pytest.mark.parametrize("etag", [True, False])
def test_a_broken_download_resumes(service: Service, *, etag: bool) -> None:
    sent: list[int] = []

    def change(request: httpx.Request, body: bytes) -> httpx.Response | None:
        if not request.url.path.startswith("/files") or len(sent) == 6:
            return None
        sent.append(1)
        status = 206 if "range" in request.headers else 200
        span = {"content-range": f"bytes {at}-/*"} if (at := 500 * (len(sent) - 1)) and etag else {}
        tag = {"etag": whole_etag} if etag else {}
        return httpx.Response(status, headers={**span, **tag}, stream=BrokenStream(body[:500]))

    with Client(service.address, service.keys["raw"]) as client:
        link = client[FULL].tables_download("trades", "long_short")
        expected = client[FULL].trades("long_short")
    whole_etag = f'"{link["sha256"]}"'
    tampering = TamperingTransport(change)
    # Each attempt makes progress, so none counts as a failed retry.
    retries = 1 if etag else 6
    with Client(service.address, service.keys["raw"], transport=tampering, retries=retries) as client:
        assert_frame_equal(client[FULL].trades("long_short"), expected)
    ranges = [x.headers.get("range") for x in tampering.files]
    assert ranges == ([None, *(f"bytes={500 * n}-" for n in range(1, 7))] if etag else [None] * 7)
    assert len(tampering.calls) == 1


@pytest.mark.usefixtures("no_waits")
def test_a_download_that_broke_after_its_last_byte_is_complete(service: Service) -> None:
    sent: list[int] = []

    def change(request: httpx.Request, body: bytes) -> httpx.Response | None:
        if not request.url.path.startswith("/files") or sent:
            return None
        sent.append(len(body))  # a proxy sends it in chunks, and its end is lost
        return httpx.Response(200, headers={"etag": etag_of(body)}, stream=BrokenStream(body))

    with Client(service.address, service.keys["raw"], links=False) as client:
        expected = client[FULL].trades("long_short")
    tampering = TamperingTransport(change)
    with Client(service.address, service.keys["raw"], transport=tampering) as client:
        assert_frame_equal(client[FULL].trades("long_short"), expected)
    assert [x.headers.get("range") for x in tampering.files] == [None, f"bytes={sent[0]}-"]
    assert len(tampering.calls) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: body[:-1] + bytes([body[-1] ^ 1]), lambda body: body + b"more", lambda body: body[: len(body) // 2],
        lambda _: b"",
    ],
)  # fmt: skip
def test_a_damaged_download_is_never_used(
    service: Service, caplog: pytest.LogCaptureFixture, damage: Callable[[bytes], bytes]
) -> None:
    caplog.set_level(logging.INFO, "alpha_results_client")

    def change(request: httpx.Request, body: bytes) -> httpx.Response | None:
        is_file = request.url.path.startswith("/files")
        return httpx.Response(200, content=damage(body)) if is_file else None

    with Client(service.address, service.keys["raw"], links=False) as client:
        expected = client[FULL].pnl()
    tampering = TamperingTransport(change)
    with Client(service.address, service.keys["raw"], transport=tampering) as client:
        assert_frame_equal(client[FULL].pnl(), expected)
    assert tampering.calls[-1] == f"/v1/alphas/{FULL}/pnl"
    assert len(tampering.files) == 1
    assert "by pages: the file fetched by link is not the one described" in caplog.text


def test_a_downloaded_table_is_cached_by_digest(service: Service, tmp_path: Path) -> None:
    tampering = TamperingTransport()
    for key in ("raw", "reader", "raw"):
        for _ in range(2):
            with Client(
                service.address, service.keys[key], cache=tmp_path, transport=TamperingTransport()
            ) as client:
                expected = client[FULL].positions("long_only")
    stored = max(tmp_path.iterdir(), key=lambda path: path.stat().st_size)
    assert stored.stat().st_mode & 0o077 == 0
    with Client(service.address, service.keys["raw"], cache=tmp_path, transport=tampering) as client:
        assert_frame_equal(client[FULL].positions("long_only"), expected)
    assert (len(tampering.calls), tampering.files) == (1, [])
    stored.write_bytes(stored.read_bytes()[:-5])
    again = TamperingTransport()
    with Client(service.address, service.keys["raw"], cache=tmp_path, transport=again) as client:
        assert_frame_equal(client[FULL].positions("long_only"), expected)
    assert len(again.files) == 1
    with Client(service.address, service.keys["raw"], cache=tmp_path, cache_bytes=100_000) as client:
        for book in ("long_short", "long_only"):
            client[FULL].pnl(book)
            client[FULL].trades(book)
        client[FULL].scores()
    assert sum(x.stat().st_size for x in tmp_path.iterdir()) <= 100_000

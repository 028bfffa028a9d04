"""Large tables are downloaded by link and equal the paged ones."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import polars as pl
import pytest
from alpha_results_client import (
    AsyncClient,
    Client,
    InvalidRequest,
    NoAnswer,
    NotFound,
    RateLimited,
    SnapshotNotFound,
    collect,
    exchange,
    parquet,
)
from alpha_results_client.declared import ENDPOINTS, STORED_COLUMNS
from polars.testing import assert_frame_equal

from tests.client.conftest import Service
from tests.support.contract_app import FULL, PLAIN, UNDECIDED

BY_TABLE = [name for name, entry in ENDPOINTS.items() if entry.table]
QUERIES: dict[str, dict[str, Any]] = {
    "everything": {},
    "a window": {"from": dt.date(2021, 10, 1), "to": "2022-03-07"},
    "an open window": {"from": "2021-12-01"},
    "names": {"symbol": ["SIM003", "SIM001", "NOBODY"]},
    "one name in a window": {"symbol": "SIM002", "to": dt.datetime(2022, 1, 31, 15, 0)},  # noqa: DTZ001 - of which the day counts
}


class TamperingTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Forwards requests to the real service, records them, and changes answers of files and links."""

    def __init__(self, change: Callable[[httpx.Request, bytes], httpx.Response | None] | None = None) -> None:
        self._inner = httpx.HTTPTransport()
        self._change = change or (lambda *_: None)
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._inner.handle_request(request)
        body = b"".join(answer.stream)  # type: ignore[arg-type]  # as it was sent
        answer.close()
        sent = httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(body))
        return self._change(request, body) or sent

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await asyncio.to_thread(self.handle_request, request)

    def close(self) -> None:
        self._inner.close()

    async def aclose(self) -> None:
        self.close()

    @property
    def calls(self) -> list[str]:
        return [x.url.path for x in self.requests if x.url.path.startswith("/v1")]

    @property
    def files(self) -> list[httpx.Request]:
        return [x for x in self.requests if x.url.path.startswith("/files")]


class BrokenStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body whose connection breaks."""

    def __init__(self, begun: bytes) -> None:
        self._begun = begun

    def __iter__(self) -> Iterator[bytes]:
        yield self._begun
        raise httpx.ReadError("the connection broke")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._begun
        raise httpx.ReadError("the connection broke")


def refusal(status: int, code: str) -> httpx.Response:
    envelope = {"code": code, "message": "A sentence.", "details": None, "request_id": "r-1"}
    return httpx.Response(status, json={"error": envelope})


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pages, so that nearly everything is downloaded by link."""
    monkeypatch.setattr(collect, "PAGE", 7)


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "backoff_seconds", lambda _: 0.0)


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


@pytest.mark.parametrize(
    ("status", "code"), [(403, "link_expired"), (429, "link_bytes_exceeded"), (401, "unauthorized")]
)
@pytest.mark.usefixtures("no_waits")
def test_a_refused_download_falls_back_to_pages(
    service: Service, caplog: pytest.LogCaptureFixture, status: int, code: str
) -> None:
    caplog.set_level(logging.INFO, "alpha_results_client")
    tampering = TamperingTransport(
        lambda x, _: refusal(status, code) if x.url.path.startswith("/files") else None
    )
    with Client(service.address, service.keys["raw"], transport=tampering) as client:
        assert client[FULL].scores().height > 100
    assert f"by pages: the link failed: {code}" in caplog.text


@pytest.mark.parametrize(
    ("status", "code"), [(403, "endpoint_not_allowed"), (404, "not_found"), (404, "method_not_allowed")]
)
def test_after_a_refused_link_the_client_requests_no_other(
    service: Service, caplog: pytest.LogCaptureFixture, status: int, code: str
) -> None:
    caplog.set_level(logging.INFO, "alpha_results_client")
    tampering = TamperingTransport(
        lambda x, _: refusal(status, code) if x.url.path.endswith("/download") else None
    )
    with Client(service.address, service.keys["raw"], transport=tampering) as client:
        frames = [client[FULL].scores(), client[FULL].positions()]
    assert [x.endswith("/download") for x in tampering.calls] == [True, False, False]
    assert f"signals.scores of {FULL} by pages: {code}" in caplog.text
    with Client(service.address, service.keys["raw"]) as client:
        assert_frame_equal(frames[0], client[FULL].scores())
        assert_frame_equal(frames[1], client[FULL].positions())


@pytest.mark.filterwarnings("ignore::alpha_results_client.ResultsWarning")
def test_after_a_wrong_name_or_a_missing_table_others_are_still_downloaded_by_link(service: Service) -> None:
    tampering = TamperingTransport()
    with Client(service.address, service.keys["raw"], transport=tampering) as client:
        assert client[UNDECIDED].scores().is_empty()
        with pytest.raises(InvalidRequest) as book:
            client[FULL].positions("long_shot")
        with pytest.raises(NotFound) as alpha:
            client[f"{FULL}s"].scores()
        tampering.requests.clear()
        assert client[FULL].positions("long_short").height > 100
    assert "long_short" in book.value.suggestions
    assert FULL in alpha.value.suggestions
    assert tampering.calls == [f"/v1/alphas/{FULL}/tables/positions/download"]


def test_links_and_pages_are_refused_alike(service: Service) -> None:
    tampering = TamperingTransport(lambda *_: refusal(429, "quota_exceeded"))
    with Client(service.address, service.keys["raw"], transport=tampering, retries=0) as client:
        with pytest.raises(RateLimited):
            client[FULL].scores()
        assert len(tampering.calls) == 1, "a call that is refused is not made twice"


def test_an_invalid_choice_of_columns_is_refused_though_a_file_has_none(service: Service) -> None:
    with (
        Client(service.address, service.keys["raw"]) as client,
        pytest.raises(InvalidRequest, match="one of core, all"),
    ):
        client[FULL].scores(fields="al")  # type: ignore[arg-type]


@pytest.mark.usefixtures("no_waits")
def test_an_unreachable_download_host_is_given_up_quickly(service: Service) -> None:
    def change(request: httpx.Request, _: bytes) -> None:
        if request.url.path.startswith("/files"):
            raise httpx.ConnectTimeout("no such host here")

    tampering = TamperingTransport(change)
    with Client(service.address, service.keys["raw"], transport=tampering) as client:
        assert client[FULL].scores().height > 100
        assert client[PLAIN].scores().height > 100
    assert len(tampering.files) == 2
    assert len([x for x in tampering.calls if x.endswith("/download")]) == 1


def test_without_a_parquet_reader_tables_are_paged(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "alpha_results_client")
    monkeypatch.setitem(parquet.READERS, "pandas", "no_such_module")
    tampering = TamperingTransport()
    with Client(service.address, service.keys["raw"], frames="pandas", transport=tampering) as client:
        assert len(client[FULL].scores()) > 100
    with Client(service.address, service.keys["raw"], frames="rows", transport=tampering) as client:
        assert len(client[FULL].scores()) > 100
    assert tampering.calls == [f"/v1/alphas/{FULL}/scores"] * 2
    assert "by pages: no_such_module is not installed" in caplog.text


def test_a_file_with_unknown_columns_falls_back_to_pages(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tuple(x for x in STORED_COLUMNS["decisions"] if x != "score_z")
    monkeypatch.setitem(STORED_COLUMNS, "decisions", known)
    tampering = TamperingTransport()
    with Client(service.address, service.keys["raw"], transport=tampering) as client:
        assert "score_z" in client[FULL].scores().columns
        assert "score_z" in client[PLAIN].scores().columns
    assert [x.rpartition("/")[2] for x in tampering.calls] == ["download", "scores", "scores"]


def test_a_small_table_is_paged(service: Service) -> None:
    tampering = TamperingTransport()
    with Client(service.address, service.keys["raw"], transport=tampering) as client:
        client[FULL].scores(symbols="SIM001")
        client[FULL].rebalances()
        client[FULL].portfolio()
        client[FULL].rebalance(client[FULL].rebalances()["date"][5])
    assert not tampering.files
    assert not [x for x in tampering.calls if "download" in x]


def test_a_removed_snapshot_is_an_error_only_if_the_caller_named_it(
    service: Service,
) -> None:
    def change(request: httpx.Request, _: bytes) -> httpx.Response | None:
        gone = request.url.path.endswith("/download")
        return refusal(404, "snapshot_not_found") if gone else None

    with Client(service.address, service.keys["raw"], transport=TamperingTransport(change)) as client:
        assert client[FULL].scores().height > 100
        snapshot = client[FULL].table("portfolio.books").meta["snapshot"]
    with (
        Client(service.address, service.keys["raw"], transport=TamperingTransport(change)) as client,
        pytest.raises(SnapshotNotFound),
    ):
        client.run(FULL, snapshot=snapshot).scores()


def test_an_unavailable_service_is_not_retried_by_both_paths() -> None:
    tried: list[httpx.Request] = []

    def away(request: httpx.Request) -> httpx.Response:
        tried.append(request)
        raise httpx.ConnectError("refused")

    with (
        Client("http://service.invalid", "k" * 20, retries=0, transport=httpx.MockTransport(away)) as client,
        pytest.raises(NoAnswer),
    ):
        client[FULL].scores()
    assert len(tried) == 1


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


def test_an_http_link_of_an_https_service_is_not_followed(service: Service) -> None:
    def pretending(request: httpx.Request) -> httpx.Response:
        requested.append(str(request.url))
        with httpx.Client() as plain:
            return plain.get(f"{service.address}{request.url.raw_path.decode()}", headers=request.headers)

    requested: list[str] = []
    with Client(
        "https://service.invalid", service.keys["raw"], transport=httpx.MockTransport(pretending)
    ) as client:
        assert client[FULL].scores().height > 100
    assert not [x for x in requested if "/files" in x]


@pytest.mark.filterwarnings("ignore::alpha_results_client.ResultsWarning")
def test_a_run_without_the_table_is_answered_by_a_page(service: Service) -> None:
    with Client(service.address, service.keys["raw"]) as client:
        assert client[UNDECIDED].scores().is_empty()

"""Tables that are paged although a link was expected, and refusals on both paths."""

from __future__ import annotations

import logging

import httpx
import pytest
from alpha_results_client import (
    Client,
    InvalidRequest,
    NoAnswer,
    NotFound,
    RateLimited,
    SnapshotNotFound,
    parquet,
)
from alpha_results_client.declared import STORED_COLUMNS
from polars.testing import assert_frame_equal

from tests.client.conftest import Service
from tests.client.tampering import TamperingTransport, refusal
from tests.support.contract_app import FULL, PLAIN, UNDECIDED


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

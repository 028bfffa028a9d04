"""Endpoints that are no object store: commands name them, and take none for an empty root."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from schemas.errors import SettingsError, StorageUnavailable
from tests.support.pipeline_command import run_pipeline
from tests.support.ports import free_ports

ROOT = "s3://results/root"


@pytest.fixture
def website() -> Iterator[str]:
    """Return the address of a server without any page."""

    class Nothing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()

        do_HEAD = do_PUT = do_POST = do_GET  # noqa: N815 - names of the library

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Nothing) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDOFNOBODY")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-no-use-anywhere")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


def test_a_server_that_is_no_store_is_not_an_empty_root(
    website: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", website)
    result = run_pipeline("list", ROOT)
    assert result.exit_code == StorageUnavailable.exit_code
    assert f"there is no bucket for {ROOT} at {website}" in result.output


def test_a_port_that_nobody_listens_on_is_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    (port,) = free_ports(1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    result = run_pipeline("list", ROOT)
    assert result.exit_code == StorageUnavailable.exit_code
    assert f"the store of {ROOT} at http://127.0.0.1:{port} did not answer" in result.output
    assert "Connect call failed" in result.output


@pytest.mark.parametrize("address", ["localhost:9000", "http://", "ftp://store", "http://me@store:9000"])
def test_an_endpoint_that_is_no_address_is_refused_by_its_variable(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    result = run_pipeline("list", ROOT)
    assert result.exit_code == SettingsError.exit_code
    assert "AWS_ENDPOINT_URL is not the address of a store: write http://host:port" in result.output

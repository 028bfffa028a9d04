"""Requests on a connection: pipelined, in pieces, with bodies, unread."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support import plain_http, published
from tests.support.server import served
from tests.support.waiting import eventually

WEEK = f"/v1/alphas/{published.ALPHA}/rebalances/2020-01-03"
SCORES = f"/v1/alphas/{published.ALPHA}/scores"
LEDGER = f"/v1/alphas/{published.ALPHA}/portfolio"
METRICS = f"/v1/alphas/{published.ALPHA}/metrics"


@pytest.fixture(scope="module")
def base(server_root: Path, token: str) -> Iterator[str]:
    """Return a running server with week, scores and ledger cached."""
    with served(server_root) as (_, address):
        headers = {"authorization": f"Bearer {token}"}
        with plain_http.connect(base_url=address, headers=headers) as client:
            for path in (WEEK, SCORES, LEDGER):
                assert client.get(path).status_code == 200
        yield address


@pytest.fixture
def wire(base: str) -> Iterator[socket.socket]:
    address = urlsplit(base)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=60) as connected:
        yield connected


def request(path: str, token: str, *more: str, method: str = "GET", version: str = "1.1") -> bytes:
    lines = [f"{method} {path} HTTP/{version}", "Host: here", f"Authorization: Bearer {token}", *more, "", ""]
    return "\r\n".join(lines).encode()


def answer(stream: BufferedReader) -> tuple[int, dict[str, str], Any]:
    status = int(stream.readline().split()[1])
    headers: dict[str, str] = {}
    while (line := stream.readline().decode().strip()) != "":
        name, _, value = line.partition(":")
        headers[name] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return status, headers, json.loads(body) if body else None


def test_pipelined_requests_are_answered_in_order(wire: socket.socket, token: str) -> None:
    # The metrics of a new window must be computed; the next answer is cached but must wait.
    paths = [
        WEEK,
        f"{METRICS}?from=2020-01-07&to=2020-01-14",
        f"{SCORES}?limit=3",
        "/v1/none",
        f"{LEDGER}?limit=2",
        WEEK,
    ]
    wire.sendall(b"".join(request(path, token) for path in paths))
    with wire.makefile("rb") as stream:
        results = [answer(stream) for _ in paths]
    assert [status for status, _, _ in results] == [200, 200, 200, 404, 200, 200]
    assert results[0][2] == results[5][2]
    assert "ic" in json.dumps(results[1][2])
    assert [results[n][2]["pagination"]["limit"] for n in (2, 4)] == [3, 2]
    assert len({headers["x-request-id"] for _, headers, _ in results}) == len(paths)


def test_a_request_sent_in_pieces_is_one_request(wire: socket.socket, token: str) -> None:
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    full = request(f"{WEEK}?limit=4", token)
    with wire.makefile("rb") as stream:
        for cut in (1, 10, len(WEEK) + 6, len(full) - 2):
            wire.sendall(full[:cut])
            wire.sendall(full[cut:])
            status, _, body = answer(stream)
            assert (status, len(body["data"])) == (200, 4)


@pytest.mark.parametrize(
    "more", ["Content-Length: 3\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"]
)
def test_an_unexpected_body_is_ignored(wire: socket.socket, token: str, more: str) -> None:
    end = b"" if "chunked" not in more else b"\r\n"
    with_body = request(WEEK, token, more).removesuffix(b"\r\n\r\n") + end
    wire.sendall(with_body + request(f"{WEEK}?limit=1", token))
    with wire.makefile("rb") as stream:
        first, second = answer(stream), answer(stream)
    assert (first[0], second[0]) == (200, 200)
    assert len(second[2]["data"]) == 1


@pytest.mark.parametrize(("version", "header"), [("1.1", "Connection: close"), ("1.0", "Accept: */*")])
def test_connection_close_is_honoured(wire: socket.socket, token: str, version: str, header: str) -> None:
    wire.sendall(request(WEEK, token, header, version=version))
    with wire.makefile("rb") as stream:
        status, _, body = answer(stream)
        assert (status, len(body["data"])) == (200, len(published.NAMES))
        assert stream.read() == b""


def test_a_slow_reader_gets_every_answer(base: str, token: str) -> None:
    address = urlsplit(base)
    with socket.socket() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.settimeout(60)
        wire.connect((address.hostname or "", address.port or 0))
        count = 60
        wire.sendall(b"".join(request(f"{SCORES}?limit={1 + n % 30}", token) for n in range(count)))
        with wire.makefile("rb") as stream:
            for n in range(count):
                status, _, body = answer(stream)
                assert (status, body["pagination"]["limit"]) == (200, 1 + n % 30)


def test_an_unchanged_page_on_the_wire_is_answered_with_304(base: str, token: str) -> None:
    address = urlsplit(base)
    connection = http.client.HTTPConnection(address.hostname or "", address.port)
    headers = {"Authorization": f"Bearer {token}"}
    connection.request("GET", WEEK, headers=headers)
    first = connection.getresponse()
    first.read()
    for _ in range(2):  # the connection can be reused
        connection.request("GET", WEEK, headers={**headers, "If-None-Match": first.headers["etag"]})
        again = connection.getresponse()
        assert (again.status, again.read(), again.headers["etag"]) == (304, b"", first.headers["etag"])
    connection.close()


def test_every_request_has_one_line_in_the_log(base: str, server_root: Path, token: str) -> None:
    headers = {"authorization": f"Bearer {token}", "accept-encoding": "identity"}
    trace = "0af7651916cd43dd8448eb211c80319c"
    traces = [f"00-{trace}-b7ad6b7169203331-01", f"00-{'0' * 32}-b7ad6b7169203331-01", "not a trace"]
    with plain_http.connect(base_url=base, headers=headers) as client:
        own = [
            client.get(path, headers={"x-request-id": f"line-{n}", "traceparent": traces[n]})
            for n, path in enumerate([WEEK, "/v1/me", METRICS])
        ]
    assert [result.headers["x-request-id"] for result in own] == ["line-0", "line-1", "line-2"]
    log = server_root.parent / "server.log"

    def lines() -> list[dict[str, Any]]:
        written = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
        return [line for line in written if str(line.get("request_id", "")).startswith("line-")]

    eventually(lambda: len(lines()) >= len(own))
    assert [line["request_id"] for line in lines()] == ["line-0", "line-1", "line-2"]
    assert [line["bytes"] for line in lines()] == [len(result.content) for result in own]
    assert {line["status"] for line in lines()} == {200}
    assert [line["trace_id"] for line in lines()] == [trace, None, None]

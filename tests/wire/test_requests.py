"""Raw requests, their answers, and whether the connection stays open."""

from __future__ import annotations

import contextlib
import json
from typing import NamedTuple

import pytest

from tests.support import published
from tests.support.raw_http import Server, head
from tests.support.waiting import eventually

SCORES = f"/v1/alphas/{published.ALPHA}/scores"
WEEK = f"/v1/alphas/{published.ALPHA}/rebalances/2020-01-03"
HEALTH = "/v1/health"
BAD: list[tuple[int, str | None]] = [(400, None)]
"""The server's own answer to what is not a request; it closes the connection."""
NO_HOST = [(400, "bad_request")]
GONE = [(404, "not_found")]
NOT_GET = [(404, "method_not_allowed")]
LARGE = [(431, "request_header_fields_too_large")]
LONG = [(414, "uri_too_long")]
OK: list[tuple[int, str | None]] = [(200, None)]


CODINGS = (
    "xchunked",
    '"chunked"',
    "identity",
    "chunked;a=b",
    "gzip, chunked",
    "chunked, identity",
    "chunked, chunked",
)


class Case(NamedTuple):
    sent: bytes
    answers: list[tuple[int, str | None]] | list[tuple[int, str]]
    open: bool = True


CASES = {
    # Valid requests.
    "a page": Case(head(SCORES), OK),
    "another page": Case(head(f"{SCORES}?limit=2"), OK),
    "a page with a fragment": Case(head(f"{WEEK}#x"), OK),
    "a target in absolute form": Case(head(f"http://elsewhere:80{WEEK}"), OK),
    "a target in absolute form with odd letters": Case(head(f"HTTP://elsewhere{WEEK}?limit=1"), OK),
    "an encoded path": Case(head("/v1/%68ealth"), OK),
    "an empty line before": Case(b"\r\n\r\n" + head(HEALTH), OK),
    "HTTP/1.0 without a host": Case(head(HEALTH, version="1.0", host=None), OK, open=False),
    "an empty host": Case(head(HEALTH, host=""), OK),
    "a host of IPv6": Case(head(HEALTH, host="[::1]:80"), OK),
    "a connection to be closed": Case(head(HEALTH, "Connection: close"), OK, open=False),
    "an upgrade to HTTP/2": Case(head(HEALTH, "Connection: upgrade", "Upgrade: h2c"), OK),
    "an upgrade to WebSocket": Case(
        head(HEALTH, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eA=="), OK
    ),
    "many at once": Case(
        head(SCORES) * 3 + head("/v1/none") + head(WEEK) + head(HEALTH, method="PURGE") + head(SCORES),
        OK * 3 + GONE + OK + NOT_GET + OK,
    ),
    "a body": Case(head(WEEK, "Content-Length: 3") + b"abc" + head(WEEK), OK * 2),
    "a chunked body with a trailer": Case(
        head(WEEK, "Transfer-Encoding: chunked")
        + b"3\r\nabc\r\n4;x=y\r\n\r\n\r\n\r\n0\r\nA: b\r\n\r\n"
        + head(WEEK),
        OK * 2,
    ),
    "a target as long as may be": Case(head("/v1/" + "a" * 1996), GONE),
    "a head nearly as long as may be": Case(head(HEALTH, "A: " + "b" * 5600), OK),
    "a broken chunk": Case(
        head(SCORES, "Transfer-Encoding: chunked") + b"zz\r\n" + head(WEEK), BAD, open=False
    ),
    # Unknown paths and methods.
    "POST": Case(head(WEEK, "Content-Length: 0", method="POST"), NOT_GET),
    "a method of another name, no such path": Case(head("/none", method="PURGE"), GONE),
    "a method of another name with a body": Case(
        head(HEALTH, "Content-Length: 3", method="PURGE") + b"abc" + head(HEALTH), NOT_GET + OK
    ),
    # Raw bytes are read as if they were percent-encoded.
    "a raw byte in the path": Case(head("/v1/alphas/\xe9/scores"), [(403, "run_not_allowed")]),
    "a raw byte in the query": Case(head(f"{HEALTH}?a=\xff"), NO_HOST),
    # Invalid hosts.
    "no host": Case(head(HEALTH, host=None), NO_HOST),
    "two hosts": Case(head(HEALTH, "Host: there"), NO_HOST),
    "a host with a blank": Case(head(HEALTH, host="a b"), NO_HOST),
    "a host with a raw byte": Case(head("/v1/%68ealth", host="\x80"), NO_HOST),
    # Anything but HTTP/1.
    "no version": Case(b"GET /v1/health\r\n\r\n", BAD, open=False),
    "an older version": Case(head(HEALTH, version="0.9"), BAD, open=False),
    "a newer version": Case(head(HEALTH, version="2.0"), BAD, open=False),
    "the first line of HTTP/2": Case(head("*", method="PRI", version="2.0"), BAD, open=False),
    "an unknown method": Case(head(HEALTH, method="BREW"), BAD, open=False),
    "a method in small letters": Case(head(HEALTH, method="get"), BAD, open=False),
    "CONNECT": Case(head("here:80", method="CONNECT"), BAD, open=False),
    "a blank in the target": Case(head(f"{HEALTH} x"), BAD, open=False),
    "a control character in the path": Case(head("/v1/\x1b[31m"), BAD, open=False),
    "a target without a slash": Case(head("v1/health"), BAD, open=False),
    "something else": Case(b"\x16\x03\x01\x02\x00\x01", BAD, open=False),
    "a folded header": Case(head(HEALTH, "A: b", " c"), BAD, open=False),
    "a blank before the colon": Case(head(HEALTH, "A : b"), BAD, open=False),
    "a NUL in a header": Case(head(HEALTH, "A: \0"), BAD, open=False),
    "two lengths": Case(head(HEALTH, "Content-Length: 1", "Content-Length: 2"), BAD, open=False),
    "a length and chunks": Case(
        head(HEALTH, "Content-Length: 1", "Transfer-Encoding: chunked"), BAD, open=False
    ),
    "a length that is none": Case(head(HEALTH, "Content-Length: -1"), BAD, open=False),
    **{
        f"the transfer coding {coding}": Case(
            head(SCORES, f"Transfer-Encoding: {coding}") + b"0\r\n\r\n" + head(WEEK), BAD, open=False
        )
        for coding in CODINGS
    },
    # Excessive requests.
    "a target too long": Case(head("/v1/" + "a" * 1997), LONG),
    "a query too long": Case(head(f"{WEEK}?symbol=" + "a" * 3000), LONG),
    "a head too long": Case(head(HEALTH, *(f"A{n}: " + "b" * 400 for n in range(16))), LARGE),
}


AS_A_WHOLE = {
    # Raw bytes in a request line are percent-encoded if the line arrives in one piece.
    "a raw byte in the path",
    "a raw byte in the query",
    # A finished answer is sent before the refusal of the next request.
    "a broken chunk",
    *(name for name, case in CASES.items() if len(case.sent) >= 1000),
}


@pytest.mark.parametrize("name", CASES)
def test_raw_requests_are_answered_as_listed(server: Server, name: str) -> None:
    case = CASES[name]
    with server.connect() as wire:
        wire.send(case.sent)
        results = [wire.answer() for _ in case.answers]
        assert [(answer.status, answer.code) for answer in results] == case.answers
        for answer in results:
            if answer.status != 400 or answer.code is not None:
                assert answer.headers["content-type"] == "application/json"
                assert "x-request-id" in answer.headers
        if case.open:
            wire.send(head("/v1/me"))
            assert wire.answer().status == 200
        else:
            assert wire.stream.read() == b""


@pytest.mark.parametrize("name", [name for name in CASES if name not in AS_A_WHOLE])
def test_a_request_sent_in_pieces_is_answered(server: Server, name: str) -> None:
    case = CASES[name]
    with server.connect() as full, server.connect() as parts:
        full.send(case.sent)
        sent = case.sent.replace(b"{token}", server.token.encode())
        for at in range(0, len(sent), 7):
            try:
                parts.send(sent[at : at + 7])
            except (BrokenPipeError, ConnectionResetError):
                break  # refused already
        for _ in case.answers:
            assert parts.answer().compared == full.answer().compared


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nA: " + b"b" * 1_000_000,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200_000,
        b"GET /" + b"b" * 1_000_000,
        head(SCORES, "Transfer-Encoding: chunked") + b"0" * 1_000_000,
        head(SCORES, "Transfer-Encoding: chunked") + b"1;" + b"x=y;" * 250_000,
        head(SCORES, "Transfer-Encoding: chunked") + b"0\r\n" + b"A: b\r\n" * 200_000,
        head(HEALTH) * 1000,
    ],
    ids=["a header", "headers", "a target", "a chunk's size", "a chunk's extension", "trailers", "requests"],
)
def test_unbounded_requests_are_disconnected(server: Server, sent: bytes) -> None:
    with server.connect() as wire, contextlib.suppress(ConnectionResetError, BrokenPipeError):
        wire.send(sent)
        while wire.stream.read(1 << 16):
            pass
    with server.connect() as wire:
        wire.send(head(HEALTH))
        assert wire.answer().status == 200


def test_trailers_are_not_headers(server: Server) -> None:
    with server.connect() as wire:
        wire.send(
            head("/v1/me", "Transfer-Encoding: chunked", host="here") + b"0\r\nX-Request-Id: mine\r\n\r\n"
        )
        answer = wire.answer()
        assert answer.status == 200
        assert answer.headers["x-request-id"] != "mine"


def test_a_raw_byte_in_a_query_is_read_as_its_encoding(server: Server) -> None:
    with server.connect() as wire:
        for search in ("\xc3\xa4", "%C3%A4"):  # the bytes of an umlaut in UTF-8
            wire.send(head(f"/v1/alphas?search={search}"))
            result = wire.answer()
            assert result.status == 200
            assert json.loads(result.body)["data"] == []


def test_every_answered_request_has_a_line_in_the_log(server: Server) -> None:
    with server.connect() as wire:
        wire.send(CASES["a target too long"].sent)
        assert wire.answer().status == 414
    # Logged once the answer was sent.
    eventually(lambda: '"uri_too_long"' in server.log.read_text())
    assert all(line.startswith("{") for line in server.log.read_text().splitlines())

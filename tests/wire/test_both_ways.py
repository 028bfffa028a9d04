"""One table of requests, asked with the fast path and without it: the answers are the same bytes."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support import published
from tests.support.raw_http import Server, head
from tests.support.waiting import eventually

SCORES = f"/v1/alphas/{published.ALPHA}/scores"
WEEK = f"/v1/alphas/{published.ALPHA}/rebalances/2020-01-03"
HEALTH = "/v1/health"
BAD = [(400, "bad_request")]
GONE = [(404, "not_found")]
NOT_GET = [(404, "method_not_allowed")]
LARGE = [(431, "request_header_fields_too_large")]
LONG = [(414, "uri_too_long")]
OK: list[tuple[int, str | None]] = [(200, None)]


class Case(NamedTuple):
    sent: bytes
    answers: list[tuple[int, str | None]] | list[tuple[int, str]]
    open: bool = True


CASES = {
    # What is right.
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
    "an upgrade nobody speaks": Case(head(HEALTH, "Connection: upgrade", "Upgrade: h2c"), OK),
    "an upgrade to WebSocket": Case(
        head(HEALTH, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eA=="), OK
    ),
    "many at once": Case(
        head(SCORES) * 3 + head("/v1/none") + head(WEEK) + head(HEALTH, method="BREW") + head(SCORES),
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
    "a header line as long as may be": Case(head(HEALTH, "A: " + "b" * 2997), OK),
    "as many headers as may be": Case(head(HEALTH, *(f"A{n}: b" for n in range(18))), OK),
    # Nobody reads the body: the answer is there before it breaks a rule, and comes whole.
    "a chunked body too long": Case(
        head(SCORES, "Transfer-Encoding: chunked") + b"40000\r\n" + b"x" * 0x40000, OK, open=False
    ),
    "a broken chunk": Case(
        head(SCORES, "Transfer-Encoding: chunked") + b"zz\r\n" + head(WEEK), OK, open=False
    ),
    # No such path, no such method.
    "a method of another name": Case(head(HEALTH, method="BREW"), NOT_GET),
    "a method of another name, a path of ours encoded": Case(head("/v1/%68ealth", method="BREW"), NOT_GET),
    "a method of another name, no such path": Case(head("/none", method="BREW"), GONE),
    "a method of another name with a body": Case(
        head(HEALTH, "Content-Length: 3", method="BREW") + b"abc" + head(HEALTH), NOT_GET + OK
    ),
    "a method in small letters": Case(head(HEALTH, method="get"), NOT_GET),
    "POST": Case(head(WEEK, "Content-Length: 0", method="POST"), NOT_GET),
    "CONNECT": Case(head("here:80", method="CONNECT"), GONE),
    "CONNECT to a path": Case(head(HEALTH, method="CONNECT"), NOT_GET),
    "OPTIONS of everything": Case(head("*", method="OPTIONS"), GONE),
    "a raw byte in the path": Case(head("/v1/alphas/\xe9/scores"), GONE),
    "a raw byte in the query": Case(head(f"{HEALTH}?a=\xff"), GONE),
    "a control character in the path": Case(head("/v1/\x1b[31m"), GONE),
    "a target without a slash": Case(head("v1/health"), GONE),
    "a target of another scheme": Case(head("ftp://here/v1/health"), GONE),
    # What is not HTTP/1.1.
    "no version": Case(b"GET /v1/health\r\n\r\n", BAD, open=False),
    "another version": Case(head("*", method="PRI", version="2.0"), BAD, open=False),
    "a blank in the target": Case(head(f"{HEALTH} x"), BAD, open=False),
    "lines that end in a line feed alone": Case(head(HEALTH).replace(b"\r\n", b"\n"), BAD, open=False),
    "something else": Case(b"\x16\x03\x01\x02\x00\x01", BAD, open=False),
    "a folded header": Case(head(HEALTH, "A: b", " c"), BAD, open=False),
    "a blank before the colon": Case(head(HEALTH, "A : b"), BAD, open=False),
    "a NUL in a header": Case(head(HEALTH, "A: \0"), BAD, open=False),
    "no host": Case(head(HEALTH, host=None), BAD, open=False),
    "two hosts": Case(head(HEALTH, "Host: there"), BAD, open=False),
    "a host with a blank": Case(head(HEALTH, host="a b"), BAD, open=False),
    "a host with a raw byte": Case(head("/v1/%68ealth", host="\x80"), BAD, open=False),
    "two lengths": Case(head(HEALTH, "Content-Length: 1", "Content-Length: 2"), BAD, open=False),
    "a length and chunks": Case(
        head(HEALTH, "Content-Length: 1", "Transfer-Encoding: chunked"), BAD, open=False
    ),
    "a length that is none": Case(head(HEALTH, "Content-Length: -1"), BAD, open=False),
    # What is too much.
    "a target too long": Case(head("/v1/" + "a" * 1997), LONG, open=False),
    "a query too long": Case(head(f"{WEEK}?symbol=" + "a" * 70_000), LONG, open=False),
    "a target too long, encoded": Case(head("/v1/%68ealth?a=" + "a" * 70_000), LONG, open=False),
    "a header line too long": Case(head(HEALTH, "A: " + "b" * 2998), LARGE, open=False),
    "a header line without an end": Case(b"GET / HTTP/1.1\r\nA: " + b"b" * 100_000, LARGE, open=False),
    "a target without an end": Case(b"GET /" + b"b" * 100_000, LONG, open=False),
    "a method without an end": Case(b"G" * 100_000, BAD, open=False),
    "a head too long": Case(head(HEALTH, *(f"A{n}: " + "b" * 400 for n in range(16))), LARGE, open=False),
    "too many headers": Case(head(HEALTH, *(f"A{n}: b" for n in range(19))), LARGE, open=False),
    "a body too long": Case(head(HEALTH, "Content-Length: 1001"), [(413, "content_too_large")], open=False),
}


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_answered_alike_with_and_without_the_fast_path(ways: list[Server], name: str) -> None:
    case, seen = CASES[name], []
    for server in ways:
        with server.connect() as wire:
            wire.send(case.sent)
            found = [wire.answer() for _ in case.answers]
            assert [(answer.status, answer.code) for answer in found] == case.answers
            if case.open:
                wire.send(head("/v1/me"))
                assert wire.answer().status == 200
            else:
                assert wire.is_closed()
            seen.append([answer.compared for answer in found])
    assert seen[0] == seen[1]
    assert all(b"\r\nx-request-id: " in answer for answer in seen[0])
    assert all(b"\r\ncontent-type: application/json\r\n" in answer for answer in seen[0])


@pytest.mark.parametrize("name", [name for name in CASES if len(CASES[name].sent) < 1000])
def test_a_request_that_comes_byte_by_byte_is_answered_like_a_whole_one(
    ways: list[Server], name: str
) -> None:
    case = CASES[name]
    for server in ways:
        with server.connect() as whole, server.connect() as parts:
            whole.send(case.sent)
            sent = case.sent.replace(b"{token}", server.token.encode())
            for at in range(0, len(sent), 7):
                try:
                    parts.send(sent[at : at + 7])
                except (BrokenPipeError, ConnectionResetError):
                    break  # refused already
            for _ in case.answers:
                assert parts.answer().compared == whole.answer().compared


def test_what_is_refused_has_a_line_in_the_log_like_any_other(ways: list[Server]) -> None:
    for server in ways:
        with server.connect() as wire:
            wire.send(CASES["a target without an end"].sent)
            assert wire.answer().status == 414
        # Written once the answer is.
        eventually(lambda server=server: '"uri_too_long"' in server.log.read_text())  # type: ignore[misc]
        assert all(line.startswith("{") for line in server.log.read_text().splitlines())

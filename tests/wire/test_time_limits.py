"""Silent, incomplete or unread connections time out without affecting others."""

from __future__ import annotations

import time

import pytest

from tests.support import published
from tests.support.raw_http import Server, head
from tests.support.waiting import PATIENCE

SCORES = f"/v1/alphas/{published.ALPHA}/scores"
MANY = 60


def test_pipelined_requests_read_late_are_all_answered(server: Server) -> None:
    with server.connect(buffer=4096) as wire:
        wire.send(head(f"{SCORES}?limit=5000") * MANY)
        time.sleep(3)  # twice as long as a connection may be idle
        assert [wire.answer().status for _ in range(MANY)] == [200] * MANY


def test_a_caller_who_stops_sending_still_gets_the_answer(server: Server) -> None:
    with server.connect() as wire:
        wire.send(head(SCORES) + head("/v1/%6de") + head(SCORES))
        wire.socket.shutdown(1)
        assert [wire.answer().status for _ in range(3)] == [200] * 3
        assert wire.is_closed()


@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        (b"", []),
        (b"\r\n", []),
        (b"GET /v1/hea", []),
        (b"GET /v1/health HTTP/1.1\r\nHost: x\r\nA: b", []),
        (head("/v1/health"), [200]),
        (head("/v1/health") + b"GET", [200]),
        (head("/v1/health", "Content-Length: 4") + b"abc", [200]),
        (head("/v1/health", "Transfer-Encoding: chunked") + b"4\r\nabc", [200]),
    ],
    ids=[
        "nothing",
        "an empty line",
        "part of a line",
        "part of a head",
        "idle",
        "idle, part",
        "part of a body",
        "part of a chunk",
    ],
)
def test_incomplete_requests_time_out(server: Server, sent: bytes, answers: list[int]) -> None:
    with server.connect() as wire:
        wire.send(sent)
        for status in answers:
            assert wire.answer().status == status
        assert wire.is_closed()


def test_a_trickling_head_times_out(server: Server) -> None:
    with server.connect() as wire:
        wire.send(b"GET /v1/health HTTP/1.1\r\nA: ")

        def trickle() -> None:
            for _ in range(int(PATIENCE / 0.1)):
                wire.send(b"c")
                time.sleep(0.1)

        # The connection is closed while the head is still arriving, not only after it stopped.
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            trickle()

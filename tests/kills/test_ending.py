"""Shutdown of serving processes: requests in flight finish in bounded time, unless signalled twice."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from serve.server import SAME_SECONDS
from tests.support import plain_http
from tests.support.ports import free_port
from tests.support.redis import RedisServer
from tests.support.server import served
from tests.support.waiting import PATIENCE, eventually

ALPHA = "Test_hand"


def refused(base: str) -> bool:
    try:
        plain_http.get(f"{base}/v1/health", timeout=PATIENCE)
    # a connection that is accepted and dropped counts as refused too
    except (httpx.NetworkError, httpx.RemoteProtocolError):
        return True
    return False


def cut(caller: socket.socket) -> bool:
    """Read until the connection ends; fail if it does not."""
    try:
        while caller.recv(1 << 20):
            pass
    except ConnectionResetError:
        return True
    return True


@contextmanager
def deaf_caller(base: str, token: str) -> Iterator[socket.socket]:
    """Request many large answers on one connection without reading them."""
    host, port = base.removeprefix("http://").split(":")
    send = (
        f"GET /v1/alphas/{ALPHA}/metrics/_doc HTTP/1.1\r\nHost: {host}\r\n"
        f"Accept-Encoding: identity\r\nAuthorization: Bearer {token}\r\n\r\n"
    ).encode()
    with socket.socket() as caller:
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        caller.connect((host, int(port)))
        caller.sendall(send * 60)  # nearly as many as one connection may have in flight
        assert caller.recv(1)  # the first of them is being answered
        yield caller


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_slow_request_in_flight_is_answered_while_new_ones_are_refused(
    server_root: Path, token: str, redis_server: RedisServer, workers: str
) -> None:
    variables = {"ALPHA_RESULTS_REDIS": redis_server.url}
    with (
        served(server_root, "--workers", workers, variables=variables) as (process, base),
        ThreadPoolExecutor(1) as pool,
    ):
        headers = {"authorization": f"Bearer {token}"}
        # The connection exists before the port closes, and its request waits for the limiter.
        with httpx.Client(base_url=base, timeout=PATIENCE) as client:
            assert client.get("/v1/me", headers=headers).status_code == 200
            with redis_server.hanging():
                # A request refused before the signal is sent again, so that one is in flight.
                while True:
                    asking = pool.submit(client.get, "/v1/me", headers=headers)
                    time.sleep(0.3)
                    if not asking.done():
                        break
                process.send_signal(signal.SIGTERM)
                time.sleep(0.3)
            # The answer is complete, whether or not the counts came back in time.
            answer = asking.result(PATIENCE)
            assert answer.status_code in {200, 503}
            assert answer.json()
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM)
        assert refused(base)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_node_reports_draining_before_its_port_closes(
    server_root: Path, token: str, redis_server: RedisServer, workers: str
) -> None:
    metrics = free_port()
    arguments = ("--workers", workers, "--metrics-port", str(metrics), "--drain-delay-seconds", "20")
    variables = {"ALPHA_RESULTS_REDIS": redis_server.url}
    with served(server_root, *arguments, variables=variables) as (process, base):
        process.send_signal(signal.SIGTERM)
        ready = f"http://127.0.0.1:{metrics}/ready"
        eventually(lambda: plain_http.get(ready).json()["status"] == "draining")
        headers = {"authorization": f"Bearer {token}"}
        assert plain_http.get(f"{base}/v1/me", headers=headers, timeout=PATIENCE).status_code == 200
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM)
        assert refused(base)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_caller_that_never_reads_does_not_block_the_shutdown(
    server_root: Path, token: str, redis_server: RedisServer, workers: str
) -> None:
    variables = {"ALPHA_RESULTS_REDIS": redis_server.url}
    with (
        served(server_root, "--workers", workers, "--drain-seconds", "1", variables=variables) as (
            process,
            base,
        ),
        deaf_caller(base, token),
    ):
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) in (0, -signal.SIGTERM)


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_at_once(
    server_root: Path, token: str, redis_server: RedisServer, workers: str, number: signal.Signals
) -> None:
    variables = {"ALPHA_RESULTS_REDIS": redis_server.url}
    with (
        served(server_root, "--workers", workers, "--drain-seconds", "3600", variables=variables) as (
            process,
            base,
        ),
        deaf_caller(base, token) as caller,
    ):
        process.send_signal(number)
        # as when a terminal and a parent both forward one signal: it still counts as the first
        process.send_signal(number)
        eventually(lambda: refused(base))
        time.sleep(SAME_SECONDS + 0.5)
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(PATIENCE) == -number
        # Nothing remains of the answer: the connection is cut.
        caller.settimeout(PATIENCE)
        assert cut(caller)

"""What connections leave in the log: one JSON line for what matters, and nothing that steers a terminal."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support import published
from tests.support.ports import free_port
from tests.support.raw_http import Server, head
from tests.support.redis import redis_running
from tests.support.server import served
from tests.support.waiting import PATIENCE, eventually

METRICS = f"/v1/alphas/{published.ALPHA}/metrics"


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def reset(port: int, sent: bytes) -> None:
    """Connect, send something, and leave with a reset."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connected:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connected.sendall(sent)
        time.sleep(0.001)


@pytest.mark.parametrize("way", ["on", "off"])
def test_callers_who_leave_are_no_errors(here: Path, token: str, way: str) -> None:
    metrics_port, log = free_port(), here.parent / "server.log"
    arguments = ("--metrics-port", str(metrics_port), "--fast-path", way)
    with served(here, *arguments) as (_, base):
        port = urlsplit(base).port or 0
        for n in range(400):
            paths = (f"{METRICS}?from=2020-01-{1 + n % 28:02}", "/v1/%6de", "/v1/alphas")
            asked = b"".join(head(path) for path in paths[: 1 + n % 3]).replace(b"{token}", token.encode())
            reset(port, asked[: len(asked) - n % 2])
            reset(metrics_port, b"" if n % 2 else b"GET /metr")
        with socket.create_connection(("127.0.0.1", metrics_port), PATIENCE) as idle:
            assert idle.recv(1) == b""  # closed without a word after a while
        assert httpx.get(f"{base}/v1/health").status_code == 200
        assert httpx.get(f"http://127.0.0.1:{metrics_port}/live").status_code == 200
    assert [line for line in lines(log) if line["level"] in {"warning", "error", "critical"}] == []


def test_a_killed_worker_is_named_with_its_signal_and_replaced(
    here: Path, token: str, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    with (
        redis_running() as redis,
        served(here, "--workers", "2", log=log, variables={"ALPHA_RESULTS_REDIS": redis.url}) as (
            process,
            base,
        ),
    ):
        eventually(lambda: log.read_text().count("Application startup complete") == 2)
        started = [
            json.loads(line)["event"]
            for line in log.read_text().splitlines()
            if "Started server process" in line
        ]
        victim = int(started[0].partition("[")[2].rstrip("]"))
        os.kill(victim, signal.SIGSEGV)
        eventually(lambda: '"worker_ended"' in log.read_text())
        eventually(lambda: log.read_text().count("Application startup complete") == 3)
        assert process.poll() is None
        assert httpx.get(f"{base}/v1/me", headers={"authorization": f"Bearer {token}"}).status_code == 200
    (ended,) = [line for line in lines(log) if line["event"] == "worker_ended"]
    assert (ended["pid"], ended["signal"], ended["exit_code"], ended["level"]) == (
        victim,
        "SIGSEGV",
        None,
        "error",
    )
    assert ended["restarted_as"] not in {None, victim}


def test_a_path_does_not_steer_the_terminal_of_who_reads_the_log(here: Path, token: str) -> None:
    with served(here, "--log-format", "console") as (_, base):
        server = Server(base, token, here.parent / "server.log")
        with server.connect() as wire:
            wire.send(head("/v1/\x1b[2Jmark\x9b2J"))
            assert wire.answer().status == 404
        eventually(lambda: "mark" in server.log.read_text())
        (line,) = [line for line in server.log.read_text().splitlines() if "mark" in line]
        assert "\\u001b[2Jmark\\x9b2J" in line

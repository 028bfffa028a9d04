"""Log lines of connections: one JSON line each, without control sequences."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.support import plain_http
from tests.support.raw_http import Server, head
from tests.support.redis import redis_running
from tests.support.server import served
from tests.support.waiting import eventually


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


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
        assert (
            plain_http.get(f"{base}/v1/me", headers={"authorization": f"Bearer {token}"}).status_code == 200
        )
    (ended,) = [line for line in lines(log) if line["event"] == "worker_ended"]
    assert (ended["pid"], ended["signal"], ended["exit_code"], ended["level"]) == (
        victim,
        "SIGSEGV",
        None,
        "error",
    )
    assert ended["restarted_as"] not in {None, victim}


def test_control_sequences_in_paths_are_escaped_in_the_log(here: Path, token: str) -> None:
    with served(here, "--log-format", "console") as (_, base):
        server = Server(base, token, here.parent / "server.log")
        with server.connect() as wire:
            wire.send(head("/v1/mark\x9b2J"))
            assert wire.answer().status == 404
            wire.send(head("/v1/\x1b[2Jmark"))
            assert wire.answer().status == 400
        eventually(lambda: "Invalid HTTP request" in server.log.read_text())
        (line,) = [line for line in server.log.read_text().splitlines() if "mark" in line]
        assert "/v1/mark%9B2J" in line
        assert "\x1b[2J" not in server.log.read_text()

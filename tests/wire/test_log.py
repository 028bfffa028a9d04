"""Log lines of connections: one JSON line each, without control sequences."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import plain_http
from tests.support.raw_http import Server, head
from tests.support.redis import redis_running
from tests.support.server import served
from tests.support.waiting import PATIENCE, eventually


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


@contextmanager
def two_workers(root: Path, log: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve a root by two workers within the block; yield the process and its address once both started."""
    with (
        redis_running() as redis,
        served(root, "--workers", "2", log=log, variables={"ALPHA_RESULTS_REDIS": redis.url}) as server,
    ):
        eventually(lambda: log.read_text().count("Application startup complete") == 2)
        yield server


def _workers(log: Path) -> list[int]:
    """Return the pids of the workers that started, first one first."""
    started = [line for line in log.read_text().splitlines() if "Started server process" in line]
    return [int(json.loads(line)["event"].partition("[")[2].rstrip("]")) for line in started]


def test_a_killed_worker_is_named_with_its_signal_and_replaced(
    server_root: Path, token: str, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    with two_workers(server_root, log) as (process, base):
        (victim, *_) = _workers(log)
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


def test_a_worker_that_dies_while_the_store_of_keys_is_away_ends_no_other(
    server_root: Path, token: str, tmp_path: Path
) -> None:
    log = tmp_path / "server.log"
    store = server_root.with_name(f"{server_root.name}.access.sqlite3")
    with two_workers(server_root, log) as (process, base):
        time.sleep(2)  # the parent hears that they started
        away = store.rename(store.with_name("away"))
        store.write_bytes(b"not a database " * 100)
        os.kill(_workers(log)[0], signal.SIGKILL)
        # The one that was killed, and the next, which cannot read the store.
        eventually(lambda: log.read_text().count('"worker_ended"') >= 2)
        away.replace(store)
        eventually(lambda: log.read_text().count("Application startup complete") == 3)
        assert process.poll() is None
        for _ in range(8):  # a connection each, so that both workers get some
            answer = plain_http.get(f"{base}/v1/me", headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == 200


def test_a_dead_worker_delays_neither_its_replacement_nor_a_signal(server_root: Path, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with two_workers(server_root, log) as (process, _):
        (victim, *_) = _workers(log)
        os.kill(victim, signal.SIGSTOP)  # the parent pings it and gets no answer
        time.sleep(2)
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: '"worker_ended"' in log.read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == -signal.SIGTERM
    (ended,) = [line for line in lines(log) if line["event"] == "worker_ended"]
    assert (ended["pid"], ended["signal"], ended["silent"]) == (victim, "SIGKILL", False), (
        "not for its silence"
    )


def test_control_sequences_in_paths_are_escaped_in_the_log(server_root: Path, token: str) -> None:
    with served(server_root, "--log-format", "console") as (_, base):
        server = Server(base, token, server_root.parent / "server.log")
        with server.connect() as wire:
            wire.send(head("/v1/mark\x9b2J"))
            assert wire.answer().status == 404
            wire.send(head("/v1/\x1b[2Jmark"))
            assert wire.answer().status == 400
        eventually(lambda: "Invalid HTTP request" in server.log.read_text())
        (line,) = [line for line in server.log.read_text().splitlines() if "mark" in line]
        assert "/v1/mark%9B2J" in line
        assert "\x1b" not in server.log.read_text(), "a file has no colours"

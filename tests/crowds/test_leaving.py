"""Hundreds of callers disconnect mid-request: no error, no log line."""

from __future__ import annotations

import json
import socket
import struct
import time
from pathlib import Path
from urllib.parse import urlsplit

from tests.support import plain_http, published
from tests.support.ports import free_port
from tests.support.raw_http import head
from tests.support.server import served
from tests.support.waiting import PATIENCE

METRICS = f"/v1/alphas/{published.ALPHA}/metrics"


def reset(port: int, sent: bytes) -> None:
    """Connect, send data, and reset the connection."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connected:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connected.sendall(sent)
        time.sleep(0.001)


def test_disconnecting_callers_cause_no_errors(server_root: Path, token: str) -> None:
    metrics_port, log = free_port(), server_root.parent / "server.log"
    with served(server_root, "--metrics-port", str(metrics_port)) as (_, base):
        port = urlsplit(base).port or 0
        for n in range(400):
            paths = (f"{METRICS}?from=2020-01-{1 + n % 28:02}", "/v1/%6de", "/v1/alphas")
            requested = b"".join(head(path) for path in paths[: 1 + n % 3]).replace(
                b"{token}", token.encode()
            )
            reset(port, requested[: len(requested) - n % 2])
            reset(metrics_port, b"" if n % 2 else b"GET /metr")
        with socket.create_connection(("127.0.0.1", metrics_port), PATIENCE) as idle:
            assert idle.recv(1) == b""  # closed without an answer after a while
        assert plain_http.get(f"{base}/v1/health", timeout=PATIENCE).status_code == 200
        assert plain_http.get(f"http://127.0.0.1:{metrics_port}/live", timeout=PATIENCE).status_code == 200
    levels = [json.loads(line)["level"] for line in log.read_text().splitlines()]
    assert not {"warning", "error", "critical"} & set(levels)

"""Upgrade requests with a body: the body is never read as a second request, with or without a proxy."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support import published
from tests.support.ports import free_port
from tests.support.raw_http import Connection, Server, head
from tests.support.server import served
from tests.support.waiting import PATIENCE, eventually

HEALTH = "/v1/health"
HIDDEN = "/v1/alphas/hidden-in-a-body/scores"
METHODS = ("GET", "POST", "OPTIONS")
CONNECTIONS = ("Upgrade", "keep-alive", "keep-alive, Upgrade")
RECIPE = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
    upstream node {{ server {node}; keepalive 16; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://node;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
            proxy_set_header Host $host;
            proxy_request_buffering off;
        }}
    }}
}}
"""


def upgrading(method: str, connection: str, framing: str) -> tuple[bytes, bytes]:
    """Return the head and body of a request whose body is itself a request."""
    inner = f"GET {HIDDEN} HTTP/1.1\r\nHost: here\r\n\r\n".encode()  # counted as it is sent
    lines = [f"Connection: {connection}", "Upgrade: websocket"]
    if framing == "length":
        return head(HEALTH, *lines, f"Content-Length: {len(inner)}", method=method), inner
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(inner), inner)
    return head(HEALTH, *lines, "Transfer-Encoding: chunked", method=method), body


def statuses_until_closed(wire: Connection) -> list[int]:
    """Send another request, close the sending side, and return all answers."""
    with suppress(OSError):  # it is closed already
        wire.send(head("/v1/me"))
        wire.socket.shutdown(1)
    results = []
    while True:
        try:
            results.append(wire.answer().status)
        except (AssertionError, ConnectionResetError):
            return results


@pytest.mark.parametrize("framing", ["length", "chunks"])
@pytest.mark.parametrize("connection", CONNECTIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pieces", ["together", "apart"])
def test_the_body_of_a_request_to_upgrade_is_not_a_request(
    server: Server, method: str, connection: str, framing: str, pieces: str
) -> None:
    first, body = upgrading(method, connection, framing)
    with server.connect() as wire:
        if pieces == "together":
            wire.send(first + body)
        else:
            wire.send(first)
            eventually(lambda: bool(wire.stream.peek(1)))  # it is answered, or refused
            with suppress(OSError):  # closed
                wire.send(body)
        actual = statuses_until_closed(wire)
    answered = 200 if method == "GET" else 404
    expected = [[400]] if "Upgrade" in connection else [[answered, 200]]
    assert actual in expected
    assert HIDDEN not in server.log.read_text()


@pytest.fixture(scope="module")
def proxied(server_root: Path, token: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server behind nginx configured for WebSockets."""
    nginx = shutil.which("nginx")
    if nginx is None:
        pytest.skip("nginx is not installed")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    log = server_root.parent / "proxied.log"
    counts = {"ALPHA_RESULTS_LIMITS_STATE": str(server_root.parent / "proxied.limits")}
    with served(server_root, log=log, variables=counts) as (_, base):
        recipe = folder / "nginx.conf"
        recipe.write_text(RECIPE.format(folder=folder, node=urlsplit(base).netloc, port=port))
        process = subprocess.Popen([nginx, "-c", str(recipe), "-p", str(folder)])
        try:
            server = Server(f"http://127.0.0.1:{port}", token, log)
            eventually(lambda: answers(server))
            yield server
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.mark.parametrize("framing", ["length", "chunks"])
@pytest.mark.parametrize("method", METHODS)
def test_request_bodies_are_never_executed_as_requests(proxied: Server, method: str, framing: str) -> None:
    first, body = upgrading(method, "Upgrade", framing)
    for _ in range(5):
        with proxied.connect() as attacker:
            attacker.send(first)
            with suppress(OSError):  # refused already
                attacker.send(body)
            assert attacker.answer().status == 400
        with proxied.connect() as other:
            other.send(head(f"/v1/alphas/{published.ALPHA}/scores"))
            answer = other.answer()
            assert (answer.status, answer.body[:9]) == (200, b'{"data":[')
    assert HIDDEN not in proxied.log.read_text()


def answers(server: Server) -> bool:
    """Whether the proxy and its upstream answer."""
    try:
        with server.connect() as wire:
            wire.send(head(HEALTH))
            return wire.answer().status == 200
    except (OSError, AssertionError):
        return False

"""Memory per connection is bounded whatever callers send or leave unread."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support import plain_http, published
from tests.support.keys import WIDE
from tests.support.raw_http import TOKEN, head
from tests.support.server import served, token_for
from tests.support.waiting import PATIENCE, eventually

CONNECTIONS = 60
TRIED = 4 << 20
"""Bytes each connection tries to send: unbounded, they would be 240 MB."""
BOUND = 600 << 10
"""Bytes a connection may make the process hold, one read of 256 KB and an answer's 64 KB of unread bytes among them."""
SCORES = f"/v1/alphas/{published.ALPHA}/scores"
CHUNK = b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n"

SENT = {
    "requests sent together, never read": head(SCORES) * 2000,
    "requests with bodies, never read": (head(SCORES, "Content-Length: 60000") + b"x" * 60_000) * 60,
    "a head without an end": b"GET / HTTP/1.1\r\nA: " + b"b" * TRIED,
    "headers without an end": b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * (TRIED // 6),
    "a body that is announced and longer": head(SCORES, "Content-Length: 60000") + b"x" * TRIED,
    "a chunked body without an end": head(SCORES, "Transfer-Encoding: chunked")
    + CHUNK * (TRIED // len(CHUNK)),
    "a chunk's size without an end": head(SCORES, "Transfer-Encoding: chunked") + b"0" * TRIED,
    "chunk extensions without an end": head(SCORES, "Transfer-Encoding: chunked")
    + b"1;"
    + b"x=y;" * (TRIED // 4),
    "trailers without an end": head(SCORES, "Transfer-Encoding: chunked")
    + b"0\r\n"
    + b"A: b\r\n" * (TRIED // 6),
    "after an upgrade": head(SCORES, "Connection: upgrade", "Upgrade: h2c") + b"\0" * TRIED,
}


def resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise AssertionError


def come_to_rest(pid: int) -> None:
    """Wait until a process is idle."""

    def ticks() -> int:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(after_name[11]) + int(after_name[12])

    def rests() -> bool:
        before = ticks()
        time.sleep(1)
        return ticks() - before < 10  # the process still samples itself and checks its stores

    eventually(rests, "a second in which the server was at rest")


@pytest.fixture(scope="module")
def server(server_root: Path) -> Iterator[tuple[int, str, bytes]]:
    """Return a server without time limits, its process and a key."""
    limits = {f"ALPHA_RESULTS_{name}_TIMEOUT_SECONDS": "600" for name in ("HEAD", "WRITE")}
    log = server_root.parent / "memory.log"
    with served(server_root, log=log, variables=limits) as (process, base):
        yield process.pid, base, token_for(server_root, WIDE).encode()


@contextmanager
def hoarding(base: str, sent: bytes, connections: int) -> Iterator[None]:
    """Send as much as is accepted on every connection, read no answer, and stay connected."""
    address = urlsplit(base)
    with ExitStack() as stack:
        left = {}
        for _ in range(connections):
            one = stack.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect((address.hostname or "", address.port or 0))
            one.setblocking(False)
            left[one] = memoryview(sent)
        quiet_since = time.monotonic()
        while left and time.monotonic() < quiet_since + 0.7:
            for one, rest in list(left.items()):
                try:
                    taken = one.send(rest[: 1 << 20])
                except BlockingIOError:
                    continue
                except OSError:  # refused, and closed
                    del left[one]
                    continue
                quiet_since = time.monotonic()
                if taken == len(rest):
                    del left[one]
                else:
                    left[one] = rest[taken:]
            time.sleep(0.005)
        yield


@pytest.mark.parametrize("name", SENT)
def test_a_connection_takes_bounded_memory(server: tuple[int, str, bytes], name: str) -> None:
    pid, base, token = server
    sent = SENT[name].replace(TOKEN, token)
    with hoarding(base, sent, 8):  # excludes one-time costs of the first connections
        pass
    come_to_rest(pid)
    before = resident(pid)
    os.kill(pid, signal.SIGSTOP)  # so that all data are waiting when it continues, as on a busy machine
    with hoarding(base, sent, CONNECTIONS):
        os.kill(pid, signal.SIGCONT)
        time.sleep(1)
        grown = resident(pid) - before
        headers = {"authorization": f"Bearer {token.decode()}"}
        result = plain_http.get(f"{base}/v1/me", headers=headers, timeout=PATIENCE)
        assert result.status_code == 200, "others are answered meanwhile"
    assert grown < CONNECTIONS * BOUND, f"{grown / CONNECTIONS / 1024:.0f} KB for each connection"

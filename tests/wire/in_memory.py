"""Connections of the real application in this process, fed byte by byte: no socket puts pieces together."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from typing import Any, Final

import uvicorn
from uvicorn.server import ServerState

from serve.http.middleware import RequestMiddleware
from serve.http.protocol.connection import Connection
from tests.support.raw_http import TOKEN, Answer
from tests.support.waiting import PATIENCE

_LENGTH: Final = re.compile(rb"(?mi)^content-length: ([0-9]+)\r$")
_HIGH_WATER: Final = 65_536


class Peer(asyncio.Transport):
    """The other end of a connection.

    Parameters
    ----------
    reads
        Whether the caller reads what is written.
    """

    def __init__(self, *, reads: bool = True) -> None:
        super().__init__({"peername": ("127.0.0.1", 4321), "sockname": ("127.0.0.1", 80)})
        self.received = b""
        self.unread = 0
        self.ended = self.paused = False
        self.protocol: Connection | None = None
        self._reads = reads

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.received += bytes(data)
        if not self._reads:
            before, self.unread = self.unread, self.unread + len(data)
            if before <= _HIGH_WATER < self.unread:
                assert self.protocol is not None
                self.protocol.pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(map(bytes, list_of_data)))

    def read_everything(self) -> None:
        """Read what was written, and whatever is from now on."""
        assert self.protocol is not None
        self._reads, self.unread = True, 0
        self.protocol.resume_writing()

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.ended = True

    abort = close

    def is_closing(self) -> bool:
        return self.ended

    def get_write_buffer_size(self) -> int:
        return self.unread

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


@dataclass
class Way:
    """One of the two ways requests take: the application, with the fast path or without it."""

    app: Any
    token: str

    def __post_init__(self) -> None:
        self.config = uvicorn.Config(
            self.app, log_config=None, proxy_headers=False, ws="none", lifespan="off"
        )
        self.config.load()
        self.counts = ServerState()
        self.counts.default_headers = [(b"date", b"today"), (b"server", b"here")]
        assert isinstance(self.app, RequestMiddleware)

    def bytes_of(self, sent: bytes) -> bytes:
        """Return what is sent with the key put in."""
        return sent.replace(TOKEN, self.token.encode())

    def connect(self, *, reads: bool = True) -> Peer:
        """Begin a connection."""
        peer = Peer(reads=reads)
        peer.protocol = Connection(self.config, self.counts, {}, asyncio.get_running_loop())
        peer.protocol.access_log = False  # as the server is started; pytest listens to every log
        peer.protocol.connection_made(peer)
        return peer

    async def answers(self, peer: Peer, count: int) -> list[Answer]:
        """Wait until there are so many answers, or the connection ended, and return them."""
        deadline, size, found = time.monotonic() + PATIENCE, -1, list[Answer]()
        while True:
            if len(peer.received) != size:
                found, size = parse(peer.received), len(peer.received)
            if len(found) >= count or peer.ended:
                return found
            assert time.monotonic() < deadline, (count, peer.received[-300:])
            await asyncio.sleep(0 if deadline - time.monotonic() > PATIENCE - 0.01 else 0.001)

    async def ended(self, peer: Peer) -> None:
        """Wait until the connection ended."""
        deadline = time.monotonic() + PATIENCE
        while not peer.ended:
            assert time.monotonic() < deadline, "it is still open"
            await asyncio.sleep(0.001)

    async def leave(self, peer: Peer, why: Exception | None = None) -> None:
        """End a connection as its caller does."""
        peer.ended = True
        assert peer.protocol is not None
        peer.protocol.connection_lost(why)

    async def idle(self) -> None:
        """Wait until no request is being answered."""
        deadline = time.monotonic() + PATIENCE
        while self.counts.tasks or self.app.in_flight:
            assert time.monotonic() < deadline, "a request is still being answered"
            await asyncio.sleep(0.001)


def parse(received: bytes) -> list[Answer]:
    """Return the whole answers in some bytes; what follows them must be the beginning of another."""
    found, at = [], 0
    while (end := received.find(b"\r\n\r\n", at)) >= 0:
        head = received[at : end + 4]
        assert head.startswith(b"HTTP/1.1 "), head
        length = _LENGTH.search(head)
        whole = end + 4 + (int(length[1]) if length else 0)
        if whole > len(received):
            break
        lines = head.decode("latin-1").split("\r\n")[1:-2]
        headers = dict(line.split(": ", 1) for line in lines)
        found.append(Answer(int(head[9:12]), headers, received[end + 4 : whole], received[at:whole]))
        at = whole
    return found

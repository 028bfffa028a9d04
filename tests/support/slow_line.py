"""A proxy that can slow down answers."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

_AT_ONCE: Final = 1 << 16


class SlowLine:
    """Forwards connections to the server; created by `slow_line`."""

    def __init__(self, endpoint: str, listening: socket.socket) -> None:
        address = urlsplit(endpoint)
        self._server = (address.hostname or "", address.port or 0)
        self._listening = listening
        self._pause, self._piece = 0.0, _AT_ONCE
        self.endpoint = f"http://127.0.0.1:{listening.getsockname()[1]}"

    @contextlib.contextmanager
    def slow(self, pause: float, piece: int = _AT_ONCE) -> Iterator[None]:
        """Pause before each chunk of an answer within the block."""
        self._pause, self._piece = pause, piece
        try:
            yield
        finally:
            self._pause, self._piece = 0.0, _AT_ONCE

    def run(self) -> None:
        """Accept connections until the socket is closed."""
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listening.accept()
                threading.Thread(target=self._connect, args=(caller,), daemon=True).start()

    def _connect(self, caller: socket.socket) -> None:
        with caller, contextlib.suppress(OSError), socket.create_connection(self._server) as server:
            asking = threading.Thread(target=self._pass_on, args=(caller, server), daemon=True)
            asking.start()
            while data := server.recv(_AT_ONCE):
                while data:
                    time.sleep(self._pause)
                    piece = self._piece
                    caller.sendall(data[:piece])
                    data = data[piece:]
            caller.shutdown(socket.SHUT_RDWR)
            asking.join()

    @staticmethod
    def _pass_on(caller: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := caller.recv(_AT_ONCE):
                server.sendall(data)
            server.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def slow_line(endpoint: str) -> Iterator[SlowLine]:
    """Run a slowable proxy in front of a server within the block."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        line = SlowLine(endpoint, listening)
        threading.Thread(target=line.run, daemon=True).start()
        try:
            yield line
        finally:
            # `close` alone does not wake a thread in `accept`.
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)

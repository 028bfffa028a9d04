"""Raw HTTP over sockets."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.waiting import PATIENCE

TOKEN = b"{token}"
_OF_EACH_CALL = (
    (re.compile(rb"(?m)^(date|x-ratelimit-(?:remaining|reset)-\w+): .*?\r$"), rb"\1: *\r"),
    (re.compile(rb"[0-9a-f]{32}"), b"*"),
    (re.compile(rb'"(generated_at|time)":"[^"]*"'), rb'"\1":"*"'),
    (re.compile(rb"(?m)^etag: .*?\r$"), b"etag: *\r"),
    (re.compile(rb'"usage":\{[^}]*\}'), b'"usage":*'),
)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    raw: bytes

    @property
    def code(self) -> str | None:
        if self.headers.get("content-type") != "application/json":
            return None
        result: Any = json.loads(self.body)
        return result["error"]["code"] if "error" in result else None

    @property
    def compared(self) -> bytes:
        """The parts of an answer that must not depend on the code path."""
        result = self.raw
        for what, by in _OF_EACH_CALL:
            result = what.sub(by, result)
        return result


class Connection:
    """A connection."""

    def __init__(self, connected: socket.socket, token: str) -> None:
        self.socket = connected
        self.stream = connected.makefile("rb")
        self._token = token.encode()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data.replace(TOKEN, self._token))

    def answer(self, *, body: bool = True) -> Answer:
        lines = [self.stream.readline()]
        assert lines[0], "the connection was closed without an answer"
        while lines[-1] != b"\r\n":
            lines.append(self.stream.readline())
            assert lines[-1], f"the connection was closed within a head: {lines}"
        pairs = (line.decode().strip().split(": ", 1) for line in lines[1:-1])
        headers = {name.lower(): value for name, value in pairs}
        result = self.stream.read(int(headers.get("content-length", 0))) if body else b""
        return Answer(int(lines[0].split()[1]), headers, result, b"".join(lines) + result)

    def is_closed(self) -> bool:
        """Wait until the connection ends; False if data arrives."""
        try:
            return self.stream.read(1) == b""
        except ConnectionResetError:
            return True


@dataclass(frozen=True)
class Server:
    """A running server."""

    base: str
    token: str
    log: Path

    @contextmanager
    def connect(self, *, buffer: int | None = None) -> Iterator[Connection]:
        address = urlsplit(self.base)
        with socket.socket() as connected:
            if buffer is not None:
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            connected.settimeout(PATIENCE)
            connected.connect((address.hostname or "", address.port or 0))
            wire = Connection(connected, self.token)
            with wire.stream:
                yield wire


def head(
    target: str, *lines: str, method: str = "GET", version: str = "1.1", host: str | None = "here"
) -> bytes:
    """Return a request's head with the key inserted."""
    first = [f"{method} {target} HTTP/{version}", *([] if host is None else [f"Host: {host}"])]
    return "\r\n".join([*first, f"Authorization: Bearer {TOKEN.decode()}", *lines, "", ""]).encode("latin-1")

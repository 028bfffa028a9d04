"""A guard around the server's own protocol: it closes connections that take too much, and leaves every answer to the application."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from serve.http.access_log import AccessLog
from serve.http.request import SCOPE

_CHECKS_PER_LIMIT: Final = 8
"""Checks of a connection within the shortest time limit: a limit is exact to an eighth of that."""
_MAX_PAUSE_SECONDS: Final = 1.0
_MAX_PIPELINED: Final = 64
"""Requests of a connection that are parsed and not answered: the server keeps each of them in memory."""
_MAX_WAITING_BODIES: Final = 1 << 16
"""Bytes of the bodies of requests that wait for an earlier answer: the server reads on after each answer."""
_RAW_BYTE: Final = re.compile(rb"[\x80-\xff]")


class TooManyRequests(ValueError):
    """A caller sends more requests than it waits for; the server answers 400 and closes the connection."""


class AmbiguousRequest(ValueError):
    """Where the request ends can be read in two ways; the server answers 400 and closes the connection."""


class GuardedConnection(HttpToolsProtocol):
    """A connection with bounds on its head, its silence and what its caller leaves unread.

    The server parses, answers and keeps the order of answers. What a request says is judged by the application. Only
    what neither of them bounds is bounded here.
    """

    app: AccessLog

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._room = self.app.connections
        limits = self._limits = self._room.limits
        self._pause = min(
            _MAX_PAUSE_SECONDS,
            min(limits.head_timeout_seconds, limits.keep_alive_seconds, limits.write_timeout_seconds)
            / _CHECKS_PER_LIMIT,
        )
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._between_requests = True
        self._half_closed = False
        self._in_work = 0
        """Requests parsed and not answered."""
        self._waiting_bodies = 0
        """Bytes of bodies since the connection had one request or none to answer."""
        self._head_bytes = 0
        """Bytes since a head or a part of a body was complete: of a head, of trailers, of a chunk's extensions."""
        self._head_since: float | None = self.loop.time()
        """When a head began that is not complete; of a new connection, when it was opened."""
        self._idle_since = self._unread_since = self.loop.time()
        self._unread = 0

    # Called by the event loop

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection; close one that is too many."""
        super().connection_made(transport)
        if not self._room.admit(self, self.client[0] if self.client else None):
            transport.abort()
            return
        self._schedule()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching, and note that nobody waits for the answer."""
        self._room.leave(self)
        if self._timer is not None:
            self._timer.cancel()
        request = None if self.scope is None else self.scope.get(SCOPE)
        if request is not None:
            request.left = True  # type: ignore[attr-defined]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what was read; close the connection once a head is longer than any may be."""
        if self._between_requests:
            if self._head_since is None:
                self._head_since = self.loop.time()
            if not data.isascii():
                data = _percent_encoded(data)
        # In parts: one read of 256 KB may hold 40,000 headers, each of them objects until the head is refused.
        most = self._limits.max_head_bytes
        for begin in range(0, len(data), most):
            part = data[begin : begin + most]
            self._head_bytes += len(part)
            super().data_received(part)
            if self._head_bytes > most:
                self.headers = []
                self.transport.abort()
            if self.transport.is_closing():
                return

    def eof_received(self) -> bool:  # type: ignore[override]
        """Still answer the requests that came before the caller stopped sending."""
        self._half_closed = True
        return self._in_work > 0

    # Called by the parser

    def on_message_begin(self) -> None:
        """Note that a request began."""
        self._between_requests = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Have the request answered, unless where it ends is ambiguous."""
        self._head_since, self._head_bytes = None, 0
        has_body = False
        for name, value in self.headers:
            if name == b"transfer-encoding":
                if value.lower() != b"chunked":
                    raise AmbiguousRequest("the only transfer coding is chunked")
                has_body = True
            elif name == b"content-length":
                has_body = has_body or value != b"0"
        if has_body and self.parser.should_upgrade():
            # The parser passes over the body of such a request, and would read it as the next one.
            raise AmbiguousRequest("a request to upgrade has no body")
        self._in_work += 1
        if self._in_work > _MAX_PIPELINED:
            raise TooManyRequests
        super().on_headers_complete()
        self.headers = []  # for trailers of a chunked body, which are not headers

    def on_body(self, body: bytes) -> None:
        """Leave the body out of the bytes of heads; refuse bodies behind requests that are not answered yet."""
        self._head_bytes = 0
        if self._in_work > 1:
            self._waiting_bodies += len(body)
            if self._waiting_bodies > _MAX_WAITING_BODIES:
                raise TooManyRequests
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the next bytes are of another request."""
        self._between_requests, self._head_bytes = True, 0
        super().on_message_complete()

    # Called by the server

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._in_work -= 1
        if self._in_work <= 1:
            self._waiting_bodies = 0
        self._idle_since = self.loop.time()
        if self._head_since is not None:
            self._head_since = self._idle_since
        super().on_response_complete()
        if self._half_closed and not self._in_work:
            self.transport.close()

    # The time limits

    def _schedule(self) -> None:
        self._due = self.loop.time() + self._pause
        self._timer = self.loop.call_later(self._pause, self._check)

    def _check(self) -> None:
        now = self.loop.time()
        late = now - self._due
        if late > self._pause:
            # The event loop stalled: what callers sent meanwhile is still to be read.
            self._idle_since += late
            self._unread_since += late
            if self._head_since is not None:
                self._head_since += late
        elif unread := self.transport.get_write_buffer_size():
            self._check_unread(unread, now)
        else:
            self._unread = 0
            if not self._in_work and self._is_overdue(now):
                self.transport.close()
        self._schedule()

    def _check_unread(self, unread: int, now: float) -> None:
        if not self._unread or unread < self._unread:
            self._idle_since = self._unread_since = now
        self._unread = unread
        if now - self._unread_since > self._limits.write_timeout_seconds:
            self.transport.abort()

    def _is_overdue(self, now: float) -> bool:
        if self._head_since is not None:
            return now - self._head_since > self._limits.head_timeout_seconds
        return now - self._idle_since > self._limits.keep_alive_seconds


def _percent_encoded(data: bytes) -> bytes:
    """Return a request whose first line has its raw bytes percent-encoded, as they were meant to be."""
    line, end, rest = data.partition(b"\r\n")
    return _RAW_BYTE.sub(lambda byte: b"%%%02X" % byte[0][0], line) + end + rest

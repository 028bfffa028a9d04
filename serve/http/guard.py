"""Limits around uvicorn's HTTP protocol: closes connections that use too much, and leaves every response to the application."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from serve.http.access_log import AccessLog
from serve.http.request import SCOPE

_CHECKS_PER_LIMIT: Final = 8
"""Checks of a connection within the shortest time limit, so limits are accurate to an eighth of it."""
_MAX_PAUSE_SECONDS: Final = 1.0
_MAX_PIPELINED: Final = 64
"""Maximum number of unanswered requests of a connection; uvicorn keeps each of them in memory."""
_MAX_WAITING_BODIES: Final = 1 << 16
"""Maximum bytes of bodies that wait behind an unanswered request; uvicorn resumes reading after each answer."""
_VERSIONS: Final = ("1.0", "1.1")
"""Versions of HTTP that are answered; the parser also reads 0.9 and 2.0 in the line of a request."""
_RAW_BYTE: Final = re.compile(rb"[\x80-\xff]")


class RefusedRequest(ValueError):
    """A request that must not be answered; uvicorn answers 400 in plain text and closes the connection."""


class GuardedConnection(HttpToolsProtocol):
    """A connection with limits on request heads, idle time and unread responses.

    uvicorn parses the requests and keeps their answers in order; the application validates the requests. This class
    limits only what neither of them limits.
    """

    app: AccessLog

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._connections = self.app.connections
        limits = self._limits = self._connections.limits
        self._pause = min(
            _MAX_PAUSE_SECONDS,
            min(limits.head_timeout_seconds, limits.keep_alive_seconds, limits.write_timeout_seconds)
            / _CHECKS_PER_LIMIT,
        )
        self._timer: asyncio.TimerHandle | None = None
        self._between_requests = True
        self._half_closed = False
        self._unanswered = 0
        """Requests that are parsed and not answered."""
        self._waiting_bodies = 0
        """Bytes of bodies since the connection last had at most one unanswered request."""
        self._head_bytes = 0
        """Bytes since the last complete head or part of a body: of a head, trailers or chunk extensions."""
        self._head_since: float | None = self.loop.time()
        """When the incomplete head began, or a new connection was opened; None between requests."""
        self._idle_since = self._unread_since = self.loop.time()
        self._unread = 0

    # Called by the event loop

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection; close it if there are too many."""
        super().connection_made(transport)
        if not self._connections.admit(self, self.client[0] if self.client else None):
            transport.abort()
            return
        self._schedule()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the checks, and record that the caller left."""
        self._connections.leave(self)
        if self._timer is not None:
            self._timer.cancel()
        request = None if self.scope is None else self.scope.get(SCOPE)
        if request is not None:
            request.left = True  # type: ignore[attr-defined]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; close the connection if a head is longer than allowed."""
        if self._between_requests:
            if self._head_since is None:
                self._head_since = self.loop.time()
            if not data.isascii():
                data = _percent_encoded(data)
        # In parts: one read of 256 KB may hold 40,000 headers, which would all become objects before the head is refused.
        limit = self._limits.max_head_bytes
        for begin in range(0, len(data), limit):
            part = data[begin : begin + limit]
            self._head_bytes += len(part)
            super().data_received(part)
            if self._head_bytes > limit:
                self.headers = []
                self.transport.abort()
            if self.transport.is_closing():
                return

    def eof_received(self) -> bool:  # type: ignore[override]
        """Still answer the requests that came before the caller stopped sending."""
        self._half_closed = True
        return self._unanswered > 0

    # Called by the parser

    def on_message_begin(self) -> None:
        """Record that a request began."""
        self._between_requests = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Pass the request to the application; refuse it if it is not HTTP/1 or its end is ambiguous."""
        self._head_since, self._head_bytes = None, 0
        if self.parser.get_http_version() not in _VERSIONS:
            raise RefusedRequest("requests are HTTP/1.0 or HTTP/1.1")
        has_body = False
        for name, value in self.headers:
            if name == b"transfer-encoding":
                if value.lower() != b"chunked":
                    raise RefusedRequest("the only accepted transfer coding is chunked")
                has_body = True
            elif name == b"content-length":
                has_body = has_body or value != b"0"
        if has_body and self.parser.should_upgrade():
            # The parser skips the body of such a request, and would read it as the next request.
            raise RefusedRequest("a request to upgrade must not have a body")
        self._unanswered += 1
        if self._unanswered > _MAX_PIPELINED:
            raise RefusedRequest("too many requests are unanswered")
        super().on_headers_complete()
        self.headers = []  # for trailers of a chunked body, which are not headers

    def on_body(self, body: bytes) -> None:
        """Exclude the body from the bytes of heads; limit bodies that wait behind unanswered requests."""
        self._head_bytes = 0
        if self._unanswered > 1:
            self._waiting_bodies += len(body)
            if self._waiting_bodies > _MAX_WAITING_BODIES:
                raise RefusedRequest("too many bytes wait behind an unanswered request")
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Record that the next bytes belong to another request."""
        self._between_requests, self._head_bytes = True, 0
        super().on_message_complete()

    # Called by the server

    def on_response_complete(self) -> None:
        """Start waiting for the next request."""
        self._unanswered -= 1
        if self._unanswered <= 1:
            self._waiting_bodies = 0
        self._idle_since = self.loop.time()
        if self._head_since is not None:
            self._head_since = self._idle_since
        super().on_response_complete()
        if self._half_closed and not self._unanswered:
            self.transport.close()

    # The time limits

    def _schedule(self) -> None:
        self._timer = self.loop.call_later(self._pause, self._check)

    def _check(self) -> None:
        now = self.loop.time()
        if unread := self.transport.get_write_buffer_size():
            self._check_unread(unread, now)
        else:
            self._unread = 0
            if not self._unanswered and self._is_overdue(now):
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
    """Percent-encode the bytes outside ASCII in the first line of a request, which callers ought to have encoded."""
    line, end, rest = data.partition(b"\r\n")
    return _RAW_BYTE.sub(lambda byte: b"%%%02X" % byte[0][0], line) + end + rest

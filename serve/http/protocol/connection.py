"""A caller's connection: bounded in bytes and in time, its requests answered one after the other."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import httptools

from schemas.errors import ApiError
from serve.http.middleware import AS_SENT
from serve.http.protocol.fast_path import AnsweringConnection, is_one_plain_head, is_plain
from serve.http.protocol.head import END, Head, judge, judge_hosts, judge_part, malformed
from serve.http.request import SCOPE

_WITH_BODY: Final = frozenset({b"content-length", b"transfer-encoding"})
_MAX_CONSECUTIVE_REQUESTS: Final = 32
"""Requests of one address that are answered before it is the others' turn; all its connections share them."""
_LINES: Final = 256
"""Lines of a chunked body that are read at a time."""
_LEAVE_BYTES: Final = 2**20
"""How much of what a caller still sends is read away after a last answer: a connection that is closed while something lies
unread is reset, and the answer may be lost with it."""


class Connection(AnsweringConnection):
    """The server's own protocol behind an admission check.

    The admission check hands the parser one head at a time, measured and judged, and the next one when the answer before is written
    and mostly read. So requests sent together wait as bytes, of which there are never more than one read.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._searched = 0
        self._advancing = self._ending = False
        self._parsed = False
        self._asked: tuple[bytes, bytes | None] | None = None
        self._refused: ApiError | None = None
        self._host = b""
        self._body_read = self._left_bytes = 0

    # What the event loop calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take up the connection, or tell the caller that it is one too many."""
        super().connection_made(transport)
        self._since = self.loop.time()
        why = self._connections.admit(self, self.client[0] if self.client else None)
        if why is not None:
            if self._connections.send_away(self):
                self._refuse(ApiError("too_many_connections", f"{why}; close some, or try again later."))
            else:
                transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and note that nobody waits for what it asked."""
        self._connections.leave(self)
        self._waiting = b""
        if self._is_busy():
            asked: Any = self.cycle.scope.get(SCOPE)
            if asked is not None:
                asked.left = True
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take up what was read."""
        if self._leaving:
            self._left_bytes += len(data)
            if self._left_bytes > _LEAVE_BYTES:
                self.transport.close()
            return
        if self._waiting:
            self._waiting += data
        elif self._is_ready() and is_one_plain_head(data, self._limits):
            # What nearly all requests are: the same as below, with less said about it.
            self._advancing = self.plain = True
            try:
                self._read_head(data, None)
            finally:
                self._advancing = False
            if not self._ending:
                return
        else:
            self._waiting = data
            if not self.in_message:
                self._since = self.loop.time()
        self._advance()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Answer what was asked before a caller stopped sending."""
        self._ending = True
        return not self._leaving and (self._is_busy() or self._head_end() >= 0)

    def resume_writing(self) -> None:
        """Go on with requests that waited until the answers before them were read."""
        super().resume_writing()
        self.loop.call_soon(self._advance)

    # What the server calls

    def shutdown(self) -> None:
        """Answer what was asked already, then close."""
        self._ending = True
        if self._head_end() < 0:
            if self._is_busy():
                self.cycle.keep_alive = False
            else:
                self.transport.close()

    def on_response_complete(self) -> None:
        """Go on with the request after this one."""
        self.server_state.total_requests += 1
        self._since = self.loop.time()
        if self._leaving:
            self._leave()
            return
        to_do = self._waiting or self._ending or self.flow.read_paused
        if to_do and not self._advancing and not self.transport.is_closing():
            self.loop.call_soon(self._advance)

    # What the parser calls

    def on_headers_complete(self) -> None:
        """Check what only the parsed headers tell, then answer."""
        self._parsed = True
        hosts, self.body_left = [], 0
        for name, value in self.headers:
            if name == b"host":
                hosts.append(value)
            elif name in _WITH_BODY:
                self.body_left = int(value) if name == b"content-length" else None
        if not self.plain or len(hosts) != 1 or hosts[0] != self._host:
            self._refused = judge_hosts(hosts, "1.1" if self.plain else self.parser.get_http_version())
            self._host = hosts[0] if self._refused is None and hosts else b""
        else:
            self._refused = None  # the same host as of the request before
        if self.body_left is not None and self.body_left > self._limits.max_body_bytes:
            self._refused = self._body_too_large()
        if self._refused is not None:
            raise self._refused
        if self._asked is not None:
            self.scope[AS_SENT] = self._asked  # type: ignore[typeddict-unknown-key]
        self.answer()

    def on_message_complete(self) -> None:
        """Note the end of a request."""
        self.in_message = False
        if self.cycle is not None:  # there is none before the server answered a request itself
            super().on_message_complete()

    # The admission check

    def _is_ready(self) -> bool:
        cycle = self.cycle
        busy = cycle is not None and not cycle.response_complete
        return not (self.in_message or self.flow.write_paused or busy or self.transport.is_closing())

    def _head_end(self) -> int:
        """Return where the head ends that waits first, -1 while its end is not there."""
        found = -1 if self.in_message else self._waiting.find(END, self._searched)
        return found if found < 0 else found + len(END)

    def _advance(self) -> None:
        """Read on as far as there is something to read, and it can be answered."""
        if self._advancing:
            return
        self._advancing = True
        try:
            for _ in range(max(1, _MAX_CONSECUTIVE_REQUESTS // self._connections.neighbours(self))):
                if not self._step() or not (self._waiting or self._ending or self.flow.read_paused):
                    return
            self.loop.call_soon(self._advance)
        finally:
            self._advancing = False

    def _step(self) -> bool:
        """Read one head, or what there is of a body; False when something has to be waited for."""
        if self._leaving or self.transport.is_closing():
            self._waiting = b""
            return False
        if not self._waiting:
            return self._wait()
        if self.in_message:
            return self._read_body()
        if self._is_busy() or self.flow.write_paused:
            self.flow.pause_reading()
            return False
        if self._waiting[0] in b"\r\n":
            # Empty lines before a request are passed over, as RFC 9112 asks for.
            self._waiting = self._waiting.lstrip(b"\r\n")
            return True
        end = self._head_end()
        try:
            if end < 0:
                self._searched = max(0, len(self._waiting) - len(END) + 1)
                judge_part(self._waiting, self._limits)
                return self._wait()
            head = judge(self._waiting, end, self._limits)
        except ApiError as error:
            self._refuse(error)
            return False
        data, self._waiting, self._searched = self._waiting[:end], self._waiting[end:], 0
        self.plain = head is None and is_plain(data)
        return self._read_head(data, head)

    def _wait(self) -> bool:
        if self._ending and not self._is_busy():
            self.transport.close()
        else:
            self.flow.resume_reading()
        return False

    def _read_head(self, data: bytes, head: Head | None) -> bool:
        self.in_message, self._body_read, self._any_request = True, 0, True
        self._asked, self._parsed = None, False
        if head is not None:
            data = head.for_parser
            self._asked = None if head.method is None else (head.method, head.target)
        if not self._feed(data):
            return False
        if not self._parsed:
            self._refuse(malformed("must keep the grammar of HTTP/1.1"))
        return True

    def _read_body(self) -> bool:
        """Read of a body what there is, and nothing of what follows it."""
        if self.body_left is None:
            return self._read_lines()
        end = min(self.body_left, len(self._waiting))
        self.body_left -= end
        part, self._waiting = self._waiting[:end], self._waiting[end:]
        return self._read_part(part)

    def _read_lines(self) -> bool:
        """Read lines of a chunked body: only the parser knows which is the last one.

        Many at a time, for what follows is copied each time, and lines may be of two bytes.
        """
        data, at = self._waiting, 0
        for _ in range(_LINES):
            end = data.find(b"\n", at) + 1 or len(data)
            if not self._read_part(data[at:end]):
                return False
            at = end
            if not self.in_message or at == len(data):
                break
        self._waiting = data[at:]
        return True

    def _read_part(self, part: bytes) -> bool:
        self._body_read += len(part)
        if self._body_read > self._limits.max_body_bytes:
            self._refuse(self._body_too_large())
            return False
        return self._feed(part)

    def _feed(self, data: bytes) -> bool:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # to nothing that is spoken here: answered like any other
        except httptools.HttpParserError:
            self._refuse(self._refused or malformed("must keep the grammar of HTTP/1.1"))
            return False
        return True

    def _body_too_large(self) -> ApiError:
        return ApiError(
            "content_too_large", f"The request's body is longer than {self._limits.max_body_bytes} bytes."
        )

    # Ends

    def _refuse(self, error: ApiError) -> None:
        """Answer what cannot be a request, and close; where a request is being answered, close after that."""
        self._waiting = b""
        if self._is_busy():
            self._leaving = True  # after the answer
            return
        if not (self.in_message and self._answered_already()):
            response, request_id = self.app.refuse(error)
            self.write_response(response, request_id, close=True)
        self._leave()

    def _answered_already(self) -> bool:
        return self.cycle is not None and self.cycle.scope is self.scope

    def _leave(self) -> None:
        """End the writing side, and read away what the caller still sends, for a while."""
        self._leaving = True
        self._since = self.loop.time()
        if not self.transport.is_closing():
            self.flow.resume_reading()
            self.transport.write_eof()

"""The fast path: plain requests are answered as soon as they are read, in one write, all others by the server."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from serve.cache.bodies import JOINED_BYTES
from serve.http.protocol.head import END
from serve.http.protocol.limits import ConnectionLimits
from serve.http.protocol.timed import TimedConnection
from serve.http.request import SCOPE
from serve.http.responses import Response

_PLAIN: Final = re.compile(rb"GET /[\x21\x22\x24-\x7e]* HTTP/1\.1\r\n")


def is_plain(data: bytes) -> bool:
    """Whether a request is a GET of HTTP/1.1 for a path of this server."""
    return _PLAIN.match(data) is not None


def is_one_plain_head(data: bytes, limits: ConnectionLimits) -> bool:
    """Whether this is such a request, its whole head and nothing after it, in any case within its bounds."""
    line = _PLAIN.match(data)
    return (
        line is not None
        and line.end() <= limits.max_target_bytes
        and data.find(END, line.end() - 2) + len(END) == len(data)
        and len(data) <= min(limits.max_header_line_bytes, limits.max_head_bytes)
        and data.count(b"\r\n") - 2 <= limits.max_headers
    )


class AnsweringConnection(TimedConnection):
    """A connection that answers requests at once which need none of what the server prepares.

    For every request the server makes a task, an event and a message for each part of the answer. A page that lies in
    memory is made before any of that is needed; here it is made while the request is read, and written at once. Whatever
    else comes (other methods, bodies, connections to be closed, answers that have to be waited for) is the server's.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._connections = self.app.connections
        self.plain = False
        self.body_left: int | None = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take up the connection."""
        super().connection_made(Outlet(transport))  # type: ignore[arg-type]
        self._is_closing, self._write, self._writelines = (
            transport.is_closing,
            transport.write,
            transport.writelines,
        )

    def answer(self) -> None:
        """Answer a request, at once if that can be done."""
        if self._is_plain():
            scope: Any = self.scope
            scope["method"] = "GET"
            scope["raw_path"], _, scope["query_string"] = self.url.partition(b"?")
            response = self.app.begin(scope)
            if response is not None:
                self.write_response(response, scope[SCOPE].id)
                self.on_response_complete()
                return
        super().on_headers_complete()

    def _is_plain(self) -> bool:
        """Whether a request is a GET without a body on a connection that stays open."""
        parser = self.parser
        return (
            self.plain
            and self.body_left == 0
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and not self.expect_100_continue
        )

    def write_response(self, response: Response, request_id: str, *, close: bool = False) -> None:
        """Write a whole response at once."""
        lines = "".join([f"{name}: {value}\r\n" for name, value in response.fields(request_id)])
        common, connections = self.server_state.default_headers, self._connections
        head = b"%b%b%b%b" % (
            STATUS_LINE[response.status],
            connections.dated_lines if common is connections.dated_for else connections.dated(common),
            lines.encode("latin-1"),
            b"connection: close\r\n\r\n" if close else b"\r\n",
        )
        if self._is_closing():  # the caller left
            return
        if response.size <= JOINED_BYTES:
            self._write(b"".join((head, *response.body)))
        else:
            self._writelines((head, *response.body))


class Outlet:
    """A transport that drops what is written after its caller left, where the event loop's own raises.

    Parameters
    ----------
    transport
        Whatever is not about writing is its own.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.is_closing = transport.is_closing
        self.close = transport.close
        self._write = transport.write
        self._writelines = transport.writelines

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write, or drop."""
        if not self.is_closing():
            self._write(data)

    def writelines(self, pieces: tuple[bytes, ...]) -> None:
        """Write, or drop."""
        if not self.is_closing():
            self._writelines(pieces)

    def pause_reading(self) -> None:
        """Pause, unless there is nothing to read from."""
        if not self.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume, unless there is nothing to read from."""
        if not self.is_closing():
            self._transport.resume_reading()

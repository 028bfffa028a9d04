"""The time limits of a connection."""

from __future__ import annotations

from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from schemas.errors import ApiError
from serve.http.middleware import RequestMiddleware

_LEAVE_SECONDS: Final = 2.0
"""How long what a caller still sends is read away after a last answer."""


class TimedConnection(HttpToolsProtocol):
    """The server's own protocol, ended when something takes too long."""

    app: RequestMiddleware

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        if not isinstance(self.app, RequestMiddleware):
            raise TypeError(
                f"the application must be a RequestMiddleware without anything around it, not {self.app!r}"
            )
        self._limits = self.app.connections.limits
        self._waiting = b""
        self._leaving = self.in_message = self._any_request = False
        self._since = self._unread_since = self.loop.time()
        self._unread = 0

    def postpone(self, seconds: float) -> None:
        """Leave out a time in which nobody listened."""
        self._since += seconds
        self._unread_since += seconds

    def look(self, now: float) -> None:
        """End whatever takes too long: an answer unread, a head or a body half sent, an idle connection."""
        unread = self.transport.get_write_buffer_size()
        if unread or self._unread:
            self._look_at_unread(unread, now)
        elif self._leaving:
            if now - self._since > _LEAVE_SECONDS and not self._is_busy():
                self.transport.abort()
        elif not self._is_busy():
            self._look_at_silence(now - self._since)

    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _refuse(self, error: ApiError) -> None:
        """Answer what cannot be a request, and close."""
        raise NotImplementedError

    def _look_at_unread(self, unread: int, now: float) -> None:
        if not self._unread or unread < self._unread:
            self._since = self._unread_since = now
        self._unread = unread
        if unread and now - self._unread_since > self._limits.write_timeout_seconds:
            self.transport.abort()

    def _look_at_silence(self, seconds: float) -> None:
        limits = self._limits
        if self.in_message:
            if seconds > limits.body_timeout_seconds:
                self.transport.close()
        elif self._waiting:
            if seconds > limits.head_timeout_seconds:
                within = f"{limits.head_timeout_seconds:g} seconds"
                self._refuse(
                    ApiError("request_timeout", f"The request did not arrive whole within {within}.")
                )
        elif seconds > (limits.keep_alive_seconds if self._any_request else limits.head_timeout_seconds):
            self.transport.close()

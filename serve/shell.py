"""The outermost layer: request ids, the access log, and paths that are no path."""

from __future__ import annotations

import time

from schemas.errors import ApiError
from serve import trace as tracing
from serve.asgi import Application, Message, Receive, Scope, Send
from serve.request_log import Recorder
from serve.response import Response, failed
from serve.route import as_api_error
from serve.shortcut import Shortcut
from serve.trace import Trace


class Shell:
    """Wraps the application so that every answer, whoever makes it, has a request id and a log line.

    Parameters
    ----------
    inner
        The application with the routes.
    shortcut
        Knows the endpoints of plain requests, which need not pass through the application.
    record
        Writes a request's log line.
    """

    def __init__(self, inner: Application, shortcut: Shortcut, record: Recorder) -> None:
        self._inner = inner
        self._shortcut = shortcut
        self._record = record
        self.in_flight = 0
        """Requests being answered now."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass the lifespan through."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        started = time.perf_counter()
        self.in_flight += 1
        sent = _Sent(send, tracing.begin(scope))
        raw_path = _raw_path(scope)
        try:
            await self._answer(scope, receive, sent, raw_path)
        finally:
            self.in_flight -= 1
            trace = sent.trace
            # The query string stays out: whoever puts a key there must not find it in a log as well.
            self._record(
                {
                    "method": scope["method"],
                    "path": raw_path.decode("ascii", "backslashreplace"),
                    "status": sent.status,
                    "code": trace.code,
                    "bytes": sent.size,
                    "ms": round((time.perf_counter() - started) * 1e3, 3),
                    "request_id": trace.request_id,
                    "endpoint": trace.endpoint,
                    "key_id": trace.key_id,
                }
            )

    async def _answer(self, scope: Scope, receive: Receive, sent: _Sent, raw_path: bytes) -> None:
        found = self._shortcut.find(scope["method"], raw_path)
        if found is not None:
            responder, scope["path_params"] = found
            await sent.whole(await responder(scope))
            return
        try:
            if _plain(raw_path):
                await self._inner(scope, receive, sent.message)
            else:
                sent.trace.code = "not_found"
                await sent.whole(failed(ApiError("not_found", "No such path."), sent.trace.request_id))
        except Exception as error:
            if sent.status:  # too late for another answer: the server cuts the connection
                raise
            known = as_api_error(error, sent.trace)
            sent.trace.code = known.code
            await sent.whole(failed(known, sent.trace.request_id))


class _Sent:
    """What was sent of one answer."""

    __slots__ = ("_send", "size", "status", "trace")

    def __init__(self, send: Send, trace: Trace) -> None:
        self._send = send
        self.trace = trace
        self.status = 0
        self.size = 0

    async def whole(self, response: Response) -> None:
        """Send a response of ours."""
        self.status = response.status
        self.size = await response.send(self._send, [self._id()])

    async def message(self, message: Message) -> None:
        """Send a message of the application behind."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message["headers"], self._id()]}
        elif message["type"] == "http.response.body":
            self.size += len(message.get("body", b""))
        await self._send(message)

    def _id(self) -> tuple[bytes, bytes]:
        return (b"x-request-id", self.trace.request_id.encode("ascii"))


def _raw_path(scope: Scope) -> bytes:
    raw = scope.get("raw_path")
    return raw if isinstance(raw, bytes) else str(scope["path"]).encode()


def _plain(raw_path: bytes) -> bool:
    """Tell whether a path can be one of ours: the router behind would take several spellings of each.

    An encoded slash would move the borders between segments, and doubled or trailing ones would give a
    resource a second address.
    """
    doubled = b"//" in raw_path or raw_path.endswith(b"/")
    return not doubled and b"%2f" not in raw_path.lower()

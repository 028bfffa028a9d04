"""The outermost layer: request ids, the log line of each request, and the way to an endpoint's handler."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

import orjson
import structlog

from schemas.errors import ApiError
from serve.http import request as requests
from serve.http.answer import Pending
from serve.http.asgi import Application, Message, Receive, Scope, Send
from serve.http.errors import as_api_error
from serve.http.handler import Begun
from serve.http.protocol.connections import Connections
from serve.http.protocol.limits import ConnectionLimits
from serve.http.request import Request
from serve.http.responses import Response, failed
from serve.http.router import MAX_PATH_BYTES, Router

_BEGUN: Final = "alpha_results.begun"
AS_SENT: Final = "alpha_results.as_sent"
"""In a scope: the method and the target of a request line that the server's parser could not be given."""
_TARGET: Final = re.compile(rb"/[\x21-\x7e]*\Z")
_LOGGER: Final = "serve.access_log"
_SEVERITY: Final = "info"
_EVENT: Final = "request"

Recorder: TypeAlias = Callable[[Mapping[str, Any]], None]


class RequestMiddleware:
    """Gives every answer, whoever makes it, a request id and a log line.

    Parameters
    ----------
    inner
        The application with the routes.
    router
        The same routes, for plain requests: they need nothing of what the application prepares. None takes every request
        through the application.
    record
        Writes a request's log line.
    connections
        Counts and watches callers' connections; by default within the declared limits.
    """

    def __init__(
        self,
        inner: Application,
        router: Router | None,
        record: Recorder,
        connections: Connections | None = None,
    ) -> None:
        self._inner = inner
        self._router = router
        self._record = record
        self.in_flight = 0
        """Requests being answered now."""
        self.connections = Connections(ConnectionLimits()) if connections is None else connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass the lifespan through."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        as_sent = scope.pop(AS_SENT, None)
        is_target = as_sent is None or _restore(scope, *as_sent)
        pending: Pending[Response] | None = scope.pop(_BEGUN, None)
        request = requests.begin(scope) if pending is None else requests.of(scope)
        self.in_flight += 1
        out = _Sender(send, request)
        try:
            if pending is not None:
                await out.response(await pending.wait())
            else:
                await self._answer(scope, receive, out, _raw_path(scope) if is_target else b"")
        finally:
            self.in_flight -= 1
            self._line(scope["method"], _raw_path(scope), out.status, out.size, request)

    def begin(self, scope: Scope) -> Response | None:
        """Answer a plain GET outside of any task, unless there is something to wait for.

        Parameters
        ----------
        scope
            Of a request for which nothing was done yet, with its path as received and its query string. The request
            that was begun is left in it.

        Returns
        -------
        Response or None
            None leaves the rest to :meth:`__call__` with the same scope.
        """
        raw_path = scope["raw_path"]
        if self._router is None or len(raw_path) > MAX_PATH_BYTES:
            return None
        route = self._router.find(raw_path)
        if route is None:
            return None
        request = requests.begin(scope)
        request.path, request.query_string = route.path, scope["query_string"]
        begun = route.handler.begin(request)
        if isinstance(begun, Pending):
            scope[_BEGUN] = begun
            return None
        self._line("GET", raw_path, begun.status, begun.size, request)
        return begun

    def refuse(self, error: ApiError) -> tuple[Response, str]:
        """Return and record the answer to what never became a request, and the id it is given."""
        request = requests.begin({"headers": ()})
        request.code = error.code
        response = failed(error, request.id)
        self._line(None, b"", response.status, response.size, request)
        return response, request.id

    def _line(self, method: str | None, path: bytes, status: int, size: int, request: Request) -> None:
        # The query string stays out: whoever puts a key there must not find it in a log as well.
        self._record(
            {
                "method": method,
                "path": path.decode("ascii", "backslashreplace"),
                "status": status,
                "code": request.code,
                "bytes": size,
                "ms": round((time.perf_counter() - request.started) * 1e3, 3),
                "request_id": request.id,
                "endpoint": request.endpoint,
                "key_id": request.key_id,
            }
        )

    async def _answer(self, scope: Scope, receive: Receive, out: _Sender, raw_path: bytes) -> None:
        request = out.request
        route = None
        if self._router is not None and scope["method"] == "GET" and len(raw_path) <= MAX_PATH_BYTES:
            route = self._router.find(raw_path)
        if route is not None:
            request.path, request.query_string = route.path, scope["query_string"]
            await out.response(await finished(route.handler.begin(request)))
            return
        try:
            if _could_be_ours(raw_path):
                await self._inner(scope, receive, out.message)
            else:
                request.code = "not_found"
                await out.response(failed(ApiError("not_found", "No such path."), request.id))
        except Exception as error:
            if out.status:  # too late for another answer: the server cuts the connection
                raise
            known = as_api_error(error, request)
            request.code = known.code
            await out.response(failed(known, request.id))


async def finished(begun: Begun) -> Response:
    """Return a response, waiting for it where it must be."""
    return await begun.wait() if isinstance(begun, Pending) else begun


class _Sender:
    """Sends one answer, and counts what was sent."""

    __slots__ = ("_send", "request", "size", "status")

    def __init__(self, send: Send, request: Request) -> None:
        self._send = send
        self.request = request
        self.status = 0
        self.size = 0

    async def response(self, response: Response) -> None:
        """Send a response of ours."""
        self.status, self.size = response.status, response.size
        await response.send(self._send, self.request.id)

    async def message(self, message: Message) -> None:
        """Send a message of the application behind."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if not self.request.shared:
                named = (b"x-request-id", self.request.id.encode("ascii"))
                message = {**message, "headers": [named, *message["headers"]]}
        elif message["type"] == "http.response.body":
            self.size += len(message.get("body", b""))
        await self._send(message)


def _restore(scope: Scope, method: bytes, target: bytes) -> bool:
    """Put a request line into a scope as it was sent; False when its target can be none of ours."""
    raw_path, _, query = target.partition(b"?")
    scope["method"], scope["raw_path"], scope["query_string"] = method.decode("ascii"), raw_path, query
    scope["path"] = unquote(raw_path.decode("latin-1"))
    return _TARGET.match(target) is not None


def _raw_path(scope: Scope) -> bytes:
    raw = scope.get("raw_path")
    return raw if isinstance(raw, bytes) else str(scope["path"]).encode()


def _could_be_ours(raw_path: bytes) -> bool:
    """Whether a path can be one of ours: the application would take several spellings of each.

    An encoded slash would move the borders between segments, and doubled or trailing ones would give a
    resource a second address.
    """
    doubled = b"//" in raw_path or (raw_path.endswith(b"/") and raw_path != b"/")
    return raw_path.startswith(b"/") and not doubled and b"%2f" not in raw_path.lower()


def recorder(level: str, *, console: bool) -> Recorder:
    """Return what writes a request's line.

    Parameters
    ----------
    level
        Least severe line written.
    console
        Whether lines are for people; those take the way of all others.

    Returns
    -------
    callable
        Takes what is known of the request. As JSON the line is the one all others would have been, without the
        third of a small request's time that making it step by step takes.
    """
    if logging.getLevelNamesMapping()[level.upper()] > logging.INFO:
        return lambda _: None
    if console:
        log = structlog.get_logger(_LOGGER)
        return lambda known: log.info(_EVENT, **known)
    return _Lines()


class _Lines:
    """Writes lines, those of one turn of the event loop together: a system call for each would be dearer than they are."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []

    def __call__(self, known: Mapping[str, Any]) -> None:
        line = {
            **known,
            "event": _EVENT,
            "logger": _LOGGER,
            "level": _SEVERITY,
            "timestamp": datetime.now(UTC),
        }
        self._waiting.append(orjson.dumps(line, option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE))
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._write)

    def _write(self) -> None:
        lines, self._waiting = self._waiting, []
        sys.stderr.write(b"".join(lines).decode())

"""The outermost layer: request ids, the access log, and paths that are no path."""

from __future__ import annotations

import re
import time
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from schemas.errors import ApiError
from serve.http import request as tracing
from serve.http.access_log import Recorder
from serve.http.asgi import Application, Message, Receive, Scope, Send
from serve.http.handler import as_api_error
from serve.http.protocol.connections import Connections
from serve.http.protocol.limits import ConnectionLimits
from serve.http.request import RequestInfo
from serve.http.responses import Response, failed
from serve.http.router import Router

_BEGUN: Final = "alpha_results.begun"
AS_SENT: Final = "alpha_results.as_sent"
"""In a scope: the method and the target of a request line that the server's parser could not be given."""


_OF_A_TARGET: Final = re.compile(rb"/[\x21-\x7e]*\Z")


class ImmediateResponse(NamedTuple):
    """What was answered while the request was read, and when that began."""

    response: Response
    started: float
    trace: RequestInfo


class _Begun(NamedTuple):
    """An answer that has to be waited for, and when it was begun."""

    started: float
    rest: Awaitable[Response]


class RequestMiddleware:
    """Wraps the application so that every answer, whoever makes it, has a request id and a log line.

    Parameters
    ----------
    inner
        The application with the routes.
    shortcut
        Knows the endpoints of plain requests, which need not pass through the application.
    record
        Writes a request's log line.
    without_task
        Tells whether a request may be begun outside of a task of the event loop.
    connections
        Counts and watches callers' connections; by default within the declared limits.
    """

    def __init__(
        self,
        inner: Application,
        shortcut: Router,
        record: Recorder,
        without_task: Callable[[], bool] = lambda: False,
        connections: Connections | None = None,
    ) -> None:
        self._inner = inner
        self._without_task = without_task
        self._shortcut = shortcut
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
        known = as_sent is None or _restore(scope, *as_sent)
        begun: _Begun | None = scope.pop(_BEGUN, None)
        started = time.perf_counter() if begun is None else begun.started
        self.in_flight += 1
        sent = _Sent(send, tracing.begin(scope) if begun is None else tracing.of(scope))
        raw_path = _raw_path(scope)
        try:
            if begun is None:
                await self._answer(scope, receive, sent, raw_path if known else b"")
            else:
                await sent.whole(await begun.rest)
        finally:
            self.in_flight -= 1
            self._line(scope, sent.status, sent.size, started, sent.trace)

    def at_once(self, scope: Scope) -> ImmediateResponse | None:
        """Answer a plain GET, outside of any task, unless there is something to wait for.

        Parameters
        ----------
        scope
            Of a request for which nothing was done yet, with its path as received and its query string.

        Returns
        -------
        ImmediateResponse or None
            None leaves the request to :meth:`__call__`, to be called with the same scope: what was begun goes on there.
        """
        found = self._shortcut.find(scope["method"], scope["raw_path"])
        if found is None or found[0].in_task or not self._without_task():
            return None
        started = time.perf_counter()
        trace = tracing.begin(scope)
        way, scope["path_params"] = found
        steps = way.responder(scope)
        try:
            waited_for = steps.send(None)
        except StopIteration as end:
            return ImmediateResponse(end.value, started, trace)
        scope[_BEGUN] = _Begun(started, _resumed(steps, waited_for))
        return None

    def answered(self, scope: Scope, answer: ImmediateResponse) -> None:
        """Record a request that was answered at once."""
        response = answer.response
        self._line(scope, response.status, response.size, answer.started, answer.trace)

    def refuse(self, error: ApiError) -> tuple[Response, str]:
        """Return and record the answer to what never became a request, and the id it is given."""
        started = time.perf_counter()
        nothing: Scope = {"method": None, "raw_path": b"", "headers": ()}
        trace = tracing.begin(nothing)
        trace.code = error.code
        response = failed(error, trace.request_id)
        self._line(nothing, response.status, response.size, started, trace)
        return response, trace.request_id

    def _line(self, scope: Scope, status: int, size: int, started: float, trace: RequestInfo) -> None:
        # The query string stays out: whoever puts a key there must not find it in a log as well.
        self._record(
            {
                "method": scope["method"],
                "path": _raw_path(scope).decode("ascii", "backslashreplace"),
                "status": status,
                "code": trace.code,
                "bytes": size,
                "ms": round((time.perf_counter() - started) * 1e3, 3),
                "request_id": trace.request_id,
                "endpoint": trace.endpoint,
                "key_id": trace.key_id,
            }
        )

    async def _answer(self, scope: Scope, receive: Receive, sent: _Sent, raw_path: bytes) -> None:
        found = self._shortcut.find(scope["method"], raw_path)
        if found is not None:
            way, scope["path_params"] = found
            await sent.whole(await way.responder(scope))
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


@types.coroutine
def _resumed(steps: Coroutine[Any, Any, Response], waited_for: Any) -> Generator[Any, Any, Response]:
    """Go on with a coroutine that was begun by hand and waits for something, in the task that awaits this."""
    while True:
        try:
            sent = yield waited_for
            go_on = partial(steps.send, sent)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is for the coroutine to judge
            go_on = partial(steps.throw, error)
        try:
            waited_for = go_on()
        except StopIteration as end:
            response: Response = end.value
            return response


class _Sent:
    """What was sent of one answer."""

    __slots__ = ("_send", "size", "status", "trace")

    def __init__(self, send: Send, trace: RequestInfo) -> None:
        self._send = send
        self.trace = trace
        self.status = 0
        self.size = 0

    async def whole(self, response: Response) -> None:
        """Send a response of ours."""
        self.status, self.size = response.status, response.size
        await response.send(self._send, self.trace.request_id)

    async def message(self, message: Message) -> None:
        """Send a message of the application behind."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if not self.trace.shared:
                named = (b"x-request-id", self.trace.request_id.encode("ascii"))
                message = {**message, "headers": [*message["headers"], named]}
        elif message["type"] == "http.response.body":
            self.size += len(message.get("body", b""))
        await self._send(message)


def _restore(scope: Scope, method: bytes, target: bytes) -> bool:
    """Put a request line into a scope as it was sent; False when its target can be none of ours."""
    raw_path, _, query = target.partition(b"?")
    scope["method"], scope["raw_path"], scope["query_string"] = method.decode("ascii"), raw_path, query
    scope["path"] = unquote(raw_path.decode("latin-1"))
    return _OF_A_TARGET.match(target) is not None


def _raw_path(scope: Scope) -> bytes:
    raw = scope.get("raw_path")
    return raw if isinstance(raw, bytes) else str(scope["path"]).encode()


def _plain(raw_path: bytes) -> bool:
    """Tell whether a path can be one of ours: the router behind would take several spellings of each.

    An encoded slash would move the borders between segments, and doubled or trailing ones would give a
    resource a second address.
    """
    doubled = b"//" in raw_path or raw_path.endswith(b"/")
    return raw_path.startswith(b"/") and not doubled and b"%2f" not in raw_path.lower()

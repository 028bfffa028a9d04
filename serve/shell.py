"""The outermost layer: request ids, the access log, and paths that are no path."""

from __future__ import annotations

import time

from schemas.errors import ApiError
from serve import trace as tracing
from serve.asgi import Application, Message, Receive, Scope, Send
from serve.request_log import Recorder
from serve.response import failed
from serve.route import as_api_error


class Shell:
    """Wraps the application so that every answer, whoever makes it, has a request id and a log line.

    Parameters
    ----------
    inner
        The application with the routes.
    record
        Writes a request's log line.
    """

    def __init__(self, inner: Application, record: Recorder) -> None:
        self._inner = inner
        self._record = record
        self.in_flight = 0
        """Requests being answered now."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass the lifespan through."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        self.in_flight += 1
        trace = tracing.begin(scope)
        started = time.perf_counter()
        status, size = 0, 0

        async def sending(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message["headers"], (b"x-request-id", trace.request_id.encode())]
                message = {**message, "headers": headers}
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        raw_path = _raw_path(scope)
        try:
            if not _plain(raw_path):
                trace.code = "not_found"
                await failed(ApiError("not_found", "No such path."), trace.request_id)(
                    scope, receive, sending
                )
            else:
                await self._inner(scope, receive, sending)
        except Exception as error:
            if status:  # too late for another answer: the server cuts the connection
                raise
            known = as_api_error(error, trace)
            trace.code = known.code
            await failed(known, trace.request_id)(scope, receive, sending)
        finally:
            self.in_flight -= 1
            # The query string stays out: whoever puts a key there must not find it in a log as well.
            self._record(
                {
                    "method": scope["method"],
                    "path": raw_path.decode("ascii", "backslashreplace"),
                    "status": status,
                    "code": trace.code,
                    "bytes": size,
                    "ms": round((time.perf_counter() - started) * 1e3, 3),
                    "request_id": trace.request_id,
                    "endpoint": trace.endpoint,
                    "key_id": trace.key_id,
                }
            )


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

"""The outermost layer: request ids, log lines, and the checks that precede routing."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import orjson
import structlog

from schemas.endpoint import Caching
from schemas.errors import ApiError
from serve.compute import CURRENT_REQUEST
from serve.http.connections import Connections
from serve.http.errors import failure_response, no_such_path
from serve.http.params import bad_request
from serve.http.request import SCOPE, Application, Message, Receive, Request, Scope, Send

_LOGGER: Final = "serve.access_log"
_EVENT: Final = "request"

_CALLER_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}\Z")
_ID_BYTES: Final = 16
_HOST: Final = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=:%\[\]-]*\Z")
"""One host. Two Host lines, which are joined by a comma and a space, do not match."""

_SECRET: Final = re.compile(r"(_[0-9A-Za-z]+_[0-9A-Za-z_-]{16})\.[0-9A-Za-z_-]{43}")
"""A token that a caller put in a path by mistake."""
_TRACEPARENT: Final = re.compile(
    rb"(?!ff)[0-9a-f]{2}-(?P<trace>(?!0{32})[0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}\Z"
)

Recorder: TypeAlias = Callable[[Mapping[str, Any]], None]


class AccessLog:
    """Gives every answer a request id and a log line, whichever layer produces it.

    Parameters
    ----------
    inner
        The application with the routes.
    records
        Called with the fields of each log line, to write the line or measure the request.
    connections
        Counts the open connections, and holds the limits.
    """

    def __init__(self, inner: Application, records: Sequence[Recorder], connections: Connections) -> None:
        self._inner = inner
        self._records = records
        self.in_flight = 0
        """Requests being answered now."""
        self.connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass the lifespan through."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        request = _begin(scope)
        previous = CURRENT_REQUEST.set(request)  # a message of an agent calls the application again
        status = size = 0

        async def send_counted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                if request.caching is not Caching.SHARED:
                    message["headers"] = [(b"x-request-id", request.id.encode("ascii")), *message["headers"]]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        self.in_flight += 1
        try:
            refused = self._refusal(scope, request)
            if refused is None:
                await self._inner(scope, receive, send_counted)
            else:
                await failure_response(refused, request)(scope, receive, send_counted)
        finally:
            self.in_flight -= 1
            CURRENT_REQUEST.reset(previous)
            self._line(scope, status, size, request)

    def _refusal(self, scope: Scope, request: Request) -> ApiError | None:
        """Return the error of an invalid request head, whatever it requests; None if the head is valid."""
        limits, raw_path, query = self.connections.limits, scope["raw_path"], scope["query_string"]
        if len(raw_path) + len(query) + bool(query) > limits.max_target_bytes:
            return ApiError(
                "uri_too_long",
                f"The request's target is longer than {limits.max_target_bytes} bytes; name fewer symbols or alphas in one request.",
            )
        if sum(map(len, request.headers)) + sum(map(len, request.headers.values())) > limits.max_head_bytes:
            return ApiError(
                "request_header_fields_too_large",
                f"The request's head is longer than {limits.max_head_bytes} bytes; send fewer or shorter headers.",
            )
        host = request.headers.get(b"host")
        if not _HOST.match(host or b"") or (host is None and scope["http_version"] != "1.0"):
            return bad_request("request", "must have exactly one Host header, with the name of a host")
        if not _is_canonical(raw_path):
            return no_such_path(scope["path"])
        return None

    def _line(self, scope: Scope, status: int, size: int, request: Request) -> None:
        # Without the query string, and without a secret in the path: a key that a caller puts there must not get into the log.
        path = scope["raw_path"].decode("ascii", "backslashreplace")
        line = {
            "method": scope["method"],
            "path": _SECRET.sub(r"\1.…", path) if "." in path else path,
            "status": status,
            "code": request.code,
            "bytes": size,
            "ms": round((time.perf_counter() - request.started) * 1e3, 3),
            "request_id": request.id,
            "trace_id": _trace_id(request),
            "endpoint": request.endpoint,
            "key_id": request.key_id,
        }
        for record in self._records:
            record(line)


def _begin(scope: Scope) -> Request:
    """Create the request of a scope and store it there."""
    started, headers, client = time.perf_counter(), by_name(scope["headers"]), scope.get("client")
    caller_id = _CALLER_ID.match(headers.get(b"x-request-id", b""))
    request = scope[SCOPE] = Request(
        os.urandom(_ID_BYTES).hex() if caller_id is None else caller_id[0].decode("ascii"),
        headers,
        client[0] if client else None,
        scope=scope,
        started=started,
    )
    return request


def by_name(lines: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers, whose names the server has lower-cased; lines of the same name are joined by commas, as HTTP prescribes."""
    headers: dict[bytes, bytes] = {}
    for name, value in lines:
        headers[name] = headers[name] + b", " + value if name in headers else value
    return headers


def _trace_id(request: Request) -> str | None:
    """Return the trace id in ``traceparent`` (W3C Trace Context); None without a valid header."""
    parent = _TRACEPARENT.match(request.headers.get(b"traceparent", b""))
    return None if parent is None else parent["trace"].decode("ascii")


def _is_canonical(raw_path: bytes) -> bool:
    """Whether a path is in canonical form; the router would accept several spellings of each.

    An encoded slash would shift the boundaries between segments; doubled or trailing slashes would give a
    resource a second address.
    """
    doubled = b"//" in raw_path or (raw_path.endswith(b"/") and raw_path != b"/")
    return raw_path.startswith(b"/") and not doubled and b"%2f" not in raw_path.lower()


def recorder(level: str, *, console: bool) -> Recorder:
    """Return the function that writes a request's log line.

    Parameters
    ----------
    level
        Least severe line written.
    console
        Whether to write console lines, with structlog like all other lines.

    Returns
    -------
    callable
        Takes the fields of the line. It writes JSON as structlog would, in a fraction of the time.
    """
    if logging.getLevelNamesMapping()[level.upper()] > logging.INFO:
        return lambda _: None
    if console:
        log = structlog.get_logger(_LOGGER)
        return lambda entry: log.info(_EVENT, **entry)
    return _write_json


def _write_json(entry: Mapping[str, Any]) -> None:
    line = {
        **entry,
        "event": _EVENT,
        "logger": _LOGGER,
        "level": "info",
        "timestamp": datetime.now(UTC),
    }
    # A full disk of the log does not affect the call, as with the handlers of logging.
    with contextlib.suppress(OSError):
        sys.stderr.write(orjson.dumps(line, option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE).decode())

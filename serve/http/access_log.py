"""The outermost layer: an id for each request, its line in the log, and the bounds that hold before there is a route."""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import orjson
import structlog

from schemas.errors import ApiError
from serve.compute import ANSWERED
from serve.http.connections import Connections
from serve.http.errors import failure_response
from serve.http.params import refusal
from serve.http.request import SCOPE, Application, Message, Receive, Request, Scope, Send, by_name

_LOGGER: Final = "serve.access_log"
_SEVERITY: Final = "info"
_EVENT: Final = "request"

_CALLERS_OWN: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}\Z")
_ID_BYTES: Final = 16
_HOST: Final = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=:%\[\]-]*\Z")
"""One host; two header lines of it are joined by a comma and a blank."""

_SECRET: Final = re.compile(r"(_[0-9A-Za-z]+_[0-9A-Za-z_-]{16})\.[0-9A-Za-z_-]{43}")
"""A token in a path, where a caller put it by mistake."""
_TRACEPARENT: Final = re.compile(rb"(?!ff)[0-9a-f]{2}-(?P<trace>[0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}\Z")

Recorder: TypeAlias = Callable[[Mapping[str, Any]], None]


class AccessLog:
    """Gives every answer, whoever makes it, a request id and a log line.

    Parameters
    ----------
    inner
        The application with the routes.
    records
        Write a request's log line, and measure it.
    connections
        Counts callers' connections.
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
        ANSWERED.set(request)
        status = size = 0

        async def send_noted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                if not request.shared:
                    message["headers"] = [(b"x-request-id", request.id.encode("ascii")), *message["headers"]]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        self.in_flight += 1
        try:
            refused = self._refusal(scope, request)
            if refused is None:
                await self._inner(scope, receive, send_noted)
            else:
                await failure_response(refused, request)(scope, receive, send_noted)
        finally:
            self.in_flight -= 1
            self._line(scope, status, size, request)

    def _refusal(self, scope: Scope, request: Request) -> ApiError | None:
        """Return what is wrong with the head of a request, whatever it asks for."""
        limits, raw_path, query = self.connections.limits, scope["raw_path"], scope["query_string"]
        if len(raw_path) + len(query) + bool(query) > limits.max_target_bytes:
            return ApiError(
                "uri_too_long", f"The request's target is longer than {limits.max_target_bytes} bytes."
            )
        if sum(map(len, request.headers)) + sum(map(len, request.headers.values())) > limits.max_head_bytes:
            return ApiError(
                "request_header_fields_too_large",
                f"The request's head is longer than {limits.max_head_bytes} bytes.",
            )
        host = request.headers.get(b"host")
        if not _HOST.match(host or b"") or (host is None and scope["http_version"] != "1.0"):
            return refusal(
                [{"name": "request", "constraint": "must have one Host header, which names a host"}]
            )
        if not _is_canonical(raw_path):
            return ApiError("not_found", "No such path.")
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
    """Begin a request, and leave it in its scope, whose server wrote the names of headers in small letters."""
    started, pairs, client = time.perf_counter(), scope["headers"], scope.get("client")
    headers = dict(pairs)
    if len(headers) < len(pairs):
        headers = by_name(pairs)
    given = headers.get(b"x-request-id")
    own = given is not None and _CALLERS_OWN.match(given)
    request = scope[SCOPE] = Request(
        given.decode("ascii") if own and given is not None else os.urandom(_ID_BYTES).hex(),
        headers,
        client[0] if client else None,
        scope=scope,
        started=started,
    )
    return request


def _trace_id(request: Request) -> str | None:
    """Return the trace that a request belongs to by its ``traceparent`` (W3C Trace Context); None without a valid one."""
    given = _TRACEPARENT.match(request.headers.get(b"traceparent", b""))
    trace_id = None if given is None else given["trace"].decode("ascii")
    return None if trace_id == "0" * 32 else trace_id


def _is_canonical(raw_path: bytes) -> bool:
    """Whether a path is spelled as ours are: the router would take several spellings of each.

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
        Whether lines are for people; structlog writes those, as it does all others.

    Returns
    -------
    callable
        Takes the fields of the line. As JSON it writes the line structlog would, in a fraction of the time.
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
        "level": _SEVERITY,
        "timestamp": datetime.now(UTC),
    }
    sys.stderr.write(orjson.dumps(line, option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE).decode())

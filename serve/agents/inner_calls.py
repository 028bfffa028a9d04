"""Calls of ``/v1`` from within the process, with the key, address and request id of the outer request.

A tool is subject to the same checks, grants and limits as any caller; each call is counted and logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson

from schemas.endpoints import ENDPOINTS
from serve.http.request import Application, Message, Scope

_PASSED_ON: Final = frozenset(
    {b"authorization", b"x-forwarded-for", b"x-forwarded-proto", b"host", b"traceparent"}
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an endpoint.

    Attributes
    ----------
    endpoint
        Its id in the registry.
    path, query
        Values of the path's placeholders and of the query; a query value of None is left out.
    """

    endpoint: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> tuple[str, str]:
        """The path and the query string, encoded."""
        path = ENDPOINTS[self.endpoint].path
        for name, value in self.path.items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        return path, urlencode({name: value for name, value in self.query.items() if value is not None})

    @property
    def address(self) -> str:
        """The URL of the call, relative to the service."""
        path, query = self.target
        return f"GET {path}?{query}" if query else f"GET {path}"


async def call_endpoint(
    application: Application, outer: Scope, request_id: str, call: Call
) -> tuple[int, Any]:
    """Make one call and return its answer.

    Parameters
    ----------
    application
        The outermost application, so that the call is logged and bounded like any other.
    outer
        Scope of the outer request.
    request_id
        Id of the outer request.

    Returns
    -------
    tuple of int and Any
        The status, and the body parsed from JSON.
    """
    path, query = call.target
    headers = [(name, value) for name, value in outer["headers"] if name in _PASSED_ON]
    scope: Scope = {
        "type": "http",
        "asgi": outer["asgi"],
        "http_version": outer["http_version"],
        "method": "GET",
        "scheme": outer["scheme"],
        "path": path,
        "raw_path": path.encode("ascii"),
        "query_string": query.encode("ascii"),
        "root_path": "",
        "headers": [*headers, (b"x-request-id", request_id.encode("ascii"))],
        "client": outer["client"],
        "server": outer["server"],
        "state": outer.get("state", {}),
    }
    status, body = 500, bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif message["type"] == "http.response.body":
            body.extend(message.get("body", b""))

    await application(scope, receive, send)
    return status, orjson.loads(bytes(body))

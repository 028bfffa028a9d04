"""The MCP server, mounted in the application: stateless, one POST per message, answered as JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import unquote

import orjson
from mcp.server import MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import ToolAnnotations

from schemas.endpoints import ENDPOINTS
from schemas.project import project_version
from serve.agents.tools import Call, Tools
from serve.compute import CURRENT_REQUEST
from serve.http.request import Application, Message, Receive, Request, Scope, Send
from serve.state import ServerState

MAX_BODY: Final = 2**16
"""Maximum bytes of a message."""
_ME: Final = ENDPOINTS["meta.me"]
"""A message needs the grant of this endpoint and counts as a call of it; calls by tools are checked and counted separately."""
_PASSED_ON: Final = frozenset(
    {b"authorization", b"x-forwarded-for", b"x-forwarded-proto", b"host", b"traceparent"}
)
"""Headers of a message that are passed on with the calls of its tool."""
_INSTRUCTIONS: Final = """\
Results of trading signals ("alphas"): weekly cross-sections, daily ledgers, metrics, and the outcomes of their checks.
Begin with `find`, then `judge`. Numbers are rounded to six digits. `units` has their units and `snapshot` their build;
`withheld` and `refused` say what is not shown and why; `cut` says which lists are longer, and `call` is the request that
returns them in full. A figure that is not `reproduced` was stated by the run and is not proven."""


class Agents:
    """Answers ``/mcp``.

    Parameters
    ----------
    service
        State of the server, with its keys.
    """

    def __init__(self, service: ServerState) -> None:
        self._service = service
        self._application: Application | None = None
        server = MCPServer(
            "alpha-results",
            version=project_version(),
            instructions=_INSTRUCTIONS,
            subscriptions=False,
            tools=[_strict_tool(answer) for answer in Tools(self._call).all],
        )
        server.prompt("first_look", description="Look at what is there.")(_first_look)
        server.prompt("due_diligence", description="Examine one alpha before money is put on it.")(
            _due_diligence
        )
        # A browser sends no key by itself, so `Origin` and `Host` need no check.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        server.streamable_http_app(
            json_response=True,
            stateless_http=True,
            max_request_body_size=MAX_BODY,
            transport_security=security,
        )
        self._sessions = server.session_manager

    @asynccontextmanager
    async def running(self, application: Application) -> AsyncIterator[None]:
        """Answer messages inside the block; tools call the given application."""
        self._application = application
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one message, after the checks of its key."""
        request: Request = CURRENT_REQUEST.get()
        request.endpoint = _ME.id
        if scope["method"] != "POST":
            await _refuse_method(send)
            return
        await self._service.access.authorize(request.headers, request.client, _ME, request)
        await self._sessions.handle_request(scope, receive, send)

    async def _call(self, call: Call) -> tuple[int, Any]:
        """Call an endpoint within the process, with the key, address and request id of the message whose tool is running.

        A tool is subject to the same checks, grants and limits as any caller; each call is counted and logged.
        """
        assert self._application is not None, "messages are answered while the application runs"
        outer: Request = CURRENT_REQUEST.get()
        path, query = call.target
        headers = [(name, value) for name, value in outer.scope["headers"] if name in _PASSED_ON]
        scope: Scope = {
            **{name: outer.scope[name] for name in ("asgi", "http_version", "scheme", "client", "server")},
            "type": "http",
            "method": "GET",
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": [*headers, (b"x-request-id", outer.id.encode("ascii"))],
            "state": outer.scope.get("state", {}),
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

        # The outermost application, so that the call is logged and bounded like any other.
        await self._application(scope, receive, send)
        return status, orjson.loads(bytes(body))


def _strict_tool(answer: Callable[..., Awaitable[str]]) -> Tool:
    """Return a tool that refuses unknown arguments; otherwise a misspelt window or filter would be ignored."""
    tool = Tool.from_function(
        answer, annotations=ToolAnnotations(read_only_hint=True), structured_output=False
    )
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters["additionalProperties"] = False
    return tool


async def _refuse_method(send: Send) -> None:
    """Answer 405: the server offers no stream and keeps no sessions."""
    headers = [(b"allow", b"POST"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 405, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _first_look() -> str:
    """Return the prompt of a first look."""
    return (
        "Find the alphas I may read, best information ratio first, and describe the three best. For each, begin with the "
        "outcome of its checks, then name its figures with units. Say which figures are withheld or only stated, and why."
    )


def _due_diligence(alpha: str) -> str:
    """Return the prompt of a due diligence."""
    return (
        f"Examine the alpha {alpha} as if money depended on it. Judge it: audit, metrics, luck. Describe it, and compare its "
        "claims with its figures. Explain its best and its worst week. Find the alphas it resembles, and compare it with them. "
        "End with what speaks for it, what speaks against it, and what these data cannot show. Never call a figure proven that "
        "is not reproduced."
    )

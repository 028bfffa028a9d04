"""The parts of the server that `serve.http.protocol` relies on without their being documented, each named here."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import uvicorn
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.server import ServerState

from serve.http.middleware import RequestMiddleware
from serve.http.protocol.connection import Connection
from serve.http.router import Router

ATTRIBUTES = {
    "app",
    "client",
    "cycle",
    "expect_100_continue",
    "flow",
    "headers",
    "loop",
    "parser",
    "scope",
    "server_state",
    "transport",
}
OVERRIDDEN = {
    "connection_lost": ["self", "exc"],
    "connection_made": ["self", "transport"],
    "data_received": ["self", "data"],
    "eof_received": ["self"],
    "on_headers_complete": ["self"],
    "on_message_complete": ["self"],
    "on_response_complete": ["self"],
    "resume_writing": ["self"],
    "shutdown": ["self"],
}


async def _nothing(*_: Any) -> None:
    raise NotImplementedError


def _config() -> uvicorn.Config:
    shell = RequestMiddleware(_nothing, Router([]), lambda _: None)
    config = uvicorn.Config(shell, log_config=None, proxy_headers=False, ws="none", lifespan="off")
    config.load()
    return config


def test_the_server_hands_the_application_over_as_it_is() -> None:
    config = _config()
    assert isinstance(config.loaded_app, RequestMiddleware)


def test_the_protocol_has_every_part_that_is_used() -> None:
    async def attributes() -> set[str]:
        plain = httptools_impl.HttpToolsProtocol(_config(), ServerState(), {}, asyncio.get_running_loop())
        return set(vars(plain))

    assert asyncio.run(attributes()) >= ATTRIBUTES
    for name, parameters in OVERRIDDEN.items():
        method = getattr(httptools_impl.HttpToolsProtocol, name)
        assert list(inspect.signature(method).parameters) == parameters, name
    assert {"connections", "default_headers", "tasks", "total_requests"} <= set(vars(ServerState()))
    assert {"pause_reading", "resume_reading", "write_paused", "read_paused"} <= set(
        dir(FlowControl(asyncio.Transport()))
    )
    assert {"keep_alive", "response_complete", "scope"} <= set(
        inspect.signature(httptools_impl.RequestResponseCycle).parameters
    ) | {"response_complete"}
    assert httptools_impl.STATUS_LINE[200] == b"HTTP/1.1 200 OK\r\n"


def test_the_protocol_gained_no_way_past_the_gate() -> None:
    """A new callback of the transport or the parser would reach the server's code before the admission check."""
    known = {
        "handle_websocket_upgrade",
        "on_body",
        "on_header",
        "on_message_begin",
        "on_url",
        "pause_writing",
        "send_400_response",
        "timeout_keep_alive_handler",
        *OVERRIDDEN,
    }
    public = {name for name in vars(httptools_impl.HttpToolsProtocol) if not name.startswith("_")}
    assert public == known
    assert set(OVERRIDDEN) <= set(vars(Connection))

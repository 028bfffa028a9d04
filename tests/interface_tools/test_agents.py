"""The conformance suite of the Model Context Protocol on `/mcp`, for servers of tools and prompts.

Its other scenarios want tools and resources of their own making. It sends no key, so a proxy adds one.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.interface_tools.conftest import Service, node

SCENARIOS = ("server-initialize", "ping", "tools-list", "prompts-list")


@pytest.fixture
def open_address(service: Service) -> Iterator[str]:
    """Return an address at which the service answers callers without a key."""
    address = urlsplit(service.address)

    class Proxy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            sent = {name: text for name, text in self.headers.items() if name.lower() != "connection"}
            headers = {**sent, "Authorization": f"Bearer {service.key}"}
            with closing(http.client.HTTPConnection(address.netloc)) as connection:
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                content = answer.read()
            with suppress(BrokenPipeError, ConnectionResetError):  # the suite leaves once it has seen enough
                self.send_response(answer.status)
                self.send_header("content-type", answer.headers.get("content-type", "application/json"))
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_DELETE = do_POST  # noqa: N815 - names of the library

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever).start()
        yield f"http://127.0.0.1:{proxy.server_port}"
        proxy.shutdown()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_conformance_suite_of_the_protocol_passes(
    scenario: str, open_address: str, tools: Path, tmp_path: Path
) -> None:
    command = ("server", "--url", f"{open_address}/mcp", "--scenario", scenario)
    done = node(tools, "conformance", *command, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout

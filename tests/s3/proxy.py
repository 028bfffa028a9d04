"""A proxy in front of the real gateway that mishandles conditional writes as some stores do.

No store that ignores conditions is available for tests, so the proxy imitates this fault; every other answer is the real
gateway's.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.support.s3 import S3Server


class Fault(Enum):
    """Effect on a conditional request."""

    IGNORES_BOTH = ("If-Match", "If-None-Match")
    IGNORES_IF_MATCH = ("If-Match",)
    UNKNOWN = ()


@dataclass
class Proxy:
    """The proxy's address and its count of conditional writes."""

    endpoint: str
    conditional: list[str] = field(default_factory=list)


@contextmanager
def careless(server: S3Server, fault: Fault) -> Iterator[Proxy]:
    """Run a proxy within the block."""
    account = Credentials(server.account.access_key, server.account.secret_key)
    gateway = server.endpoint.removeprefix("http://")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.command == "PUT" and ("If-Match" in self.headers or "If-None-Match" in self.headers):
                proxy.conditional.append(self.path)
                if fault is Fault.UNKNOWN:
                    self.answer(501, {}, b"<Error><Code>NotImplemented</Code></Error>")
                    return
            # The removed header was signed, so the request is signed again.
            left_out = {"authorization", "host", "connection", "content-length", "x-amz-date"}
            left_out |= {name.lower() for name in fault.value}
            headers = {name: value for name, value in self.headers.items() if name.lower() not in left_out}
            request = AWSRequest(self.command, f"http://{gateway}{self.path}", headers, body)
            S3SigV4Auth(account, "s3", "us-east-1").add_auth(request)
            connection = http.client.HTTPConnection(gateway, timeout=30)
            try:
                connection.request(self.command, self.path, body, dict(request.headers.items()))
                result = connection.getresponse()
                self.answer(result.status, dict(result.getheaders()), result.read())
            finally:
                connection.close()

        def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response_only(status)
            length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(body))
            for name, value in headers.items():
                if name.lower() not in {"content-length", "transfer-encoding", "connection"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", length)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = forward  # noqa: N815 - http.server calls them so

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    proxy = Proxy(f"http://127.0.0.1:{listening.server_address[1]}")
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    try:
        yield proxy
    finally:
        listening.shutdown()
        listening.server_close()

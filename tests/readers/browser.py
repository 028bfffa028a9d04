"""A browser that requests a page through a proxy, which adds the key and selects the coding.

A page's script may set neither by itself. The bytes of the answer are passed on unchanged.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import urllib3

from tests.support.compressed_page import CompressedPage
from tests.support.waiting import PATIENCE

_SCRIPT: Final = b"""<!doctype html><title>reader</title><script>
fetch("/answer").then(answer => answer.arrayBuffer()).then(
  body => fetch("/read", {method: "POST", body}),
  error => fetch("/failed", {method: "POST", body: String(error)}));
</script>"""


class _Between(ThreadingHTTPServer):
    """Serves a page with a script, and forwards the script's requests to the service."""

    def __init__(self, page: CompressedPage, coding: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.page, self.coding = page, coding
        self.read: bytes | None = None
        self.failure = ""
        self.over = threading.Event()


class _Answer(BaseHTTPRequestHandler):
    server: _Between

    def do_GET(self) -> None:
        if self.path == "/":
            self._send(_SCRIPT, {"content-type": "text/html"})
        elif self.path == "/answer":
            page = self.server.page
            wanted = {"authorization": f"Bearer {page.token}", "accept-encoding": self.server.coding}
            result = urllib3.request("GET", page.address, headers=wanted, decode_content=False)
            assert result.headers["content-encoding"] == self.server.coding
            passed = {name: result.headers[name] for name in ("content-type", "content-encoding")}
            self._send(result.data, passed)
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/read":
            self.server.read = body
        else:
            self.server.failure = body.decode()
        self._send(b"", {})
        self.server.over.set()

    def _send(self, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def read_by(browser: list[str], page: CompressedPage, coding: str, profile: Path) -> bytes:
    """Return the page as read by a script in a browser.

    Parameters
    ----------
    browser
        The command, without the address.
    profile
        An empty folder for its profile.
    """
    with _listening(_Between(page, coding)) as between, (profile / "log").open("wb") as log:
        address = f"http://127.0.0.1:{between.server_port}/"
        process = subprocess.Popen(
            [*browser, address], stdout=log, stderr=log, cwd=profile, start_new_session=True
        )
        try:
            answered = between.over.wait(PATIENCE)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # its helpers too
            process.wait()
        assert answered, (profile / "log").read_text(errors="replace")[-2000:]
        assert between.read is not None, between.failure
        return between.read


@contextmanager
def _listening(between: _Between) -> Iterator[_Between]:
    thread = threading.Thread(target=between.serve_forever)
    thread.start()
    try:
        yield between
    finally:
        between.shutdown()
        thread.join()
        between.server_close()

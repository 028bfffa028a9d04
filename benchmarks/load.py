"""Load: `wrk` driven by a generated script over a list of requests; and single requests over one connection."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_SCRIPT: Final = """
local requests, count, at = {}, 0, 0
local again = %(again)s

function init(args)
  for line in io.lines("%(list)s") do
    count = count + 1
    local path, body = line:match("^(%%S+)\\t(.*)$")
    requests[count] = wrk.format(body and "POST" or "GET", path or line, wrk.headers, body)
  end
end

function request()
  at = at + 1
  if at > count then
    at = 1
    if not again then
      spent = true
      wrk.thread:stop()
    end
  end
  return requests[at]
end

threads = {}
function setup(thread) table.insert(threads, thread) end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    '\\n{"requests": %%d, "seconds": %%.6f, "bytes": %%d, "failed": %%d, "spent": %%s, "p50_ms": %%.4f, "p99_ms": %%.4f}\\n',
    summary.requests, summary.duration / 1e6, summary.bytes,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    tostring(threads[1]:get("spent") == true),
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
"""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request: GET, or POST of a body of one line."""

    path: str
    body: str | None = None

    @property
    def line(self) -> str:
        """As a line of the script's list."""
        return self.path if self.body is None else f"{self.path}\t{self.body}"


@dataclass(frozen=True, slots=True)
class Load:
    """What a run of `wrk` measured.

    Attributes
    ----------
    rate
        Answers a second.
    p50_ms, p99_ms
        Of the time from the request's first byte to the answer's last.
    bytes_a_second
        Headers included.
    answers
        How many there were.
    """

    rate: float
    p50_ms: float
    p99_ms: float
    bytes_a_second: float
    answers: int


class LoadFailed(RuntimeError):
    """The server refused or dropped requests, so that its speed means nothing."""


class TooFewRequests(LoadFailed):
    """The list of requests came to its end before the time was over."""


def drive(
    port: int,
    requests: Sequence[Request],
    *,
    connections: int,
    seconds: float,
    headers: dict[str, str],
    again: bool = False,
) -> Load:
    """Send requests in their order, each connection the next as soon as it has its answer.

    Parameters
    ----------
    requests
        There must be enough of them, unless `again`.
    again
        Start over at the end of the list.

    Raises
    ------
    LoadFailed
        When an answer was not of the 200s.
    TooFewRequests
        When the list came to its end.
    """
    wrk = shutil.which("wrk")
    if wrk is None:
        raise LoadFailed("wrk is not installed: `apt-get install wrk`")
    with tempfile.TemporaryDirectory() as name:
        listed, script = Path(name) / "requests", Path(name) / "load.lua"
        listed.write_text("".join(request.line + "\n" for request in requests))
        script.write_text(_SCRIPT % {"list": listed, "again": "true" if again else "false"})
        command = [wrk, "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "60s"]
        for key, value in headers.items():
            command += ["-H", f"{key}: {value}"]
        command += ["-s", str(script), f"http://127.0.0.1:{port}"]
        counts = _run(command)
        if not counts["requests"]:
            # No answer in that time: a slow server gets more of it.
            command[command.index(f"-d{max(1, round(seconds))}s")] = f"-d{5 * max(1, round(seconds)) + 5}s"
            counts = _run(command)
    if counts["failed"]:
        raise LoadFailed(
            f"{counts['failed']} of {counts['requests']} requests failed, as {requests[0].line[:200]}"
        )
    if counts["spent"]:
        raise TooFewRequests(f"{len(requests)} requests were not enough for {seconds} s")
    if not counts["requests"]:
        raise LoadFailed(
            f"no answer, not even within {5 * seconds} s, to requests as {requests[0].line[:200]}"
        )
    return Load(
        counts["requests"] / counts["seconds"],
        counts["p50_ms"],
        counts["p99_ms"],
        counts["bytes"] / counts["seconds"],
        counts["requests"],
    )


def _run(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LoadFailed(
            f"wrk ended with code {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"
        )
    counts: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return counts


class Connection:
    """One kept-alive connection, for requests that are timed or looked at singly."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.coding: str | None = None
        """Content-Encoding of the last answer, whose body is returned as it came."""

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def ask(self, request: Request) -> tuple[bytes, float]:
        """Return the body of the answer and its milliseconds; LoadFailed when its status is not 200."""
        method = "GET" if request.body is None else "POST"
        body = (request.body or "").encode()
        length = f"content-length: {len(body)}\r\n" if body else ""
        head = f"{method} {request.path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{self._head}{length}\r\n"
        begin = time.perf_counter()
        self._socket.sendall(head.encode() + body)
        status, content = self._answer()
        spent = (time.perf_counter() - begin) * 1e3
        if status != 200:
            raise LoadFailed(f"{request.line[:300]} was answered {status}: {content[:300]!r}")
        return content, spent

    def _answer(self) -> tuple[int, bytes]:
        received = bytearray()
        while (end := received.find(b"\r\n\r\n")) < 0:
            self._receive(received)
        lines = received[:end].decode("latin-1").split("\r\n")
        fields = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        del received[: end + 4]
        status = int(lines[0].split()[1])
        self.coding = fields.get("content-encoding")
        if fields.get("transfer-encoding", "").lower() == "chunked":
            return status, self._chunks(received)
        length = int(fields["content-length"])
        while len(received) < length:
            self._receive(received)
        return status, bytes(received[:length])

    def _chunks(self, received: bytearray) -> bytes:
        content = bytearray()
        while True:
            while (end := received.find(b"\r\n")) < 0:
                self._receive(received)
            size = int(received[:end], 16)
            while len(received) < end + 2 + size + 2:
                self._receive(received)
            content += received[end + 2 : end + 2 + size]
            del received[: end + 2 + size + 2]
            if not size:
                return bytes(content)

    def _receive(self, received: bytearray) -> None:
        part = self._socket.recv(1 << 20)
        if not part:
            raise LoadFailed("the server closed the connection")
        received += part

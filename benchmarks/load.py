"""Load by `wrk` over a list of requests, and single requests over one connection."""

from __future__ import annotations

import json
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_SCRIPT: Final = """
local requests, count, at = {}, 0, 0
local cycle = %(cycle)s

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
    if not cycle then
      exhausted = true
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
    '\\n{"requests": %%d, "seconds": %%.6f, "bytes": %%d, "refused": %%d, "failed": %%d, "exhausted": %%s, "p50_ms": %%.4f, "p99_ms": %%.4f}\\n',
    summary.requests, summary.duration / 1e6, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    tostring(threads[1]:get("exhausted") == true),
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
        """The request as a line of the list that the script reads."""
        return self.path if self.body is None else f"{self.path}\t{self.body}"


@dataclass(frozen=True, slots=True)
class Load:
    """Result of a run of `wrk`.

    Attributes
    ----------
    rate
        Answers per second.
    p50_ms, p99_ms
        Latency in milliseconds, from the first byte of the request to the last of the answer.
    bytes_a_second
        Received bytes per second, headers included.
    answers
        Number of answers, refusals included.
    refused
        Answers with a status other than 2xx.
    """

    rate: float
    p50_ms: float
    p99_ms: float
    bytes_a_second: float
    answers: int
    refused: int


class LoadFailed(RuntimeError):
    """The server refused or dropped requests, so its speed cannot be reported."""


class TooFewRequests(LoadFailed):
    """The list of requests was exhausted before the time was over."""


def drive(
    port: int,
    requests: Sequence[Request],
    *,
    connections: int,
    seconds: float,
    headers: dict[str, str],
    cycle: bool = False,
    may_refuse: bool = False,
) -> Load:
    """Send requests in order; each connection sends the next one as soon as it has its answer.

    Parameters
    ----------
    requests
        Enough for `seconds`, unless `cycle` is set.
    cycle
        Whether to start over at the end of the list.
    may_refuse
        Whether to count answers with another status than 2xx instead of failing.

    Raises
    ------
    LoadFailed
        When a connection failed, an answer was refused without `may_refuse`, or no answer came.
    TooFewRequests
        When the list was exhausted.
    """
    wrk = shutil.which("wrk")
    if wrk is None:
        raise LoadFailed("wrk is not installed: `apt-get install wrk`")
    with tempfile.TemporaryDirectory() as name:
        listed, script = Path(name) / "requests", Path(name) / "load.lua"
        listed.write_text("".join(request.line + "\n" for request in requests))
        script.write_text(_SCRIPT % {"list": listed, "cycle": "true" if cycle else "false"})
        command = [wrk, "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "60s"]
        for key, value in headers.items():
            command += ["-H", f"{key}: {value}"]
        command += ["-s", str(script), f"http://127.0.0.1:{port}"]
        counts = _run(command)
        if not counts["requests"]:
            # No answer at all: give a slow server more time.
            command[command.index(f"-d{max(1, round(seconds))}s")] = f"-d{5 * max(1, round(seconds)) + 5}s"
            counts = _run(command)
    failed = counts["failed"] + (0 if may_refuse else counts["refused"])
    if failed:
        raise LoadFailed(
            f"{failed} of {counts['requests']} requests failed, such as {requests[0].line[:200]}"
        )
    if counts["exhausted"]:
        raise TooFewRequests(f"{len(requests)} requests were not enough for {seconds} s")
    if not counts["requests"]:
        raise LoadFailed(f"no answer within {5 * seconds:.0f} s to requests such as {requests[0].line[:200]}")
    return Load(
        counts["requests"] / counts["seconds"],
        counts["p50_ms"],
        counts["p99_ms"],
        counts["bytes"] / counts["seconds"],
        counts["requests"],
        counts["refused"],
    )


def _run(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LoadFailed(
            f"wrk ended with code {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"
        )
    counts: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return counts


def figures(milliseconds: list[float]) -> dict[str, Any]:
    """Summarise times in milliseconds."""
    ordered = sorted(milliseconds)
    return {
        "p50_ms": round(statistics.median(ordered), 2),
        "best_ms": round(ordered[0], 2),
        "p99_ms": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 2),
        "rounds": len(ordered),
    }


class Connection:
    """One kept-alive connection, for requests that are timed one by one."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.coding: str | None = None
        """Content-Encoding of the last answer; bodies are returned undecoded."""

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def send(self, request: Request) -> tuple[bytes, float]:
        """Send a request; return the body and the milliseconds. Raises LoadFailed for a status other than 200."""
        method = "GET" if request.body is None else "POST"
        body = (request.body or "").encode()
        length = f"content-length: {len(body)}\r\n" if body else ""
        head = f"{method} {request.path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{self._head}{length}\r\n"
        begin = time.perf_counter()
        self._socket.sendall(head.encode() + body)
        status, content = self._answer()
        milliseconds = (time.perf_counter() - begin) * 1e3
        if status != 200:
            raise LoadFailed(f"{request.line[:300]} was answered {status}: {content[:300]!r}")
        return content, milliseconds

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

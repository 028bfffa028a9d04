"""The servers of the comparison: how each is started on loopback, and how a call is sent to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.load import Connection, LoadFailed, Request
from benchmarks.peers import sql
from benchmarks.processes import TICK, busy_seconds, cpu_seconds, deployed_environment, family, memory_kb
from benchmarks.workload import QUERIES, Call
from serve.auth.settings import AccessSettings
from tests.support.keys import issue_key
from tests.support.ports import free_port
from tests.support.postgres import PostgresServer, postgres_binaries
from tests.support.processes import REPOSITORY

READY_S: Final = 180.0
_RATE: Final = "per_second=10000000,per_minute=100000000,per_day=1000000000,monthly=1000000000"


@dataclass(frozen=True, slots=True)
class Running:
    """A running server.

    Attributes
    ----------
    port
        Port on 127.0.0.1.
    pid
        Its first process.
    headers
        Sent with every request.
    start_seconds
        From the start of the process to its first answer.
    """

    port: int
    pid: int
    headers: dict[str, str]
    start_seconds: float

    def private_mb(self) -> float:
        """Return the memory of all its processes in MB; shared pages count once, mapped files not at all."""
        fields = ("Pss_Anon:", "Pss_Shmem:")
        return (
            sum(memory_kb(pid, "smaps_rollup", field) for pid in family(self.pid) for field in fields)
            * 1024
            / 1e6
        )

    def cpu(self) -> float:
        """Return the CPU seconds of all its processes so far."""
        return sum(cpu_seconds(pid) for pid in family(self.pid))

    def busy(self) -> float:
        """Return the CPU seconds of all live threads, in nanosecond resolution; ended threads are not included."""
        return sum(map(busy_seconds, family(self.pid)))

    def settle(self, most_s: float = 20.0, step_s: float = 0.25, steps: int = 1) -> None:
        """Wait until it has been idle for some steps, so that background work does not slow down the next requests."""
        end, idle = time.monotonic() + most_s, 0
        while idle < steps and time.monotonic() < end:
            before = self.cpu()
            time.sleep(step_s)
            is_idle = self.cpu() - before <= (2 if step_s > 0.1 else 0) / TICK
            idle = idle + 1 if is_idle else 0


class Server:
    """One way to serve the alphas."""

    name = ""
    """Short name, for tables."""
    about = ""
    """Description in one line, for the report."""
    packages: tuple[str, ...] = ()
    """Packages whose versions are reported."""
    queries: frozenset[str] = frozenset(QUERIES) - {"Q6"}

    def command(self, port: int) -> list[str]:
        """Return the command that starts it."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Return its environment variables."""
        return {}

    def headers(self) -> dict[str, str]:
        """Return the headers of every request."""
        return {}

    def request(self, call: Call) -> Request:
        """Return a call as an HTTP request to this server."""
        return Request(call.path)

    def probe(self) -> Request:
        """Return a request that succeeds once it is ready."""
        return Request("/v1/alphas?limit=1")

    def companions(self) -> contextlib.AbstractContextManager[object]:
        """Run the processes that the server depends on."""
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def running(self) -> Iterator[Running]:
        """Start it, wait until it answers, and stop it."""
        port = free_port()
        with self.companions(), tempfile.TemporaryFile() as log:
            begin = time.perf_counter()
            process = subprocess.Popen(
                self.command(port),
                cwd=REPOSITORY,
                env={
                    **os.environ,
                    "PYTHONPATH": str(REPOSITORY),
                    **deployed_environment(),
                    **self.environment(),
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                self._wait(process, port, log)
                yield Running(port, process.pid, self.headers(), time.perf_counter() - begin)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def _wait(self, process: subprocess.Popen[bytes], port: int, log: Any) -> None:
        end = time.monotonic() + READY_S
        while time.monotonic() < end:
            if process.poll() is not None:
                log.seek(0)
                raise LoadFailed(
                    f"{self.name} ended with code {process.returncode}: {log.read().decode()[-2000:]}"
                )
            with contextlib.suppress(OSError, LoadFailed):
                connection = Connection(port, self.headers())
                try:
                    connection.send(self.probe())
                finally:
                    connection.close()
                return
            time.sleep(0.02)
        raise LoadFailed(f"{self.name} did not answer within {READY_S:.0f} s")


class Ours(Server):
    """The server of the project: keys, limits, totals, envelope and warnings.

    Parameters
    ----------
    root
        The datasets root; a new key store is created next to it.
    settings
        Those that differ from the defaults. Without `rows` each process starts with an empty folder of row tables.
    """

    name = "alpha-results"
    about = "`python -m serve run`: key, limits, totals, envelope, warnings"
    packages = ("duckdb", "litestar", "uvicorn", "uvloop", "polars", "orjson")
    queries = frozenset(QUERIES)

    def __init__(self, root: Path, **settings: object) -> None:
        self.root = root
        self.store = root.with_name(f"{root.name}.access.sqlite3")
        self._settings = settings
        for file in root.parent.glob(self.store.name + "*"):
            file.unlink()
        self.token = self.issue_key()

    def issue_key(self) -> str:
        """Issue a key that may read everything but raw books, with limits out of reach; all keys are of one account."""
        access = AccessSettings.from_environment({}, str(self.root), {"access": str(self.store)})
        return asyncio.run(issue_key(access, "benchmark@example.org", rate=_RATE))

    def command(self, port: int) -> list[str]:
        """Return the command that an operator would use."""
        command = [sys.executable, "-m", "serve", "run", "--datasets", str(self.root), "--port", str(port)]
        return [*command, "--access", str(self.store)]

    def environment(self) -> dict[str, str]:
        """Return its settings."""
        return {f"ALPHA_RESULTS_{name.upper()}": str(value) for name, value in self._settings.items()}

    @contextlib.contextmanager
    def running(self) -> Iterator[Running]:
        """Start it, wait until it answers, and stop it."""
        given = self._settings
        with tempfile.TemporaryDirectory(prefix="rows-", dir=self.root.parent) as rows:
            self._settings = {"rows": rows, **given}
            try:
                with super().running() as up:
                    yield up
            finally:
                self._settings = given

    def headers(self) -> dict[str, str]:
        """Return the header with the key."""
        return {"authorization": f"Bearer {self.token}"}


class PythonPeer(Server):
    """A peer in `benchmarks/peers`, run as a module.

    Parameters
    ----------
    data
        Folder of the peers' Parquet files.
    """

    module = ""
    """Its module under `benchmarks.peers`."""

    def __init__(self, data: Path) -> None:
        self._data = data

    def command(self, port: int) -> list[str]:
        """Return the module with its data."""
        return [sys.executable, "-m", f"benchmarks.peers.{self.module}", str(self._data), str(port)]


class Polars(PythonPeer):
    """Polars frames in memory."""

    name = "Polars"
    about = "FastAPI over sorted Polars frames in memory, no sort per request"
    packages = ("fastapi", "polars", "uvicorn", "uvloop")
    module = "frames"


class PolarsTuned(PythonPeer):
    """The same, for one query."""

    name = "Polars, tuned"
    about = "the same with a frame for each week, on the event loop; Q1 only"
    packages = Polars.packages
    module = "frames_tuned"
    queries = frozenset({"Q1"})


class DuckDB(PythonPeer):
    """DuckDB over the Parquet files."""

    name = "DuckDB"
    about = "FastAPI with DuckDB over Parquet files"
    packages = ("fastapi", "duckdb", "polars", "uvicorn", "uvloop")
    module = "duckdb_files"


class ClickHouse(PythonPeer):
    """ClickHouse in the process."""

    name = "chDB"
    about = "FastAPI with ClickHouse in the process, sorted tables"
    packages = ("chdb-core", "fastapi", "uvicorn", "uvloop")
    module = "clickhouse"


class Pandas(PythonPeer):
    """pandas over the Parquet files."""

    name = "pandas"
    about = "FastAPI with pandas reading Parquet files"
    packages = ("fastapi", "pandas", "pyarrow", "uvicorn", "uvloop")
    module = "pandas_files"


PYTHON_PEERS: Final = (Polars, PolarsTuned, DuckDB, ClickHouse, Pandas)


class Constant(PythonPeer):
    """The floor: constant bodies, loaded at start."""

    name = "constant"
    about = "Litestar answering a constant body"
    packages = ("litestar", "uvicorn", "uvloop")
    module = "constant"
    queries = frozenset(QUERIES)

    def __init__(self, bodies: Path) -> None:
        super().__init__(bodies)
        self._first = min(file.name for file in bodies.iterdir())

    def probe(self) -> Request:
        """Return one of the bodies."""
        return Request(f"/{self._first}")


class Postgres(Server):
    """PostgreSQL, which formats the JSON in SQL, behind a thin application."""

    name = "PostgreSQL"
    about = (
        "JSON made in SQL, tables in shared buffers, indexes for each query; asyncpg and Starlette carry it"
    )
    packages = ("asyncpg", "starlette", "uvicorn", "uvloop")

    def __init__(self, data: Path) -> None:
        binaries = postgres_binaries(prefer_system=True)
        if binaries is None:
            raise LoadFailed("PostgreSQL is not installed: `apt-get install postgresql`")
        self._database = PostgresServer(binaries)
        with self.companions():
            from benchmarks.peers.postgres import load  # noqa: PLC0415 - needs the peer's packages

            asyncio.run(load(self._database.url(), data))

    def version(self) -> str:
        """Return the version of PostgreSQL."""
        command = [str(self._database.binaries / "postgres"), "--version"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[2]

    @contextlib.contextmanager
    def companions(self) -> Iterator[object]:
        """Run the database on a Unix socket."""
        from benchmarks.peers.postgres import SETTINGS  # noqa: PLC0415 - needs the peer's packages

        self._database.start(**SETTINGS)
        try:
            yield self._database
        finally:
            self._database.stop(signal.SIGINT)

    def command(self, port: int) -> list[str]:
        """Return the application's module."""
        return [sys.executable, "-m", "benchmarks.peers.postgres", self._database.url(), str(port)]

    def remove(self) -> None:
        """Delete the database."""
        self._database.remove()


class Roapi(Server):
    """ROAPI with its tables in memory, queried in SQL."""

    name = "ROAPI"
    about = "tables in memory, one for each alpha; queried in SQL"
    packages = ("roapi",)

    def __init__(self, data: Path, folder: Path) -> None:
        self._columns = sql.columns_of(data, "decisions")
        self._config = folder / "roapi.yml"
        self._config.write_text(sql.roapi_tables(data))

    def command(self, port: int) -> list[str]:
        """Return the program of its wheel."""
        program = str(Path(sys.executable).with_name("roapi"))
        other = ["--addr-postgres", "127.0.0.1:0", "--addr-flight-sql", "127.0.0.1:0"]
        return [program, "--config", str(self._config), "--addr-http", f"127.0.0.1:{port}", *other]

    def request(self, call: Call) -> Request:
        """Return the call as SQL."""
        return sql.roapi_request(call, self._columns)

    def probe(self) -> Request:
        """Return a query that succeeds once its tables are loaded."""
        return Request("/api/sql", "select count(*) from catalogue")


class Datasette(Server):
    """Datasette over an immutable SQLite file, with a canned query for each request."""

    name = "Datasette"
    about = "SQLite file, immutable, indexes for each query; canned queries"
    packages = ("datasette",)

    def __init__(self, data: Path, folder: Path) -> None:
        self._file, self._metadata = folder / "bench.db", folder / "datasette.json"
        if not self._file.exists():
            draft = folder / "bench.draft"
            draft.unlink(missing_ok=True)
            sql.fill_sqlite(data, draft)
            draft.rename(self._file)
        names = (sql.columns_of(data, table) for table in ("decisions", "ledger"))
        self._metadata.write_text(sql.datasette_metadata(*names))

    def command(self, port: int) -> list[str]:
        """Return its public command, with limits out of reach."""
        command = [sys.executable, "-m", "datasette", "serve", "-i", str(self._file), "-p", str(port)]
        command += ["--metadata", str(self._metadata)]
        for name, value in {
            "max_returned_rows": 5000,
            "sql_time_limit_ms": 60000,
            "cache_size_kb": 200_000,
        }.items():
            command += ["--setting", name, str(value)]
        return command

    def request(self, call: Call) -> Request:
        """Return the call as a canned query."""
        return sql.datasette_request(call)

    def probe(self) -> Request:
        """Return a request for its version."""
        return Request("/-/versions.json")

"""What a serving process has loaded when its port opens: a start waits for nothing that its first answers do without."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.support.redis import RedisServer
from tests.support.server import served

LATER: Final = {
    "litestar": "answers what is not a plain GET; loaded by a thread once the port is open",
    "duckdb": "answers questions for rows; loaded by a compute thread once the port is open",
    "scipy": "gives p-values; loaded with the first metrics",
    "rich": "prints tables and pretty tracebacks: no log line is one",
    "pygments": "is loaded by Rich",
    "alembic": "brings a store of keys to this release's revision; loaded for one that is not",
    "mako": "is loaded by Alembic",
    "asyncpg": "is for keys in PostgreSQL",
    "redis": "is for counts in Redis",
    "s3fs": "is for roots in buckets",
    "aiobotocore": "is loaded by s3fs",
    "prometheus_client": "measures, where a port is given for that",
}
"""Library -> why a start does not need it."""
_IMPORT: Final = re.compile(r"^import time:[^|]*\|[^|]*\| *([A-Za-z_0-9]+)\.", re.MULTILINE)
"""What the interpreter writes of each module of a package that it loaded: the attempt to load a package is written too."""


@pytest.fixture(scope="module")
def loaded(root: Path) -> set[str]:
    """Return what a real process with an alpha to serve loaded before its port opened."""
    variables = {"PYTHONPROFILEIMPORTTIME": "1", "ALPHA_RESULTS_LOG_LEVEL": "info"}
    log = root.parent / "start.log"
    with served(root, log=log):
        pass  # the first start makes the store of keys
    with served(root, log=log, variables=variables):
        before, complete, _ = log.read_text().partition("Application startup complete")
    assert complete
    return set(_IMPORT.findall(before))


@pytest.mark.parametrize("library", LATER)
def test_a_start_does_not_load(library: str, loaded: set[str]) -> None:
    assert {"serve", "uvicorn", "sqlalchemy"} <= loaded, "the imports were written to the log"
    assert library not in loaded, f"{library} {LATER[library]}"


def test_a_parent_of_workers_loads_nothing_of_what_serves(root: Path, redis_server: RedisServer) -> None:
    variables = {"ALPHA_RESULTS_REDIS": redis_server.url}
    libraries = {"numpy", "polars", "pyarrow", "sqlalchemy", "orjson", "uvloop"}

    def mapped(pid: str) -> set[str]:
        return libraries & set(re.findall(r"[a-z]+", Path(f"/proc/{pid}/maps").read_text()))

    with served(root, "--workers", "2", variables=variables) as (process, _):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert set().union(*map(mapped, children)) == libraries, "a library is seen where it is loaded"
        assert mapped(str(process.pid)) == set()

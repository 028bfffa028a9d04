"""Every dependency of the service is stopped, hung, slowed, filled and restored under load.

Calls that need the component are refused with its code, and all others are answered as before. Nobody is admitted who was
refused before. After the fault everything is answered again without a restart.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.faults.fault import AWAY, CALLERS, OK, Fault, inject_under_load, require_nothing_unforeseen
from tests.market_data.conftest import parquet, prices
from tests.support.checked_load import LoadCall
from tests.support.deployment import SYMBOL, Deployment, deployed
from tests.support.processes import hanging
from tests.support.waiting import eventually

NO_PRICES = "503 benchmark_unavailable"
ALPHA = "Test_deployed0"


@contextmanager
def postgres_killed(deployment: Deployment) -> Iterator[None]:
    deployment.postgres.kill()
    yield
    deployment.postgres.start()


def postgres_hung(deployment: Deployment) -> AbstractContextManager[object]:
    return deployment.postgres.hanging()


@contextmanager
def postgres_locked(deployment: Deployment) -> Iterator[None]:
    """Lock the table of keys, as a careless migration does."""
    psql = str(deployment.postgres.binaries / "psql")
    locking = subprocess.Popen(
        [psql, "-q", deployment.postgres.url()], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    assert locking.stdin is not None
    locking.stdin.write("BEGIN; LOCK TABLE access_keys IN ACCESS EXCLUSIVE MODE;\n")
    locking.stdin.flush()
    try:
        yield
    finally:
        locking.communicate("ROLLBACK;\n")


@contextmanager
def redis_killed(deployment: Deployment) -> Iterator[None]:
    deployment.redis.kill()
    yield
    deployment.redis.start()


def redis_hung(deployment: Deployment) -> AbstractContextManager[object]:
    return deployment.redis.hanging()


def redis_says(deployment: Deployment, *command: str) -> None:
    import redis  # noqa: PLC0415 - a client of this test's own

    with redis.Redis.from_url(deployment.redis.url) as client:
        client.execute_command(*command)


@contextmanager
def redis_slow(deployment: Deployment) -> Iterator[None]:
    """Delay every command by much of its timeout."""
    program = (
        "import redis, sys, time\n"
        "client = redis.Redis.from_url(sys.argv[1])\n"
        "while True:\n"
        "    client.execute_command('CLIENT', 'PAUSE', '200', 'ALL')\n"
        "    print('slow', flush=True)\n"
        "    time.sleep(0.01)\n"
    )
    slowing = subprocess.Popen(
        [sys.executable, "-c", program, deployment.redis.url], stdout=subprocess.PIPE, text=True
    )
    assert slowing.stdout is not None
    assert slowing.stdout.readline() == "slow\n"
    try:
        yield
    finally:
        slowing.kill()
        slowing.communicate()


@contextmanager
def redis_full(deployment: Deployment) -> Iterator[None]:
    redis_says(deployment, "CONFIG", "SET", "maxmemory", "1")
    yield
    redis_says(deployment, "CONFIG", "SET", "maxmemory", "0")


@contextmanager
def prices_gone(deployment: Deployment) -> Iterator[None]:
    moved = deployment.prices.rename(deployment.folder / "prices.moved")
    yield
    moved.rename(deployment.prices)


@contextmanager
def prices_damaged(deployment: Deployment) -> Iterator[None]:
    data = deployment.prices.read_bytes()
    deployment.prices.write_bytes(data[: len(data) // 2])
    yield
    deployment.prices.write_bytes(data)


@contextmanager
def root_gone(deployment: Deployment) -> Iterator[None]:
    moved = deployment.root.rename(deployment.folder / "root.moved")
    yield
    moved.rename(deployment.root)


@contextmanager
def root_emptied(deployment: Deployment) -> Iterator[None]:
    moved = deployment.root.rename(deployment.folder / "root.moved")
    deployment.root.mkdir()
    yield
    deployment.root.rmdir()
    moved.rename(deployment.root)


@contextmanager
def rows_gone(deployment: Deployment) -> Iterator[None]:
    rows, moved = deployment.folder / "rows", deployment.folder / "rows.moved"

    def taken() -> bool:
        # Workers recreate the folder meanwhile, so it is moved away until the file takes its place.
        if rows.exists():
            rows.rename(moved)
            shutil.rmtree(moved)
        with contextlib.suppress(IsADirectoryError):
            rows.write_text("not a folder")
        return rows.is_file()

    eventually(taken)
    yield
    rows.unlink()


@contextmanager
def a_worker_hung(deployment: Deployment) -> Iterator[None]:
    with hanging(deployment.workers()[0]):
        time.sleep(1.0)
        yield


KEYS_AWAY = {kind: {AWAY} for kind in ("me", "page", "computed", "prices", "revoked")}
COUNTS_AWAY = {kind: {AWAY} for kind in ("me", "page", "computed", "prices")}
FAULTS = {
    "PostgreSQL is killed": Fault(postgres_killed, KEYS_AWAY, ("me", AWAY)),
    "PostgreSQL hangs": Fault(postgres_hung, KEYS_AWAY, ("me", AWAY), CALLERS),
    "the table of keys is locked": Fault(postgres_locked, KEYS_AWAY, ("me", AWAY), CALLERS),
    "Redis is killed": Fault(redis_killed, COUNTS_AWAY, ("me", AWAY)),
    "Redis hangs": Fault(redis_hung, COUNTS_AWAY, ("me", AWAY), CALLERS),
    "Redis is slow": Fault(redis_slow, {kind: {OK, AWAY} for kind in COUNTS_AWAY}, ("me", OK)),
    "Redis is full": Fault(redis_full, {kind: {OK, AWAY} for kind in COUNTS_AWAY}),
    "the market data are gone": Fault(prices_gone, {"prices": {OK, NO_PRICES}}),
    "the market data are damaged": Fault(prices_damaged, {"prices": {OK, NO_PRICES}}),
    "the root is unmounted": Fault(root_gone, {kind: {OK, AWAY} for kind in ("page", "computed")}),
    "the root is emptied": Fault(root_emptied, {kind: {OK, AWAY} for kind in ("page", "computed")}),
    "the folder of rendered rows is gone": Fault(rows_gone, {}, ("page", OK)),
    "one worker of two hangs": Fault(a_worker_hung, {}, ("me", OK), CALLERS),
}


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    variables = {"ALPHA_RESULTS_MAX_WAIT_SECONDS": "60", "ALPHA_RESULTS_REFRESH_SECONDS": "0.5"}
    folder = tmp_path_factory.mktemp("faults")
    with deployed(folder, market=parquet(prices()), variables=variables) as result:
        yield result


def load_calls(deployment: Deployment) -> list[LoadCall]:
    def wide() -> str:
        return deployment.keys["wide"].token

    def window(draw: random.Random) -> str:
        first, last = sorted(draw.sample(range(1, 29), 2))
        return f"/v1/alphas/{ALPHA}/metrics?from=2024-01-{first:02}&to=2030-01-{last:02}"

    return [
        LoadCall("me", lambda _: "/v1/me", wide),
        LoadCall("page", lambda draw: f"/v1/alphas/{ALPHA}/scores?limit={draw.randint(1, 20)}", wide),
        LoadCall("computed", window, wide),
        LoadCall("prices", lambda _: f"/v1/benchmarks/{SYMBOL}/daily", wide),
        LoadCall("revoked", lambda _: "/v1/me", lambda: deployment.keys["revoked"].token),
    ]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_only_its_expected_effects_and_ends_with_it(deployment: Deployment, name: str) -> None:
    inject_under_load(deployment, name, FAULTS[name], load_calls(deployment))


def test_the_log_has_no_unexpected_failure(deployment: Deployment) -> None:
    require_nothing_unforeseen(deployment)

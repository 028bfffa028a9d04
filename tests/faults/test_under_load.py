"""Every dependency of the service is stopped, hung, slowed, filled and restored under load.

What needs the part is refused with its code, what does not is answered as before, nobody is let in who was not, and after
the fault everything is answered again without a restart.
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
from tests.support.checked_load import Ask
from tests.support.deployment import SYMBOL, Deployment, deployed
from tests.support.processes import hanging
from tests.support.waiting import eventually

NO_PRICES = "503 benchmark_unavailable"
ALPHA = "Test_deployed0"


@contextmanager
def postgres_killed(there: Deployment) -> Iterator[None]:
    there.postgres.kill()
    yield
    there.postgres.start()


def postgres_hung(there: Deployment) -> AbstractContextManager[object]:
    return there.postgres.hanging()


@contextmanager
def postgres_locked(there: Deployment) -> Iterator[None]:
    """Lock the table of keys, as a careless migration does."""
    psql = str(there.postgres.binaries / "psql")
    locking = subprocess.Popen(
        [psql, "-q", there.postgres.url()], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    assert locking.stdin is not None
    locking.stdin.write("BEGIN; LOCK TABLE access_keys IN ACCESS EXCLUSIVE MODE;\n")
    locking.stdin.flush()
    try:
        yield
    finally:
        locking.communicate("ROLLBACK;\n")


@contextmanager
def redis_killed(there: Deployment) -> Iterator[None]:
    there.redis.kill()
    yield
    there.redis.start()


def redis_hung(there: Deployment) -> AbstractContextManager[object]:
    return there.redis.hanging()


def redis_says(there: Deployment, *command: str) -> None:
    import redis  # noqa: PLC0415 - a client of this test's own

    with redis.Redis.from_url(there.redis.url) as client:
        client.execute_command(*command)


@contextmanager
def redis_slow(there: Deployment) -> Iterator[None]:
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
        [sys.executable, "-c", program, there.redis.url], stdout=subprocess.PIPE, text=True
    )
    assert slowing.stdout is not None
    assert slowing.stdout.readline() == "slow\n"
    try:
        yield
    finally:
        slowing.kill()
        slowing.communicate()


@contextmanager
def redis_full(there: Deployment) -> Iterator[None]:
    redis_says(there, "CONFIG", "SET", "maxmemory", "1")
    yield
    redis_says(there, "CONFIG", "SET", "maxmemory", "0")


@contextmanager
def prices_gone(there: Deployment) -> Iterator[None]:
    moved = there.prices.rename(there.folder / "prices.moved")
    yield
    moved.rename(there.prices)


@contextmanager
def prices_damaged(there: Deployment) -> Iterator[None]:
    data = there.prices.read_bytes()
    there.prices.write_bytes(data[: len(data) // 2])
    yield
    there.prices.write_bytes(data)


@contextmanager
def root_gone(there: Deployment) -> Iterator[None]:
    moved = there.root.rename(there.folder / "root.moved")
    yield
    moved.rename(there.root)


@contextmanager
def root_emptied(there: Deployment) -> Iterator[None]:
    moved = there.root.rename(there.folder / "root.moved")
    there.root.mkdir()
    yield
    there.root.rmdir()
    moved.rename(there.root)


@contextmanager
def rows_gone(there: Deployment) -> Iterator[None]:
    rows, moved = there.folder / "rows", there.folder / "rows.moved"

    def taken() -> bool:
        # Workers write into it meanwhile, and make it again: the folder is moved away until the file was there first.
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
def a_worker_hung(there: Deployment) -> Iterator[None]:
    with hanging(there.workers()[0]):
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
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    variables = {"ALPHA_RESULTS_MAX_WAIT_SECONDS": "60", "ALPHA_RESULTS_REFRESH_SECONDS": "0.5"}
    folder = tmp_path_factory.mktemp("faults")
    with deployed(folder, market=parquet(prices()), variables=variables) as result:
        result.keys = {"wide": result.issue(), "revoked": result.issue()}
        result.run("keys", "revoke", result.keys["revoked"].id)
        yield result


def asks(there: Deployment) -> list[Ask]:
    def wide() -> str:
        return there.keys["wide"].token

    def window(draw: random.Random) -> str:
        first, last = sorted(draw.sample(range(1, 29), 2))
        return f"/v1/alphas/{ALPHA}/metrics?from=2024-01-{first:02}&to=2030-01-{last:02}"

    return [
        Ask("me", lambda _: "/v1/me", wide),
        Ask("page", lambda draw: f"/v1/alphas/{ALPHA}/scores?limit={draw.randint(1, 20)}", wide),
        Ask("computed", window, wide),
        Ask("prices", lambda _: f"/v1/benchmarks/{SYMBOL}/daily", wide),
        Ask("revoked", lambda _: "/v1/me", lambda: there.keys["revoked"].token),
    ]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_only_its_expected_effects_and_ends_with_it(there: Deployment, name: str) -> None:
    inject_under_load(there, name, FAULTS[name], asks(there))


def test_the_log_has_no_unexpected_failure(there: Deployment) -> None:
    require_nothing_unforeseen(there)

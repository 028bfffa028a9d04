"""A deployment: two workers over PostgreSQL and Redis, market data, several alphas, every kind of key."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pipeline.snapshot_builder import build_seal
from tests.support.keys import WIDE
from tests.support.operators import Operators, operators
from tests.support.postgres import PostgresServer, binaries_or_skip
from tests.support.processes import workers
from tests.support.redis import RedisServer, redis_running
from tests.support.seals import linked, make_seal
from tests.support.server import served

EMAIL = "owner@example.org"
NARROW = "per_second=5,per_minute=1000000,per_day=1000000,monthly=null"
SYMBOL = "ABC"


@dataclass
class Key:
    """A key, and its token."""

    id: str
    token: str


@dataclass
class Deployment:
    """A running deployment and its parts."""

    folder: Path
    root: Path
    prices: Path
    base: str
    process: subprocess.Popen[str]
    postgres: PostgresServer
    redis: RedisServer
    run: Operators
    log: Path
    seals: dict[str, list[Path]]
    keys: dict[str, Key] = field(default_factory=dict)
    _sealed: int = 0

    def issue(self, rate: str = WIDE) -> Key:
        """Issue a key that may read everything."""
        made = self.run.json("keys", "issue", "--account", EMAIL, "--name", "n", "--rate", rate)
        return Key(made["key_id"], made["token"])

    def next_seal(self, alpha: str) -> Path:
        """Return a seal of an alpha that is later than all earlier ones, alternating between its runs."""
        self._sealed += 1
        runs = self.seals[alpha]
        sealed = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=self._sealed)
        target = self.folder / f"sealed-{self._sealed}" / alpha
        return linked(runs[self._sealed % len(runs)], target, sealed_at=sealed.strftime("%Y-%m-%dT%H:%M:%SZ"))

    def workers(self) -> list[int]:
        """Return the worker processes."""
        return workers(self.process.pid)


@contextmanager
def deployed(
    folder: Path,
    *,
    alphas: int = 2,
    runs: int = 1,
    market: bytes | None = None,
    address: str | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Deployment]:
    """Run a deployment, with a wide and a revoked key, until the block is left; skips where PostgreSQL or Redis is not installed.

    Parameters
    ----------
    folder
        Folder of all its files.
    alphas, runs
        Number of published alphas, and of different runs of each that later seals alternate between.
    market
        The market data file; none without it.
    address
        Address of a root that is not on this disk.
    variables
        Further settings of the server.
    """
    binaries = binaries_or_skip()
    root, prices = folder / "root", folder / "prices.parquet"
    names = [f"Test_deployed{n}" for n in range(alphas)]
    seals = {
        name: [
            make_seal(
                folder / f"run-{run}", alpha_id=name, seed=10 * at + run, weeks=14, raw=False, source=False
            )
            for run in range(runs)
        ]
        for at, name in enumerate(names)
    }
    for made in seals.values():
        build_seal(str(made[0]), address or root)
    if market is not None:
        prices.write_bytes(market)
    with ExitStack() as stack:
        postgres = PostgresServer(binaries)
        stack.callback(postgres.remove)
        postgres.start()
        redis = stack.enter_context(redis_running())
        given: dict[str, Any] = {
            "ALPHA_RESULTS_ACCESS": postgres.url(),
            "ALPHA_RESULTS_REDIS": redis.url,
            "ALPHA_RESULTS_ROWS": str(folder / "rows"),
            **({} if market is None else {"ALPHA_RESULTS_MARKET_DATA": str(prices)}),
            **variables,
        }
        run = stack.enter_context(operators(root, **given))
        run("accounts", "create", "--email", EMAIL, "--ceiling-endpoints", "all")
        log = folder / "server.log"
        process, base = stack.enter_context(
            served(address or root, "--workers", "2", log=log, variables=given)
        )
        deployment = Deployment(folder, root, prices, base, process, postgres, redis, run, log, seals)
        deployment.keys = {"wide": deployment.issue(), "revoked": deployment.issue()}
        run("keys", "revoke", deployment.keys["revoked"].id)
        yield deployment

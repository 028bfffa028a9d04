"""Published alphas, accounts with every kind of key, and a running application."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import httpx
import numpy as np
import polars as pl

from pipeline.snapshot_builder import build_seal
from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.instants import microseconds
from schemas.kinds import TABLE_KINDS
from serve.app import create
from serve.auth.settings import AccessSettings
from serve.auth.store.repository import Repository
from serve.auth.store.tables import keys
from serve.http.request import Application
from serve.settings import Settings
from tests.support.administration import open_administration
from tests.support.application import started
from tests.support.client import ApiClient
from tests.support.conformance import check
from tests.support.keys import WIDE
from tests.support.seals import make_seal, rewrite
from tests.support.server import served

FULL: Final = "Test_full"
"""Sealed everything, including the signal before smoothing."""
PLAIN: Final = "Test_plain"
"""Sealed no unconditioned signal, no description, no source and no optional columns."""
UNDECIDED: Final = "Test_undecided"
"""Sealed no cross-sections."""
EMPTY: Final = "Test_empty"
"""Sealed only a description."""
BARE: Final = "Test_bare"
"""Sealed every table, each without rows."""
HIDDEN: Final = "Prod_hidden"
"""As complete as the first, but readable only by some keys."""
ABSENT: Final = "Prod_absent"
"""Not published, and forbidden to the same keys as the one above."""
NOWHERE: Final = "Test_nowhere"
"""Not published, although keys could read it if it were."""

LEFT_OUT: Final = ("entry_at", "maturity_at", "forward_return", "decision_reason")
"""Columns of the cross-sections that one of the runs never recorded."""

OWNER: Final = "owner@example.org"
ADMINISTRATOR: Final = "operator@example.org"
FORMER: Final = "former@example.org"
NEWCOMER = "newcomer@example.com"


def publish(folder: Path) -> Path:
    """Build every alpha of the suite and return the root."""
    root = folder / "published"
    seals = (
        make_seal(
            folder,
            alpha_id=FULL,
            source_alpha_id="research-17",
            tried=(1.0, 4.0),
            started_at="2026-01-05T06:00:00Z",
        ),
        make_seal(
            folder,
            alpha_id=PLAIN,
            raw=False,
            description=False,
            source=False,
            without_columns={"decisions": LEFT_OUT},
            started_at="2026-01-04T06:00:00Z",
        ),
        make_seal(folder, alpha_id=UNDECIDED, without_kinds={"decisions"}, started_at="2026-01-03T06:00:00Z"),
        make_seal(
            folder,
            alpha_id=EMPTY,
            without_kinds=TABLE_KINDS,
            metrics=False,
            source=False,
            started_at="2026-01-02T06:00:00Z",
        ),
        make_seal(folder, alpha_id=HIDDEN, started_at="2026-01-01T06:00:00Z"),
        rowless(make_seal(folder, alpha_id=BARE, tried=(1.0, 4.0), started_at="2026-01-01T05:00:00Z")),
    )
    for seal in seals:
        build_seal(str(seal), root)
    return root


def rowless(seal: Path) -> Path:
    """Remove all rows from every table of a seal."""
    present = json.loads((seal / "seal.json").read_text("utf-8"))["kinds"]
    for kind in present.keys() & set(TABLE_KINDS):
        rewrite(seal, kind, lambda table: table.clear())
    return seal


def market_data(folder: Path) -> Path:
    """Write two years of an index, with adjusted closes in the second year only."""
    days = [dt.date(2019, 1, 1) + dt.timedelta(days=n) for n in range(730)]
    days = [day for day in days if day.weekday() < 5]
    steps = np.random.default_rng(5).normal(0.0004, 0.01, len(days))
    close = 300 * np.exp(np.cumsum(steps))
    adjusted = [None if day.year == 2019 else price * 0.98 for day, price in zip(days, close, strict=True)]
    path = folder / "spy.parquet"
    frame = pl.DataFrame({"date": days, "symbol": "SPY", "close": close, "adj_close": adjusted})
    frame.write_parquet(path)
    return path


@dataclass(frozen=True)
class Keys:
    """Tokens by name, and the ids of some."""

    tokens: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.tokens[name]


READING: Final = ("reader", "raw", "administrator", "testing", "defaults")
"""Keys that read some alpha."""
REFUSED: Final = (
    "nothing",
    "unlimited_metrics_only",
    "elsewhere",
    "suspended",
    "revoked",
    "former",
    "expired",
    "unknown",
    "wrong_secret",
    "malformed",
    None,
)
"""Keys that are refused nearly everywhere; None sends none."""


async def issue_keys(settings: AccessSettings) -> Keys:
    """Create the accounts and issue one key of every kind."""
    result = Keys()
    everything: dict[str, Any] = {"endpoints": "all", "alphas": "all", "runs": "all", "rate": WIDE}
    sorts: dict[str, tuple[str, dict[str, Any]]] = {
        "reader": (OWNER, everything),
        "raw": (OWNER, {**everything, "raw": True}),
        "administrator": (ADMINISTRATOR, {**everything, "raw": True}),
        "testing": (OWNER, {**everything, "alphas": "prefix:Test_", "runs": "prefix:Test_"}),
        "nothing": (OWNER, {**everything, "endpoints": ""}),
        "defaults": (NEWCOMER, {"rate": WIDE}),
        "unlimited_metrics_only": (OWNER, {**everything, "endpoints": "performance.metrics"}),
        "elsewhere": (OWNER, {**everything, "ips": "198.51.100.0/24"}),
        "suspended": (OWNER, everything),
        "revoked": (OWNER, everything),
        "former": (FORMER, everything),
        "second": (
            ADMINISTRATOR,
            {**everything, "rate": WIDE.replace("per_second=100000", "per_second=1")},
        ),
        **dict.fromkeys(
            ("minute", "another minute"),
            (ADMINISTRATOR, {**everything, "rate": WIDE.replace("per_minute=1000000", "per_minute=1")}),
        ),
        "day": (ADMINISTRATOR, {**everything, "rate": WIDE.replace("per_day=10000000", "per_day=1")}),
        "month": (ADMINISTRATOR, {**everything, "rate": WIDE.replace("monthly=null", "monthly=1")}),
        "counted": (
            OWNER,
            {**everything, "rate": "per_second=900,per_minute=9000,per_day=90000,monthly=900000"},
        ),
    }
    async with open_administration(settings, "the suite") as administration:
        for email in (OWNER, FORMER):
            await administration.accounts.create(email, ceiling_endpoints="all")
        await administration.accounts.create(NEWCOMER)
        await administration.accounts.create(ADMINISTRATOR, admin=True, ceiling_endpoints="all")
        for name, (email, grants) in sorts.items():
            issued = await administration.keys.issue(email, name, **grants)
            result.tokens[name] = issued.token
            result.ids[name] = issued.record.id
        await administration.keys.suspend(result.ids["suspended"])
        await administration.keys.revoke(result.ids["revoked"])
        await administration.accounts.deactivate(FORMER)
        issued = await administration.keys.issue(OWNER, "expired", **everything)
        result.tokens["expired"], result.ids["expired"] = issued.token, issued.record.id
        # No command sets an expiry that has passed.
        long_ago = microseconds(dt.datetime(2020, 2, 1, tzinfo=dt.UTC))
        await administration.store.run(Repository.change, keys, issued.record.id, {"expires_at": long_ago})
    shape = result["reader"]
    result.tokens["unknown"] = shape.replace(result.ids["reader"], "0" * 16)
    result.tokens["wrong_secret"] = f"{shape.partition('.')[0]}.{'A' * 43}"
    result.tokens["malformed"] = "no-key-of-this-service"
    return result


@dataclass(frozen=True)
class ContractApp:
    """A running application with its data and keys."""

    client: ApiClient
    keys: Keys
    root: Path

    def get(
        self,
        endpoint: Endpoint | str,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] = (),
        *,
        key: str | None = "raw",
        headers: Mapping[str, str] | None = None,
        **path: str,
    ) -> httpx.Response:
        """Call an endpoint; the answer must conform to the OpenAPI document."""
        endpoint = ENDPOINTS[endpoint] if isinstance(endpoint, str) else endpoint
        response = self.client.send("GET", target(endpoint, query, path), self.headers(key, headers))
        check(endpoint, response)
        return response

    def headers(self, key: str | None, headers: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the headers of a request with one of the keys."""
        bearer = {} if key is None else {"authorization": f"Bearer {self.keys[key]}"}
        return {**bearer, **(headers or {})}

    def ok(self, endpoint: Endpoint | str, query: Any = (), **rest: Any) -> dict[str, Any]:
        """Call an endpoint, assert 200, and return the body."""
        response = self.get(endpoint, query, **rest)
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        return body

    def refused(self, endpoint: Endpoint | str, query: Any = (), **rest: Any) -> dict[str, Any]:
        """Call an endpoint, assert a refusal, and return the error."""
        response = self.get(endpoint, query, **rest)
        assert response.status_code >= 400, response.text
        error: dict[str, Any] = response.json()["error"]
        assert error["request_id"] == response.headers["x-request-id"]
        return error

    def rows(self, endpoint: Endpoint | str, query: Any = (), **rest: Any) -> list[dict[str, Any]]:
        """Gather every row of a collection."""
        results: list[dict[str, Any]] = []
        while True:
            page = self.ok(endpoint, {**dict(query), "limit": 5000, "offset": len(results)}, **rest)
            results += page["data"]
            if not page["pagination"]["has_more"]:
                return results
            assert page["data"], "more is announced, and nothing comes"


def target(
    endpoint: Endpoint, query: Mapping[str, Any] | Sequence[tuple[str, Any]], path: Mapping[str, str]
) -> str:
    """Return the path and query of a request line."""
    filled = endpoint.path
    for name, value in path.items():
        filled = filled.replace(f"{{{name}}}", quote(value, safe=""))
    pairs = urlencode(list(query.items()) if isinstance(query, Mapping) else list(query))
    return f"{filled}?{pairs}" if pairs else filled


def settings(
    root: Path, prices: Path | str | None = None, archives: str | None = None, *, agents: bool = False
) -> Settings:
    """Return the settings of the program under test."""
    return Settings(
        datasets=str(root),
        market_data=None if prices is None else str(prices),
        archives=archives,
        agents=agents,
        threads=2,
        refresh_seconds=60.0,
    )


def access_settings(folder: Path, state: str = "limits") -> AccessSettings:
    """Return the access settings; applications share keys, each with its own counts."""
    return AccessSettings(
        access=f"sqlite:///{folder}/access.sqlite3", limits_state=folder / f"{state}.sqlite3"
    )


def unreachable_counts(access: AccessSettings) -> AccessSettings:
    """Return the settings with an unreachable limiter."""
    return replace(access, limits_state=None, redis="redis://127.0.0.1:1")


@contextmanager
def opened(program: Settings, access: AccessSettings, keys: Keys) -> Iterator[ContractApp]:
    """Run the application until the block is left."""
    with made(create(program, access), access, keys, Path(program.datasets)) as api:
        yield api


@contextmanager
def made(application: Application, access: AccessSettings, keys: Keys, root: Path) -> Iterator[ContractApp]:
    """Run a given application within the block."""
    with started(application, access, caller="203.0.113.9") as client:
        yield ContractApp(client, keys, root)


@contextmanager
def served_over_sockets(
    root: Path, prices: Path, folder: Path, state: str = "limits", **variables: str
) -> Iterator[str]:
    """Run ``alpha-results serve run`` over the same until the block is left, and return its address.

    Parameters
    ----------
    root, prices
        The published root, and the file of market data.
    folder
        Folder of the key store and the log.
    state
        Name of the file of call counts: two running programs must not share one.
    variables
        Further settings.
    """
    given = {
        "ALPHA_RESULTS_ACCESS": f"sqlite:///{folder}/access.sqlite3",
        "ALPHA_RESULTS_LIMITS_STATE": str(folder / f"{state}.sqlite3"),
        "ALPHA_RESULTS_MARKET_DATA": str(prices),
        "ALPHA_RESULTS_THREADS": "2",
        **variables,
    }
    with served(root, log=folder / f"server-{state}.log", variables=given) as (_, base):
        yield base

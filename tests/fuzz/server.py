"""A real serving process over small published alphas."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from schemas.tables.books import BOOK_KINDS
from tests.support import contract_app


@dataclass(frozen=True)
class Served:
    """A running server and the names of its contents.

    Attributes
    ----------
    url
        Its address.
    tokens
        View that answers depend on -> key.
    places
        Placeholder or parameter -> existing names.
    """

    url: str
    tokens: dict[str, str]
    places: dict[str, tuple[str, ...]]


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Publish, issue keys, and run ``alpha-results serve run`` until the block is left."""
    root, prices = contract_app.publish(folder), contract_app.market_data(folder)
    keys = asyncio.run(contract_app.issue_keys(contract_app.access_settings(folder)))
    with contract_app.served_over_sockets(root, prices, folder) as url:
        yield Served(url, {name: keys[name] for name in VIEWS}, _places(url, keys))


VIEWS: Final = ("raw", "reader", "administrator", "testing")
"""Keys that together see everything that an answer may show or omit."""


LISTS: Final = tuple(
    ",".join(names)
    for names in (
        (contract_app.FULL, contract_app.PLAIN),
        (contract_app.PLAIN, contract_app.EMPTY, contract_app.UNDECIDED),
        (contract_app.BARE, contract_app.FULL),
        (contract_app.FULL, contract_app.HIDDEN),
    )
)
"""Lists of existing alphas."""


def _places(url: str, keys: contract_app.Keys) -> dict[str, tuple[str, ...]]:
    own = {"authorization": f"Bearer {keys['raw']}"}
    with httpx.Client(base_url=url, headers=own) as client:
        weeks = client.get(f"/v1/alphas/{contract_app.FULL}/rebalances").json()["data"]
        books = client.get(f"/v1/alphas/{contract_app.FULL}/books").json()["data"]
        names = client.get(f"/v1/alphas/{contract_app.FULL}/scores").json()["data"]
        alphas = client.get("/v1/screen").json()["data"]
    assert {row["kind"] for row in books} == set(BOOK_KINDS)
    days = tuple(row["date"] for row in sorted(weeks, key=lambda row: row["week_status"] != "traded"))
    symbols = tuple(sorted({row["symbol"] for row in names}))
    return {
        "alpha": (
            contract_app.FULL,
            contract_app.PLAIN,
            contract_app.UNDECIDED,
            contract_app.EMPTY,
            contract_app.BARE,
            contract_app.HIDDEN,
            contract_app.NOWHERE,
        ),
        "alphas": LISTS,
        "among": LISTS,
        "date": days,
        "from": days,
        "to": days,
        "book": tuple(dict.fromkeys(row["book"] for row in books)),
        "symbol": (*symbols, ",".join(symbols[:3])),
        "key_id": tuple(keys.ids.values()),
        "benchmark": ("SPY",),
        "table": ("decisions",),
        "snapshot": tuple(row["snapshot"] for row in alphas),
        **{f"snapshot of {row['alpha_id']}": (row["snapshot"],) for row in alphas},
    }

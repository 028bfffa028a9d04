"""A real serving process over small published alphas."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from schemas.tables.books import BOOK_KINDS
from tests.contract import world as w

REPOSITORY: Final = Path(__file__).resolve().parents[2]
STARTS_WITHIN: Final = 60.0
"""Seconds a starting process is waited for; it takes one or two on an idle machine."""


@dataclass(frozen=True)
class Served:
    """A running server, with what is there to be asked for.

    Attributes
    ----------
    url
        Its address.
    tokens
        By view an answer may be made for.
    places
        Placeholder or parameter -> texts that name something there.
    """

    url: str
    tokens: dict[str, str]
    places: dict[str, tuple[str, ...]]


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Publish, issue keys, and run ``python -m serve run`` until the block is left."""
    root, prices = w.publish(folder), w.market_data(folder)
    keys = asyncio.run(w.issue_keys(w.access_settings(folder)))
    port = _free_port()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ALPHA_RESULTS_")},
        "ALPHA_RESULTS_DATASETS": str(root),
        "ALPHA_RESULTS_ACCESS": f"sqlite:///{folder}/access.sqlite3",
        "ALPHA_RESULTS_LIMITS_STATE": str(folder / "limits.sqlite3"),
        "ALPHA_RESULTS_MARKET_DATA": str(prices),
        "ALPHA_RESULTS_PORT": str(port),
        "ALPHA_RESULTS_THREADS": "2",
    }
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "serve", "run"],
            cwd=REPOSITORY,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, process, log)
            yield Served(url, {name: keys[name] for name in VIEWS}, _places(url, keys))
        finally:
            process.terminate()
            process.wait(timeout=30)


VIEWS: Final = ("raw", "reader", "administrator", "testing")
"""Keys that between them see everything an answer can show or keep back."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{url}/v1/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"the server did not start: {log.read_text()}")


def _places(url: str, keys: w.Keys) -> dict[str, tuple[str, ...]]:
    own = {"authorization": f"Bearer {keys['raw']}"}
    with httpx.Client(base_url=url, headers=own) as client:
        weeks = client.get(f"/v1/alphas/{w.FULL}/rebalances").json()["data"]
        books = client.get(f"/v1/alphas/{w.FULL}/books").json()["data"]
        names = client.get(f"/v1/alphas/{w.FULL}/scores").json()["data"]
    assert {row["kind"] for row in books} == set(BOOK_KINDS)
    days = tuple(row["date"] for row in sorted(weeks, key=lambda row: row["week_status"] != "traded"))
    symbols = tuple(sorted({row["symbol"] for row in names}))
    return {
        "alpha": (w.FULL, w.PLAIN, w.UNDECIDED, w.EMPTY, w.HIDDEN, w.NOWHERE),
        "date": days,
        "from": days,
        "to": days,
        "book": tuple(dict.fromkeys(row["book"] for row in books)),
        "symbol": (*symbols, ",".join(symbols[:3])),
        "key_id": tuple(keys.ids.values()),
        "benchmark": ("SPY",),
    }

"""``python -m serve run`` over a root in a bucket, as an operator starts it: a process with a cache of its own."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from serve.auth.admin import open_administration
from serve.auth.settings import AccessSettings
from tests.serving.driving import WIDE

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 180.0


def until(ask: Callable[[], Any], wanted: Any) -> None:
    """Ask until the answer is the wanted one; the patience is that of a machine busy with other tests."""
    deadline = time.monotonic() + PATIENCE
    while (found := ask()) != wanted:
        assert time.monotonic() < deadline, f"still {found!r}, not {wanted!r}"
        time.sleep(0.05)


@dataclass(frozen=True)
class Node:
    """A serving process, and a client with a key that may read everything."""

    process: subprocess.Popen[bytes]
    client: httpx.Client
    log: Path

    def get(self, path: str) -> httpx.Response:
        return self.client.get(f"/v1/{path}")

    def body(self, path: str) -> bytes:
        found = self.get(path)
        assert found.status_code == 200, found.text
        return found.content

    def failure(self, path: str) -> tuple[int, str]:
        found = self.get(path)
        return found.status_code, str(found.json()["error"]["code"]) if found.status_code >= 400 else ""

    def health(self) -> str:
        return str(self.get("health").json()["status"])


@contextmanager
def node(folder: Path, root: str, **settings: str) -> Iterator[Node]:
    """Serve a root; key store, cache and log lie in `folder`, where a second start finds them again."""
    access = AccessSettings.from_environment(
        {}, root, {"store": str(folder / "access.sqlite3"), "workers": 1}
    )
    token = asyncio.run(_key(access))
    log = folder / "serve.log"
    options = {
        "datasets": root,
        "cache": str(folder / "cache"),
        "port": "0",
        "refresh-seconds": "0.2",
        **settings,
    }
    flags = [word for name, value in options.items() for word in (f"--{name}", value)]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "serve", "run", "--access", str(folder / "access.sqlite3"), *flags],
            cwd=REPOSITORY,
            env={name: value for name, value in os.environ.items() if not name.startswith("ALPHA_RESULTS_")},
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        base = _address(process, log)
        with httpx.Client(
            base_url=base, headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE
        ) as client:
            yield Node(process, client, log)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while True:
        told = log.read_text(errors="replace")
        found = re.search(r"http://127\.0\.0\.1:[1-9]\d*", told)
        if found is not None:
            return found[0]
        assert process.poll() is None, told
        assert time.monotonic() < deadline, told
        time.sleep(0.05)


async def _key(access: AccessSettings) -> str:
    async with open_administration(access, "tests") as acts:
        email = "node@example.org"
        if not any(account.email == email for account in await acts.accounts.all()):
            await acts.accounts.create(email, ceiling_endpoints="all")
        issued = await acts.keys.issue(email, "a key", endpoints="all", alphas="all", runs="all", rate=WIDE)
        return issued.token

"""A serving process over a root in a bucket with its own cache, and a client with full access."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from serve.auth.settings import AccessSettings
from tests.support.keys import issue_key
from tests.support.server import served
from tests.support.waiting import PATIENCE


@dataclass(frozen=True)
class Node:
    """A serving process and a client with full access."""

    process: subprocess.Popen[str]
    client: httpx.Client
    log: Path

    def get(self, path: str) -> httpx.Response:
        return self.client.get(f"/v1/{path}")

    def body(self, path: str) -> bytes:
        result = self.get(path)
        assert result.status_code == 200, result.text
        return result.content

    def failure(self, path: str) -> tuple[int, str]:
        result = self.get(path)
        return result.status_code, str(result.json()["error"]["code"]) if result.status_code >= 400 else ""

    def health(self) -> str:
        return str(self.get("health").json()["status"])


@contextmanager
def node(folder: Path, root: str, **settings: str) -> Iterator[Node]:
    """Serve a root with key store, cache and log in `folder`, reused by a second start."""
    store = str(folder / "access.sqlite3")
    access = AccessSettings.from_environment({}, root, {"access": store, "workers": 1})
    token = asyncio.run(issue_key(access, "node@example.org"))
    log = folder / "serve.log"
    options = {"access": store, "cache": str(folder / "cache"), "refresh-seconds": "0.2", **settings}
    flags = [word for name, value in options.items() for word in (f"--{name}", value)]
    with served(root, *flags, log=log) as (process, base):
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(base_url=base, headers=headers, timeout=PATIENCE) as client:
            yield Node(process, client, log)

"""The key store on a full or read-only disk: reads work, changes are refused with the reason."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from serve.auth.settings import StoreLocation
from tests.support import plain_http, published
from tests.support.operators import Operators, operators
from tests.support.server import served
from tests.support.small_disk import SmallDisk, small_disk

EMAIL = "owner@example.org"


class Deployment:
    """A root and its key store on a small disk."""

    def __init__(self, disk: SmallDisk, run: Operators) -> None:
        self.full, self.mount = disk.full, disk.mount
        self.folder = disk.folder
        self.root = disk.folder / "published"
        self.run = run

    def issue(self) -> tuple[str, str]:
        made = self.run.json("keys", "issue", "--account", EMAIL, "--name", "n")
        return made["key_id"], made["token"]

    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with small_disk(tmp_path / "disk") as disk:
        root = disk.folder / "published"
        root.mkdir()
        published.publish(root, published.full())
        with operators(root) as run:
            run("accounts", "create", "--email", EMAIL)
            yield Deployment(disk, run)


def outcome_of(base: str, token: str) -> str:
    result = plain_http.get(f"{base}/v1/me", headers={"authorization": f"Bearer {token}"}, timeout=60)
    return "admitted" if result.status_code == 200 else str(result.json()["error"]["code"])


def test_on_a_full_disk_keys_are_listed_and_changes_refused_until_space_is_freed(
    deployment: Deployment,
) -> None:
    key, _ = deployment.issue()
    before = deployment.files()
    with deployment.full():
        assert key in deployment.run("keys", "list")
        assert EMAIL in deployment.run("accounts", "list")
        assert "key.issue" in deployment.run("audit")
        assert "disk is full" in deployment.run("keys", "revoke", key, code=5)
        assert deployment.run.json("keys", "show", key)["status"] == "active"
    deployment.run("keys", "revoke", key)
    assert deployment.run.json("keys", "show", key)["status"] == "revoked"
    assert {name for name in deployment.files() - before if not name.endswith(("-shm", "-wal"))} == set()


def test_on_a_full_disk_a_server_starts_and_a_key_is_revoked_once_space_is_freed(
    deployment: Deployment, tmp_path: Path
) -> None:
    (key, token), (_, other) = deployment.issue(), deployment.issue()
    with served(deployment.root, log=tmp_path / "log") as (_, base):
        assert outcome_of(base, token) == "admitted"
    with deployment.full(), served(deployment.root, log=tmp_path / "log") as (_, base):
        assert outcome_of(base, token) == "admitted"
        deployment.run("keys", "revoke", key, code=5)
        assert outcome_of(base, token) == "admitted"
    with served(deployment.root, log=tmp_path / "log") as (_, base):
        deployment.run("keys", "revoke", key)
        assert outcome_of(base, token) == "key_revoked"
        assert outcome_of(base, other) == "admitted"


def test_on_a_read_only_disk_keys_are_listed_and_served_and_changes_are_refused(
    deployment: Deployment, tmp_path: Path
) -> None:
    key, token = deployment.issue()
    deployment.mount("ro")
    assert key in deployment.run("keys", "list")
    assert key in deployment.run("keys", "show", key)
    assert "key.issue" in deployment.run("audit")
    assert "sqlite at" in deployment.run("access", "show")
    assert "may not be written" in deployment.run("keys", "revoke", key, code=5)
    limits = str(tmp_path / "limits.sqlite3")
    with served(deployment.root, log=tmp_path / "log", variables={"ALPHA_RESULTS_LIMITS_STATE": limits}) as (
        _,
        base,
    ):
        assert outcome_of(base, token) == "admitted"
        # Once the disk is writable again, the next call sees the change.
        deployment.mount("rw")
        deployment.run("keys", "suspend", key)
        assert outcome_of(base, token) == "key_suspended"
        deployment.run("keys", "reactivate", key)
        assert outcome_of(base, token) == "admitted"
        deployment.run("keys", "revoke", key)
        assert outcome_of(base, token) == "key_revoked"


def test_a_crashed_stores_journal_is_read_on_a_read_only_disk_or_the_command_fails(
    deployment: Deployment,
) -> None:
    key, _ = deployment.issue()
    store = StoreLocation.parse(f"{deployment.root}.access.sqlite3").path
    assert store is not None
    # The process ends without closing the file, so the revocation is only in the write-ahead log.
    crash = "import sqlite3, os, sys; sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2]); os._exit(0)"
    change = "UPDATE access_keys SET status = 'revoked'"
    subprocess.run(["python3", "-c", crash, str(store), change], check=True)
    deployment.mount("ro")
    assert deployment.run.json("keys", "show", key)["status"] == "revoked"
    deployment.mount("rw")
    store.with_name(store.name + "-shm").unlink()
    deployment.mount("ro")
    assert "cannot be" in deployment.run("keys", "show", key, code=5)

"""Operators change the key store while a real server uses it."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.callers import calling
from tests.support.keys import WIDE
from tests.support.operators import Operators, operators
from tests.support.server import served
from tests.support.waiting import PATIENCE

COMMANDS = 200


@pytest.fixture
def operate(server_root: Path) -> Iterator[Operators]:
    with operators(server_root) as result:
        yield result


def test_operators_change_keys_and_copy_the_store_under_sixteen_callers(
    server_root: Path, operate: Operators, tmp_path: Path
) -> None:
    operate("accounts", "create", "--email", "o@example.org")
    store = f"{server_root}.access.sqlite3"
    issue = ("keys", "issue", "--account", "o@example.org", "--name", "n", "--rate", WIDE)
    callers_token = operate.json(*issue)["token"]
    chance, keys, used = random.Random(11), dict[str, str](), Counter[str]()
    with (
        served(server_root) as (server, base),
        httpx.Client(base_url=base, timeout=PATIENCE) as client,
        calling(base, callers_token) as ended,
    ):

        def answer(key: str) -> tuple[int, str, str]:
            result = client.get("/v1/me", headers={"authorization": f"Bearer {keys[key]}"})
            body = result.json()
            return (
                result.status_code,
                body.get("error", {}).get("code", ""),
                body.get("data", {}).get("key_name", ""),
            )

        for number in range(COMMANDS):
            act = chance.choice(["set", "suspend", "revoke", "backup", "shell backup"]) if keys else "issue"
            used[act] += 1
            key = next(iter(keys), "")
            if act == "issue":
                made = operate.json(*issue)
                keys[made["key_id"]] = made["token"]
                assert answer(made["key_id"]) == (200, "", "n")
            elif act == "set":
                operate("keys", "set", key, "--name", f"name {number}")
                assert answer(key) == (200, "", f"name {number}")
            elif act == "suspend":
                operate("keys", "suspend", key)
                assert answer(key)[:2] == (401, "key_suspended")
                operate("keys", "reactivate", key)
                assert answer(key)[0] == 200
            elif act == "revoke":
                operate("keys", "revoke", key)
                assert answer(key)[:2] == (401, "key_revoked")
                del keys[key]
            elif act == "shell backup" and shutil.which("sqlite3"):
                subprocess.run(["sqlite3", store, f".backup {tmp_path / 'copy'}"], check=True)
            else:
                operate("backup", store, str(tmp_path / f"copy {number}"))
            assert server.poll() is None, "the server died"
    assert set(ended) == {200}
    assert ended[200] > COMMANDS
    assert min(used.values()) > 10
    assert len(used) == 6

from __future__ import annotations

import sqlite3

import asyncpg
import pytest

from schemas.errors import AccessError
from serve.auth.settings import AccessSettings
from tests.access.conftest import OWNER
from tests.support.administration import Administration

pytestmark = pytest.mark.anyio


async def test_every_action_is_audited_with_its_changes(administration: Administration) -> None:
    key_id = (await administration.keys.issue(OWNER, "k", ips="10.0.0.0/8")).record.id
    await administration.keys.change(key_id, raw=True, runs="all")
    await administration.keys.suspend(key_id)
    await administration.keys.reactivate(key_id)
    await administration.keys.revoke(key_id)
    await administration.accounts.change(OWNER, admin=True)
    await administration.accounts.deactivate(OWNER)
    await administration.accounts.activate(OWNER)
    entries = (await administration.audit_log())[::-1]
    assert [entry["action"] for entry in entries] == [
        "account.create",
        "key.issue",
        "key.set",
        "key.suspend",
        "key.reactivate",
        "key.revoke",
        "account.set",
        "account.deactivate",
        "account.activate",
    ]
    assert {entry["actor"] for entry in entries} == {"tester"}
    assert [entry["id"] for entry in entries] == sorted(entry["id"] for entry in entries)
    assert [entry["at"] for entry in entries] == sorted(entry["at"] for entry in entries)
    assert entries[1]["detail"]["addresses"] == ["10.0.0.0/8"]
    assert entries[2]["detail"] == {
        "expose_raw": [False, True],
        "runs": [{"mode": "prefix", "prefixes": ["Test_"]}, {"mode": "all"}],
    }
    assert entries[3]["detail"] == {"status": ["active", "suspended"]}
    assert entries[6]["detail"] == {"role": ["user", "admin"]}
    assert entries[7]["detail"] == {"active": [True, False]}
    about_key = await administration.audit_log(subject=key_id, limit=2)
    assert [entry["action"] for entry in about_key] == ["key.revoke", "key.reactivate"]


async def test_a_failed_action_leaves_no_change_and_no_audit_row(administration: Administration) -> None:
    await administration.accounts.create("other@example.org")
    before = await administration.audit_log()
    with pytest.raises(AccessError):
        await administration.accounts.change("other@example.org", email=OWNER, admin=True)
    assert await administration.audit_log() == before
    assert not (await administration.accounts.find_account("other@example.org")).is_admin


CHANGES = (
    "UPDATE access_audit SET actor = 'someone else'",
    "DELETE FROM access_audit",
)


async def test_the_database_refuses_changes_to_audit_rows(
    administration: Administration, settings: AccessSettings
) -> None:
    before = await administration.audit_log()
    assert before
    replaced = "(id, at, actor, action, subject, detail) VALUES (1, 0, 'x', 'x', 'x', '{}')"
    if settings.location.path is not None:
        connection = sqlite3.connect(settings.location.path)
        for statement in (*CHANGES, f"INSERT OR REPLACE INTO access_audit {replaced}"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
        connection.close()
    else:
        server = await asyncpg.connect(settings.location.dsn)
        upsert = f"INSERT INTO access_audit {replaced} ON CONFLICT (id) DO UPDATE SET actor = 'x'"
        for statement in (*CHANGES, "TRUNCATE access_audit", upsert):
            with pytest.raises(asyncpg.RaiseError, match="append-only"):
                await server.execute(statement)
        await server.close()
    assert await administration.audit_log() == before

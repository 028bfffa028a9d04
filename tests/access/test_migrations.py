from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from pathlib import Path

import asyncpg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from schemas.errors import SettingsError, StorageUnavailable
from serve.auth.settings import AccessSettings, StoreLocation
from serve.auth.store.opening import open_store, revision, store_at, upgrade
from serve.auth.store.repository import Repository
from serve.auth.store.tables import REVISION, VERSION_TABLE, keys, metadata
from tests.support.administration import open_administration

pytestmark = pytest.mark.anyio


async def tables(location: StoreLocation) -> set[str]:
    if location.path is not None:
        with sqlite3.connect(location.path) as connection:
            return {
                name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
    connection = await asyncpg.connect(location.dsn)
    rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    await connection.close()
    return {row[0] for row in rows}


ALL_TABLES = set(metadata.tables)


async def test_an_upgrade_creates_the_tables_and_is_idempotent(store_url: str) -> None:
    location = StoreLocation.parse(store_url)
    assert await revision(location) is None
    for _ in range(2):
        await upgrade(location)
        assert await tables(location) - {VERSION_TABLE} == ALL_TABLES
        assert await revision(location) == REVISION


async def test_the_database_refuses_keys_with_an_unknown_status_or_account(store_url: str) -> None:
    settings = AccessSettings(store_url)
    async with open_administration(settings, "tester") as administration:
        await administration.accounts.create("a@example.org")
        key_id = (await administration.keys.issue("a@example.org", "k")).record.id
    store = await open_store(settings, writable=True)
    for change in ({"status": "gone"}, {"account_id": "nobody"}, {"limits": None}):
        with pytest.raises((sa.exc.IntegrityError, StorageUnavailable)):
            await store.run(Repository.change, keys, key_id, change)
    await store.close()


async def test_the_migrations_create_the_declared_tables(store_url: str) -> None:
    location = StoreLocation.parse(store_url)
    await upgrade(location)
    store = store_at(location, writable=False)
    options = {"version_table": VERSION_TABLE, "compare_type": True, "target_metadata": metadata}

    def differences(rows: Repository) -> object:
        return compare_metadata(MigrationContext.configure(rows.connection, opts=options), metadata)

    assert await store.run(differences) == []
    await store.close()


async def test_the_first_program_to_open_an_empty_store_sets_it_up(store_url: str) -> None:
    location = StoreLocation.parse(store_url)
    await asyncio.gather(*[upgrade(location) for _ in range(4)])
    assert await revision(location) == REVISION


async def test_a_store_of_another_revision_is_refused_unchanged(store_url: str) -> None:
    settings = AccessSettings(store_url)
    await upgrade(settings.location)
    change = f"UPDATE {VERSION_TABLE} SET version_num = '9999'"
    if settings.location.path is not None:
        with sqlite3.connect(settings.location.path) as connection:
            connection.execute(change)
    else:
        connection = await asyncpg.connect(settings.location.dsn)
        await connection.execute(change)
        await connection.close()
    with pytest.raises(SettingsError, match=r"9999.*alpha-results serve access upgrade"):
        await open_store(settings, writable=False)
    with pytest.raises(SettingsError, match="9999"):
        await upgrade(settings.location)


async def test_only_the_owner_can_read_the_files_of_a_store(tmp_path: Path) -> None:
    settings = AccessSettings(str(tmp_path / "a.sqlite3"))
    async with open_administration(settings, "tester") as administration:
        await administration.accounts.create("a@example.org")
        await administration.keys.issue("a@example.org", "k")
        modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in os.scandir(tmp_path)}
    assert {"a.sqlite3", "a.sqlite3.pepper"} <= set(modes)
    assert set(modes.values()) == {0o600}


async def test_a_missing_folder_and_an_invalid_store_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="create its folder"):
        await upgrade(StoreLocation.parse(str(tmp_path / "none" / "a.sqlite3")))
    other = tmp_path / "notes.txt"
    other.write_text("nothing of a database " * 100)
    with pytest.raises(StorageUnavailable, match=r"notes\.txt"):
        await upgrade(StoreLocation.parse(str(other)))


async def test_an_unavailable_database_server_is_reported(tmp_path: Path) -> None:
    away = StoreLocation.parse(f"postgresql://postgres@/none?host={tmp_path}")
    with pytest.raises(StorageUnavailable):
        await upgrade(away)
    with pytest.raises(StorageUnavailable):
        await revision(away)

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError, SettingsError
from serve.auth.authenticator import Authenticator
from serve.auth.settings import AccessSettings
from serve.auth.store.repository import KeyRecord
from serve.auth.tokens import NO_PEPPER
from tests.access.conftest import new_schema
from tests.support.administration import open_administration
from tests.support.keys import bearer
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.anyio

GIVEN = b"a pepper from the settings"


@pytest.fixture
def plain(tmp_path: Path) -> AccessSettings:
    return AccessSettings(str(tmp_path / "a.sqlite3"), limits_state=tmp_path / "limits")


async def issue(settings: AccessSettings, email: str) -> str:
    async with open_administration(settings, "tester") as administration:
        await administration.accounts.create(email)
        return str((await administration.keys.issue(email, "k")).token)


async def stored(settings: AccessSettings) -> list[KeyRecord]:
    async with open_administration(settings, "tester", writable=False) as administration:
        return list(await administration.keys.all(revoked=True))


async def answer(settings: AccessSettings, token: str) -> str:
    access = await Authenticator.open(settings)
    try:
        await access.authorize(bearer(token), None, ENDPOINTS["meta.me"])
    except ApiError as error:
        return error.code
    finally:
        await access.close()
    return "admitted"


async def test_a_file_store_creates_its_own_pepper_and_keeps_it(
    plain: AccessSettings, tmp_path: Path
) -> None:
    async with open_administration(plain, "tester") as administration:
        await administration.accounts.create("c@example.org")
    pepper = tmp_path / "a.sqlite3.pepper"
    assert not pepper.exists(), "only a key needs one"
    token = await issue(plain, "a@example.org")
    await issue(plain, "b@example.org")
    assert await answer(plain, token) == "admitted"
    first, second = await stored(plain)
    assert first.pepper_id == second.pepper_id != NO_PEPPER
    other = AccessSettings(str(tmp_path / "b.sqlite3"))
    await issue(other, "a@example.org")
    (elsewhere,) = await stored(other)
    assert elsewhere.pepper_id != first.pepper_id


def test_processes_started_concurrently_agree_on_one_pepper(plain: AccessSettings) -> None:
    with ThreadPoolExecutor(16) as pool:
        emails = [f"user{number}@example.org" for number in range(32)]
        assert len(set(pool.map(lambda email: asyncio.run(issue(plain, email)), emails))) == 32
    assert len({record.pepper_id for record in asyncio.run(stored(plain))}) == 1


async def test_a_configured_pepper_signs_new_keys_and_older_keys_keep_working(
    plain: AccessSettings,
) -> None:
    older = await issue(plain, "a@example.org")
    peppered = replace(plain, pepper=(GIVEN,))
    newer = await issue(peppered, "b@example.org")
    assert [await answer(peppered, token) for token in (older, newer)] == ["admitted", "admitted"]
    with pytest.raises(SettingsError, match="ALPHA_RESULTS_PEPPER"):
        await answer(plain, older)


async def test_a_store_whose_pepper_is_lost_is_not_served_and_gets_no_new_key_until_its_keys_are_revoked(
    plain: AccessSettings, tmp_path: Path
) -> None:
    token = await issue(plain, "a@example.org")
    key = token.partition(".")[0].rpartition("_")[2]
    pepper = tmp_path / "a.sqlite3.pepper"
    saved = pepper.read_bytes()
    pepper.unlink()
    for attempt in (answer(plain, token), issue(plain, "b@example.org")):
        with pytest.raises(SettingsError, match=rf"{key}; restore {pepper} .*`keys revoke`"):
            await attempt
    assert not pepper.exists(), "another one would hide that it is lost"
    assert [record.id for record in await stored(plain)] == [key]
    pepper.write_bytes(saved)
    assert await answer(plain, token) == "admitted"
    pepper.unlink()
    async with open_administration(plain, "tester") as administration:
        await administration.keys.revoke(key)
    assert await answer(plain, await issue(plain, "c@example.org")) == "admitted"


async def test_an_empty_pepper_file_is_refused(plain: AccessSettings, tmp_path: Path) -> None:
    (tmp_path / "a.sqlite3.pepper").write_text("\n")
    with pytest.raises(SettingsError, match="backup"):
        await issue(plain, "a@example.org")


async def test_a_server_store_uses_only_configured_peppers(postgres: PostgresServer) -> None:
    shared = AccessSettings(await new_schema(postgres))
    await issue(shared, "a@example.org")
    await issue(replace(shared, pepper=(GIVEN,)), "b@example.org")
    newer, older = await stored(shared)
    assert older.pepper_id == NO_PEPPER != newer.pepper_id

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError, SettingsError
from serve.auth.admin import open_administration
from serve.auth.authenticator import Authenticator
from serve.auth.settings import AccessSettings
from serve.auth.store.peppers import load_digests
from serve.auth.tokens import NO_PEPPER
from tests.support.keys import bearer

pytestmark = pytest.mark.anyio

GIVEN = b"a pepper from the settings"


@pytest.fixture
def plain(tmp_path: Path) -> AccessSettings:
    return AccessSettings(str(tmp_path / "a.sqlite3"), state=tmp_path / "limits")


async def issue(settings: AccessSettings, email: str) -> str:
    async with open_administration(settings, "tester") as administration:
        await administration.accounts.create(email)
        return (await administration.keys.issue(email, "k")).token


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
    token = await issue(plain, "a@example.org")
    assert await answer(plain, token) == "admitted"
    assert load_digests(plain).newest == load_digests(plain).newest != NO_PEPPER
    other = AccessSettings(str(tmp_path / "b.sqlite3"))
    assert load_digests(other).newest != load_digests(plain).newest


def test_processes_started_concurrently_agree_on_one_pepper(plain: AccessSettings) -> None:
    with ThreadPoolExecutor(16) as pool:
        newest = {digests.newest for digests in pool.map(lambda _: load_digests(plain), range(64))}
    assert len(newest) == 1


async def test_a_configured_pepper_signs_new_keys_and_older_keys_keep_working(plain: AccessSettings) -> None:
    older = await issue(plain, "a@example.org")
    peppered = replace(plain, peppers=(GIVEN,))
    newer = await issue(peppered, "b@example.org")
    assert [await answer(peppered, token) for token in (older, newer)] == ["admitted", "admitted"]
    with pytest.raises(SettingsError, match="ALPHA_RESULTS_PEPPER"):
        await answer(plain, older)


async def test_a_store_whose_pepper_is_lost_is_refused_by_every_command_until_its_keys_are_revoked(
    plain: AccessSettings, tmp_path: Path
) -> None:
    token = await issue(plain, "a@example.org")
    key = token.partition(".")[0].rpartition("_")[2]
    pepper = tmp_path / "a.sqlite3.pepper"
    saved = pepper.read_bytes()
    pepper.unlink()
    for writable in (True, False):
        with pytest.raises(SettingsError, match=rf"{key}; restore {pepper} .*`keys revoke`"):
            async with open_administration(plain, "tester", writable=writable):
                pass
    with pytest.raises(SettingsError, match=key):
        await answer(plain, token)
    assert not pepper.exists(), "another one would hide that it is lost"
    pepper.write_bytes(saved)
    assert await answer(plain, token) == "admitted"
    pepper.unlink()
    async with open_administration(plain, "tester", ending=True) as administration:
        await administration.keys.revoke(key)
    assert await answer(plain, await issue(plain, "b@example.org")) == "admitted"


def test_an_empty_pepper_file_is_refused(plain: AccessSettings, tmp_path: Path) -> None:
    (tmp_path / "a.sqlite3.pepper").write_text("\n")
    with pytest.raises(SettingsError, match="backup"):
        load_digests(plain)


def test_a_server_store_uses_only_configured_peppers() -> None:
    shared = AccessSettings("postgresql://db/access")
    assert load_digests(shared).newest == NO_PEPPER
    assert load_digests(replace(shared, peppers=(GIVEN,))).newest != NO_PEPPER

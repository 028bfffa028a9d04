"""Rotation and copying of keys, and their last use."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from schemas.endpoints import ENDPOINTS
from schemas.errors import AccessError, ApiError
from serve.auth.authenticator import Authenticator
from serve.auth.limits import last_uses
from serve.auth.settings import AccessSettings
from tests.access.conftest import OWNER, Expire
from tests.support.administration import Administration
from tests.support.keys import credentials
from tests.support.operators import Operators, operators

pytestmark = pytest.mark.anyio

GRANTS = {
    "endpoints": "meta.me,signals.scores",
    "alphas": "prefix:Test_,Prod_",
    "runs": "list:one,two",
    "rate": "per_second=7,monthly=null",
    "ips": "203.0.113.0/24",
    "expires": "2999-01-01",
}
OWN = ("key_id", "display_prefix", "created_at")


async def answer(access: Authenticator, token: str) -> str:
    try:
        await access.authorize(
            credentials({"Authorization": f"Bearer {token}"}), "203.0.113.9", ENDPOINTS["meta.me"]
        )
    except ApiError as error:
        return error.code
    return "admitted"


async def rights(administration: Administration, record: object) -> dict[str, object]:
    shown = await administration.keys.to_json(record)
    return {name: value for name, value in shown.items() if name not in OWN}


async def test_a_rotated_key_has_the_same_rights_and_the_old_token_works_during_the_grace_period(
    administration: Administration, access: Authenticator, expire: Expire
) -> None:
    old = await administration.keys.issue(OWNER, "k", raw=True, **GRANTS)
    new, left = await administration.keys.rotate(old.record.id, grace_seconds=3600)
    assert await rights(administration, new.record) == await rights(administration, old.record)
    assert new.record.id != old.record.id
    assert left.expires_at is not None
    ends = datetime.fromtimestamp(left.expires_at / 1e6, UTC) - datetime.now(UTC)
    assert timedelta(minutes=59) < ends <= timedelta(hours=1)
    assert [await answer(access, token) for token in (old.token, new.token)] == ["admitted", "admitted"]
    await expire(old.token, 1)
    assert [await answer(access, token) for token in (old.token, new.token)] == ["key_expired", "admitted"]
    acts = [(entry["action"], entry["subject"]) for entry in await administration.audit_log(limit=2)]
    assert acts == [("key.set", old.record.id), ("key.rotate", new.record.id)]
    (entry,) = [x for x in await administration.audit_log() if x["action"] == "key.rotate"]
    assert entry["detail"]["replaces"] == old.record.id


async def test_without_a_grace_the_old_token_works_until_revoked_and_with_a_zero_grace_not_at_all(
    administration: Administration, access: Authenticator
) -> None:
    first = await administration.keys.issue(OWNER, "k")
    second, left = await administration.keys.rotate(first.record.id)
    assert left.expires_at is None
    third, ended = await administration.keys.rotate(second.record.id, grace_seconds=0)
    assert ended.status == "revoked"
    reported = [await answer(access, token) for token in (first.token, second.token, third.token)]
    assert reported == ["admitted", "key_revoked", "admitted"]


async def test_a_grace_never_extends_a_keys_expiry(administration: Administration, expire: Expire) -> None:
    key = await administration.keys.issue(OWNER, "k")
    soon = int((datetime.now(UTC) + timedelta(minutes=5)).timestamp()) * 1_000_000
    await expire(key.token, soon)
    new, left = await administration.keys.rotate(key.record.id, grace_seconds=86_400)
    assert (left.expires_at, new.record.expires_at) == (soon, soon)


async def test_an_inactive_key_is_not_rotated_but_can_be_copied(
    administration: Administration, access: Authenticator, expire: Expire
) -> None:
    key = await administration.keys.issue(OWNER, "k", raw=True, **GRANTS)
    await administration.keys.suspend(key.record.id)
    with pytest.raises(AccessError, match=f"--like {key.record.id}"):
        await administration.keys.rotate(key.record.id)
    other = await administration.keys.issue(like=key.record.id, name="another")
    expected = await rights(administration, key.record) | {"name": "another"}
    assert await rights(administration, other.record) == expected
    assert await answer(access, other.token) == "admitted"
    await expire(key.token, 1)
    with pytest.raises(AccessError, match="--expires"):
        await administration.keys.issue(like=key.record.id)
    await administration.keys.revoke(key.record.id)
    with pytest.raises(AccessError, match="final"):
        await administration.keys.rotate(key.record.id)
    narrow = await administration.keys.issue(
        like=key.record.id, expires="never", raw=False, runs="list:one", rate="per_minute=3"
    )
    shown = await administration.keys.to_json(narrow.record)
    assert shown["granted"]["runs"] == {"mode": "list", "ids": ["one"]}
    assert (shown["field_policy"], shown["expires_at"]) == ({"expose_raw_book": False}, None)
    rate = narrow.record.rate.by_option()
    assert (rate["per_second"], rate["per_minute"], rate["monthly"]) == (7, 3, None)


async def test_an_administrators_key_is_not_copied_to_other_accounts(
    administration: Administration,
) -> None:
    await administration.accounts.create("root@example.org", admin=True, ceiling_endpoints="all")
    admin_id = next(x.id for x in ENDPOINTS.values() if x.admin)
    key = await administration.keys.issue("root@example.org", "k", endpoints=admin_id)
    with pytest.raises(AccessError, match="administrators only"):
        await administration.keys.issue(like=key.record.id, account=OWNER)


async def test_both_limiters_report_last_use_and_monthly_calls(
    settings: AccessSettings, administration: Administration
) -> None:
    used, unused = [await administration.keys.issue(OWNER, name) for name in ("used", "unused")]
    ids = [used.record.id, unused.record.id]
    now = int(datetime.now(UTC).timestamp() * 1e6)
    assert await last_uses(settings, ids, now) == {}
    access = await Authenticator.open(settings)
    try:
        for _ in range(3):
            assert await answer(access, used.token) == "admitted"
    finally:
        await access.close()
    result = await last_uses(settings, ids, now)
    assert list(result) == [used.record.id]
    assert result[used.record.id].calls == 3
    at = result[used.record.id].used_us
    assert at is not None
    assert abs(at - now) < 60_000_000
    next_year = now + 366 * 86_400 * 1_000_000
    assert (await last_uses(settings, ids, next_year))[used.record.id] == (at, 0)


async def test_last_use_is_read_while_a_server_is_counting(
    settings: AccessSettings, administration: Administration, tmp_path: Path
) -> None:
    local = replace(settings, redis=None, limits_state=tmp_path / "busy.sqlite3")
    key = await administration.keys.issue(OWNER, "k")
    access = await Authenticator.open(local)
    try:
        await answer(access, key.token)
        now = int(datetime.now(UTC).timestamp() * 1e6)
        while not (result := await last_uses(local, [key.record.id], now)):  # noqa: ASYNC110 - written by another task, twice a second
            await asyncio.sleep(0.05)
        assert result[key.record.id].calls == 1
    finally:
        await access.close()


@pytest.fixture
def typed(tmp_path: Path) -> Iterator[Operators]:
    root = tmp_path / "published"
    (root / "catalog").mkdir(parents=True)
    for alpha in ("momentum", "Test_reversal"):
        (root / "catalog" / f"{alpha}.json").write_text("{}")
    with operators(root) as run:
        run("accounts", "create", "--email", "a@example.org")
        yield run


def test_allow_lists_name_published_alphas_unless_unpublished_is_given(
    typed: Operators, tmp_path: Path
) -> None:
    issue = ("keys", "issue", "--account", "a@example.org", "--name", "k")
    for words in (
        (*issue, "--alphas", "list:momentun"),
        (*issue, "--runs", "list:momentum,momentun"),
        ("accounts", "set", "a@example.org", "--ceiling-runs", "list:momentun"),
    ):
        reported = typed(*words, code=2)
        assert "'momentun' is not published" in reported
        assert "did you mean 'momentum'?" in reported
        assert "--unpublished" in reported
        typed(*words, "--unpublished")
    assert "note" not in typed(*issue, "--alphas", "list:momentum,Test_reversal", "--runs", "all")
    assert "note: runs: no published alpha starts with 'Tset_'" in typed(*issue, "--runs", "prefix:Tset_")
    shutil.rmtree(tmp_path / "published")
    assert "is not published" in typed(*issue, "--alphas", "list:momentum", code=2)


def test_rotate_like_and_list_work_from_the_command_line(typed: Operators) -> None:
    first = json.loads(typed("keys", "issue", "--account", "a@example.org", "--name", "k", "--raw", "--json"))
    text = typed("keys", "rotate", first["key_id"], "--grace", "7d")
    assert f"The old key {first['key_id']} works until 20" in text
    assert "The new key" not in text
    # Its expiry is now the end of the grace.
    assert "The new key expires as the old one did: 20" in typed("keys", "rotate", first["key_id"])
    like = json.loads(typed("keys", "issue", "--like", first["key_id"], "--name", "other", "--json"))
    assert like["field_policy"] == {"expose_raw_book": True}
    assert like["token"] != first["token"]
    listed = typed.json("keys", "list")
    assert {(row["last_used_at"], row["calls_this_month"]) for row in listed} == {(None, 0)}
    assert len(listed) == 4
    assert "last_used_at\tcalls_this_month" in typed("keys", "list")
    assert "--like" in typed("keys", "issue", "--name", "k", code=2)
    assert "--grace" in typed("keys", "rotate", first["key_id"], "--grace", "soon", code=2)


def test_a_file_of_counts_that_cannot_be_read_is_null_with_a_warning(
    typed: Operators, tmp_path: Path
) -> None:
    typed("keys", "issue", "--account", "a@example.org", "--name", "k")
    (tmp_path / "published.limits.sqlite3").write_bytes(b"not a database " * 100)
    output = typed("keys", "list", "--json")
    assert f"warning: last use is not known: the file of call counts {tmp_path}/published.limits" in output
    (row,) = json.loads(output[output.index("[\n") :])
    assert (row["last_used_at"], row["calls_this_month"]) == (None, None)


def test_an_unreadable_last_use_is_null_with_a_warning(tmp_path: Path) -> None:
    root = tmp_path / "published"
    root.mkdir()
    with operators(root, ALPHA_RESULTS_REDIS="redis://127.0.0.1:1/0") as run:
        run("accounts", "create", "--email", "a@example.org")
        run("keys", "issue", "--account", "a@example.org", "--name", "k")
        output = run("keys", "list", "--json")
    assert "warning: last use is not known: ALPHA_RESULTS_REDIS: redis on 127.0.0.1:1" in output
    (row,) = json.loads(output[output.index("[\n") :])
    assert (row["last_used_at"], row["calls_this_month"]) == (None, None)

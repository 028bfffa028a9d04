from __future__ import annotations

import hmac
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError
from schemas.instants import instant
from serve.auth.authenticator import Authenticator
from serve.auth.settings import AccessSettings
from serve.auth.store.repository import KeyStore
from serve.auth.tokens import TokenShape, new_token
from tests.access.conftest import OWNER, Expire
from tests.support.administration import Administration
from tests.support.keys import WIDE, bearer, credentials

pytestmark = pytest.mark.anyio

ME = ENDPOINTS["meta.me"]
SCORES = ENDPOINTS["signals.scores"]
PEER = "203.0.113.7"


async def refusal(
    access: Authenticator, token: str | None, endpoint: Endpoint = ME, peer: str | None = PEER
) -> ApiError:
    with pytest.raises(ApiError) as refused:
        await access.authorize({} if token is None else bearer(token), peer, endpoint)
    return refused.value


async def issue(administration: Administration, **grants: Any) -> str:
    return str((await administration.keys.issue(OWNER, "k", **grants)).token)


def key_id(token: str) -> str:
    return token.partition(".")[0].rpartition("_")[2]


def with_other_secret(token: str) -> str:
    return f"{token.partition('.')[0]}.{new_token().secret}"


async def test_checks_run_in_the_documented_order(
    access: Authenticator, administration: Administration, expire: Expire
) -> None:
    # A key that breaks every rule gets the error of each in turn, in the order of checks, as they are fixed.
    token = await issue(
        administration,
        endpoints="meta.me",
        ips="198.51.100.1",
        rate="per_second=1000,per_minute=1,per_day=9",
        expires="2999-01-01",
    )
    await access.authorize(bearer(token), "198.51.100.1", ME)  # this exhausts the minute
    await administration.accounts.deactivate(OWNER)
    await administration.keys.suspend(key_id(token))
    await expire(token, 1)
    assert (await refusal(access, with_other_secret(token), SCORES)).code == "invalid_api_key"
    assert (await refusal(access, token, SCORES)).code == "key_suspended"
    await administration.keys.reactivate(key_id(token))
    assert (await refusal(access, token, SCORES)).code == "key_expired"
    await expire(token, None)
    assert (await refusal(access, token, SCORES)).code == "account_inactive"
    await administration.accounts.activate(OWNER)
    assert (await refusal(access, token, SCORES)).code == "ip_not_allowed"
    assert (await refusal(access, token, SCORES, "198.51.100.1")).code == "rate_limit_minute"
    await administration.keys.change(key_id(token), rate="per_minute=60")
    assert (await refusal(access, token, SCORES, "198.51.100.1")).code == "endpoint_not_allowed"
    await administration.keys.change(key_id(token), endpoints="signals.scores")
    caller = await access.authorize(bearer(token), "198.51.100.1", SCORES)
    # Counted: the first call, the one refused for its endpoint, and this one.
    assert caller.usage.used[1:] == (3, 3, 3)
    await expire(token, 1)
    await administration.keys.revoke(key_id(token))
    assert (await refusal(access, token)).code == "key_revoked"


async def test_the_longest_exhausted_window_gives_code_and_retry_after(
    access: Authenticator, administration: Administration
) -> None:
    token = await issue(administration, rate="per_second=1,per_minute=1,per_day=1,monthly=null")
    await access.authorize(bearer(token), PEER, ME)
    refused = await refusal(access, token)
    assert (refused.code, refused.details) == ("rate_limit_day", {"window": "day", "limit": 1})
    assert refused.headers["Retry-After"] == refused.headers["X-RateLimit-Reset-Day"] == "86400"


async def test_a_key_row_shows_effective_grants_and_administrators_see_revoked_keys(
    access: Authenticator, administration: Administration
) -> None:
    token = await issue(
        administration, endpoints="all", alphas="all", raw=True, expires="2999-01-31T12:00:00+02:00"
    )
    await administration.accounts.change(OWNER, ceiling_endpoints="meta.me", ceiling_alphas="list:Test_a")
    (row,) = await access.inventory((await administration.accounts.find_account(OWNER)).id)
    assert row.rights.allow["endpoints"] == {"mode": "list", "ids": ["meta.me"]}
    assert row.rights.allow["alphas"] == {"mode": "list", "ids": ["Test_a"]}
    assert row.rights.expose_raw is True
    record = row.rights.record
    assert (record.status, record.email, record.account_active) == ("active", OWNER, True)
    assert record.expires_at is not None
    assert instant(record.expires_at).isoformat() == "2999-01-31T10:00:00+00:00"
    await administration.keys.revoke(key_id(token))
    revoked = await access.key(key_id(token))
    assert revoked is not None
    assert revoked.rights.record.status == "revoked"


async def test_every_change_takes_effect_on_the_next_call_of_every_worker(
    settings: AccessSettings, access: Authenticator, administration: Administration, tmp_path: Path
) -> None:
    second = await Authenticator.open(replace(settings, limits_state=tmp_path / "second.sqlite3"))
    token = await issue(administration, endpoints="all", rate=WIDE)
    try:
        for raw in (True, False):
            await administration.keys.change(key_id(token), raw=raw)
            for worker in (access, second):
                caller = await worker.authorize(bearer(token), PEER, SCORES)
                assert caller.may_call("signals.scores")
                assert caller.expose_raw == raw
        await administration.accounts.change(OWNER, ceiling_endpoints="meta.me")
        for worker in (access, second):
            assert (await refusal(worker, token, SCORES)).code == "endpoint_not_allowed"
            await worker.authorize(bearer(token), PEER, ME)
        await administration.accounts.deactivate(OWNER)
        for worker in (access, second):
            assert (await refusal(worker, token)).code == "account_inactive"
        await administration.accounts.activate(OWNER)
        await administration.keys.change(key_id(token), ips="198.51.100.1")
        for worker in (access, second):
            assert (await refusal(worker, token)).code == "ip_not_allowed"
        await administration.keys.change(key_id(token), ips="any", rate="per_minute=1")
        for worker in (access, second):
            assert (await refusal(worker, token)).code == "rate_limit_minute"
        await administration.keys.suspend(key_id(token))
        for worker in (access, second):
            assert (await refusal(worker, token)).code == "key_suspended"
        await administration.keys.revoke(key_id(token))
        for worker in (access, second):
            assert (await refusal(worker, token)).code == "key_revoked"
    finally:
        await second.close()


async def test_expiry_is_checked_on_every_call(
    access: Authenticator, administration: Administration, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await issue(administration, expires="2999-01-01")
    await access.authorize(bearer(token), PEER, ME)
    (record,) = await administration.keys.all()
    assert record.expires_at is not None
    monkeypatch.setattr(time, "time_ns", lambda: record.expires_at * 1000)
    assert (await refusal(access, token)).code == "key_expired"


async def test_a_key_is_accepted_only_as_a_bearer_token(
    access: Authenticator, administration: Administration
) -> None:
    token = await issue(administration, rate=WIDE)
    accepted: list[Any] = [
        {"authorization": f"bearer {token}"},
        {"AUTHORIZATION": f"BEARER   {token} "},
        [(b"host", b"x"), (b"authorization", f"Bearer {token}".encode())],
        [(b"Authorization", f"Bearer {token}".encode())],
    ]
    for headers in accepted:
        assert (await access.authorize(credentials(headers), PEER, ME)).key_id == key_id(token)
    refused: list[tuple[Any, str]] = [
        ({}, "missing_api_key"),
        ([], "missing_api_key"),
        ({"Authorization": ""}, "missing_api_key"),
        ({"Authorization": "Bearer"}, "missing_api_key"),
        ({"Authorization": "Bearer  "}, "missing_api_key"),
        ({"Authorization": token}, "missing_api_key"),
        ({"Authorization": f"Basic {token}"}, "missing_api_key"),
        ({"X-Api-Key": token}, "missing_api_key"),
        ({"Cookie": f"Authorization=Bearer {token}"}, "missing_api_key"),
        ({"Authorization": f"Bearer {token} {token}"}, "malformed_api_key"),
        ({"Authorization": f"Bearer {token}é"}, "malformed_api_key"),
        ([(b"authorization", f"Bearer {token}".encode())] * 2, "malformed_api_key"),
        ([(b"authorization", b"Bearer \xff\xfe")], "malformed_api_key"),
    ]
    for headers, code in refused:
        with pytest.raises(ApiError) as error:
            await access.authorize(credentials(headers), PEER, ME)
        assert error.value.code == code, headers


async def test_an_unknown_id_and_a_wrong_secret_are_indistinguishable_in_work_and_answer(
    access: Authenticator, administration: Administration, shape: TokenShape, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await issue(administration)
    work: list[tuple[str, int]] = []
    look_up, digest, compare = KeyStore.key_or_another, hmac.digest, hmac.compare_digest

    async def counted_look_up(store: KeyStore, wanted: str) -> Any:
        work.append(("query", len(wanted)))
        return await look_up(store, wanted)

    def counted_digest(key: bytes, message: bytes, name: str) -> bytes:
        work.append(("hmac", len(message)))
        return digest(key, message, name)

    def counted_compare(a: bytes, b: bytes) -> bool:
        work.append(("compare", len(a) + len(b)))
        return compare(a, b)

    monkeypatch.setattr(KeyStore, "key_or_another", counted_look_up)
    monkeypatch.setattr(hmac, "digest", counted_digest)
    monkeypatch.setattr(hmac, "compare_digest", counted_compare)
    answers, efforts = [], []
    for presented in (
        shape.spell(new_token()),
        with_other_secret(token),
        token.replace("_live_", "_test_"),
        token.replace(key_id(token), "ABCDEF_HIJKLMNO-"),
    ):
        work.clear()
        refused = await refusal(access, presented)
        answers.append((refused.code, refused.status, refused.message, refused.details, refused.headers))
        efforts.append(list(work))
    assert answers[1:] == answers[:1] * 3
    assert answers[0][0] == "invalid_api_key"
    assert efforts == [[("query", 16), ("hmac", 60), ("compare", 64)]] * 4


async def test_the_address_allow_list_uses_trusted_proxies_and_ignores_spoofed_headers(
    settings: AccessSettings, access: Authenticator, administration: Administration, tmp_path: Path
) -> None:
    token = await issue(administration, ips="203.0.113.0/24,2001:db8::/32", rate=WIDE)
    spoof = bearer(token, "203.0.113.7")
    with pytest.raises(ApiError) as refused:
        await access.authorize(spoof, "198.51.100.9", ME)
    assert refused.value.details == {"ip": "198.51.100.9"}
    behind = await Authenticator.open(
        replace(settings, trusted_hops=2, limits_state=tmp_path / "behind.sqlite3")
    )
    try:
        for seen in ("203.0.113.7", "::ffff:203.0.113.7", "[2001:db8::5]:1234"):
            chain = bearer(token, f"198.51.100.9, {seen}, 10.0.0.2")
            assert str((await behind.authorize(chain, "10.0.0.1", ME)).address) in (
                "203.0.113.7",
                "2001:db8::5",
            )
        spoofed = [
            (b"authorization", f"Bearer {token}".encode()),
            (b"x-forwarded-for", b"203.0.113.7, 203.0.113.7"),
            (b"x-forwarded-for", b"198.51.100.9, 10.0.0.2"),
        ]
        with pytest.raises(ApiError) as refused:
            await behind.authorize(credentials(spoofed), "10.0.0.1", ME)
        assert refused.value.details == {"ip": "198.51.100.9"}
        unreadable = bearer(token, "unknown, 10.0.0.2")
        with pytest.raises(ApiError) as refused:
            await behind.authorize(unreadable, "10.0.0.1", ME)
        assert (refused.value.code, refused.value.details) == ("ip_not_allowed", {"ip": "unknown"})
    finally:
        await behind.close()

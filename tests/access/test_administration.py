from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from schemas.endpoints import ADMIN_IDS, ENDPOINTS, META_IDS
from schemas.errors import AccessError
from serve.auth.store.tables import KeyStatus
from tests.access.conftest import OWNER
from tests.support.administration import Administration

pytestmark = pytest.mark.anyio

Act = Callable[[Administration], Coroutine[Any, Any, Any]]


async def test_a_key_without_options_has_the_documented_defaults(
    administration: Administration,
) -> None:
    await administration.accounts.create("new@example.org")
    issued = await administration.keys.issue("new@example.org", "first")
    shown = await administration.keys.to_json(issued.record)
    assert shown["allow"] == {
        "endpoints": {"mode": "list", "ids": list(META_IDS)},
        "alphas": {"mode": "prefix", "prefixes": ["Test_"]},
        "runs": {"mode": "prefix", "prefixes": ["Test_"]},
    }
    assert shown["rate_limit"] == {
        "per_second": 5,
        "per_minute": 60,
        "per_day": 5000,
        "monthly_requests": 100000,
    }
    assert shown["field_policy"] == {"expose_raw_book": False}
    assert (shown["status"], shown["expires_at"], shown["ips"], shown["email"]) == (
        "active",
        None,
        None,
        "new@example.org",
    )
    assert issued.token.startswith(shown["display_prefix"])


SELECTABLE = [name for name in ENDPOINTS if name not in ADMIN_IDS]


@pytest.mark.parametrize("endpoints", [None, "all", ",".join(SELECTABLE), ",".join(reversed(SELECTABLE))])
@pytest.mark.parametrize("ceiling", [None, "all", "meta.me,signals.scores", ""])
async def test_a_key_granted_all_endpoints_has_exactly_its_accounts_ceiling(
    administration: Administration, endpoints: str | None, ceiling: str | None
) -> None:
    account = await administration.accounts.create("new@example.org", ceiling_endpoints=ceiling)
    issued = await administration.keys.issue("new@example.org", "k", endpoints=endpoints)

    async def allowed() -> object:
        record = await administration.keys.find(issued.record.id)
        return (await administration.keys.to_json(record))["allow"]["endpoints"]

    assert await allowed() == account.to_json()["ceiling"]["endpoints"]
    if ceiling is None:
        assert await allowed() == {"mode": "list", "ids": list(META_IDS)}
    # The key may also call endpoints that an operator opens later.
    await administration.accounts.change("new@example.org", ceiling_endpoints="meta.me,performance.metrics")
    assert await allowed() == {"mode": "list", "ids": ["meta.me", "performance.metrics"]}


async def test_all_endpoints_of_an_administrator_include_the_administrative_ones(
    administration: Administration,
) -> None:
    await administration.accounts.create("boss@example.org", admin=True, ceiling_endpoints="all")
    for endpoints, mode in ((",".join(SELECTABLE), "list"), (",".join(ENDPOINTS), "all")):
        issued = await administration.keys.issue("boss@example.org", "k", endpoints=endpoints)
        assert (await administration.keys.to_json(issued.record))["granted"]["endpoints"]["mode"] == mode


async def test_grants_are_clamped_to_the_current_ceiling(
    administration: Administration,
) -> None:
    issued = await administration.keys.issue(
        OWNER, "all", endpoints="all", alphas="all", runs="list:Test_a,Prod_b"
    )
    await administration.accounts.change(
        OWNER,
        ceiling_endpoints="meta.me,signals.scores",
        ceiling_alphas="prefix:Test_",
        ceiling_runs="prefix:Test_",
    )
    shown = await administration.keys.to_json(await administration.keys.find(issued.record.id))
    assert shown["allow"] == {
        "endpoints": {"mode": "list", "ids": ["meta.me", "signals.scores"]},
        "alphas": {"mode": "prefix", "prefixes": ["Test_"]},
        "runs": {"mode": "list", "ids": ["Test_a"]},
    }
    assert shown["granted"]["endpoints"] == {"mode": "all"}
    await administration.accounts.change(OWNER, ceiling_endpoints="all")
    widened = await administration.keys.to_json(await administration.keys.find(issued.record.id))
    assert widened["allow"]["endpoints"] == {"mode": "all"}


async def test_a_key_can_be_changed_suspended_and_revoked(administration: Administration) -> None:
    key_id = (await administration.keys.issue(OWNER, "first")).record.id
    changed = await administration.keys.change(
        key_id,
        name="second",
        endpoints="signals.scores",
        alphas="all",
        runs="prefix:Test_,Prod_",
        raw=True,
        rate="per_day=7,monthly=null",
        expires="2999-01-31",
        ips="10.0.0.0/8, ::ffff:203.0.113.7",
    )
    shown = await administration.keys.to_json(changed)
    assert shown["name"] == "second"
    assert shown["granted"]["runs"] == {"mode": "prefix", "prefixes": ["Test_", "Prod_"]}
    assert shown["field_policy"] == {"expose_raw_book": True}
    assert shown["rate_limit"] == {
        "per_second": 5,
        "per_minute": 60,
        "per_day": 7,
        "monthly_requests": None,
    }
    assert shown["expires_at"] == "2999-01-31T00:00:00Z"
    assert shown["ips"] == ["10.0.0.0/8", "203.0.113.7/32"]
    lifted = await administration.keys.change(key_id, expires="never", ips="any")
    assert (lifted.expires_at, lifted.addresses) == (None, None)
    assert (await administration.keys.suspend(key_id)).status == KeyStatus.SUSPENDED
    assert (await administration.keys.reactivate(key_id)).status == KeyStatus.ACTIVE
    assert (await administration.keys.revoke(key_id)).status == KeyStatus.REVOKED
    assert [key.id for key in await administration.keys.all()] == []
    assert [key.id for key in await administration.keys.all(OWNER, revoked=True)] == [key_id]


async def test_keys_are_listed_newest_first(administration: Administration) -> None:
    made = [(await administration.keys.issue(OWNER, f"key {n}")).record.id for n in range(4)]
    await administration.accounts.create("other@example.org")
    await administration.keys.issue("other@example.org", "elsewhere")
    assert [key.id for key in await administration.keys.all(OWNER)] == made[::-1]
    assert len(await administration.keys.all()) == 5


async def test_accounts_are_found_by_address_in_any_case_and_by_id(administration: Administration) -> None:
    made = await administration.accounts.create("Some.One@Example.org", admin=True)
    assert made.email == "some.one@example.org"
    assert await administration.accounts.find_account("SOME.ONE@example.ORG") == made
    assert await administration.accounts.find_account(made.id) == made
    assert made.to_json()["ceiling"] == {
        "endpoints": {"mode": "list", "ids": list(META_IDS)},
        "alphas": {"mode": "all"},
        "runs": {"mode": "all"},
    }
    assert [account.email for account in await administration.accounts.all()] == [OWNER, made.email]


async def test_only_administrators_are_granted_administrative_endpoints(
    administration: Administration,
) -> None:
    await administration.accounts.create("boss@example.org", admin=True, ceiling_endpoints="all")
    key = await administration.keys.issue("boss@example.org", "k", endpoints=",".join(ADMIN_IDS))
    assert (await administration.keys.to_json(key.record))["allow"]["endpoints"]["ids"] == list(ADMIN_IDS)
    await administration.accounts.change("boss@example.org", admin=False)
    demoted = await administration.keys.to_json(await administration.keys.find(key.record.id))
    assert demoted["allow"]["endpoints"] == {"mode": "list", "ids": []}


REFUSED_ACCOUNTS: dict[str, tuple[Act, str]] = {
    "no address": (lambda a: a.accounts.create("nobody"), "name@example.org"),
    "empty": (lambda a: a.accounts.create(" "), "email"),
    "two addresses": (lambda a: a.accounts.create("a@b.org,c@d.org"), "email"),
    "taken": (lambda a: a.accounts.create(OWNER), "accounts set"),
    "taken in other case": (lambda a: a.accounts.create(OWNER.upper()), "has an account already"),
    "unknown endpoint": (lambda a: a.accounts.create("x@y.org", ceiling_endpoints="meta.us"), "meta.me"),
    "admin ceiling": (
        lambda a: a.accounts.create("x@y.org", ceiling_endpoints="admin.alphas.list"),
        "administrators only",
    ),
    "bad ceiling": (lambda a: a.accounts.create("x@y.org", ceiling_runs="Test_*"), "prefix:Test_"),
    "unknown account": (lambda a: a.accounts.find_account("x@y.org"), "accounts list"),
    "no change": (lambda a: a.accounts.change(OWNER), "nothing to change"),
    "same value": (lambda a: a.accounts.change(OWNER, ceiling_alphas="all"), "nothing to change"),
    "active already": (lambda a: a.accounts.activate(OWNER), "active already"),
}


def _issue(**grants: Any) -> Act:
    return lambda a: a.keys.issue(OWNER, **{"name": "k", **grants})


REFUSED_KEYS: dict[str, tuple[Act, str]] = {
    "unknown owner": (lambda a: a.keys.issue("x@y.org", "k"), "accounts create"),
    "unknown endpoint": (_issue(endpoints="meta.me,signals.all"), "signals.scores"),
    "admin endpoint": (_issue(endpoints="admin.keys.usage"), "accounts set --admin"),
    "empty prefix": (_issue(alphas="prefix:Test_ x"), "alphas"),
    "wild card": (_issue(runs="prefix:Test_*"), "runs"),
    "bare name": (_issue(alphas="Test_one"), "list:alpha_one"),
    "dots": (_issue(runs="list:a..b"), "runs"),
    "no such mode": (_issue(alphas="none"), "all, prefix:Test_"),
    "zero rate": (_issue(rate="per_second=0"), "suspend the key"),
    "negative rate": (_issue(rate="per_day=-1"), "whole number"),
    "no quota": (_issue(rate="monthly=0"), "monthly=null"),
    "fraction": (_issue(rate="per_minute=1.5"), "whole number"),
    "huge": (_issue(rate="per_minute=99999999999"), "whole number"),
    "unlimited second": (_issue(rate="per_second=null"), "whole number"),
    "unknown window": (_issue(rate="per_hour=5"), "per_minute"),
    "twice": (_issue(rate="per_day=5,per_day=6"), "each once"),
    "no number": (_issue(rate="per_day"), "name=number"),
    "past day": (_issue(expires="2020-01-01"), "has passed"),
    "no day": (_issue(expires="2999-02-30"), "2030-01-31"),
    "words": (_issue(expires="tomorrow"), "never"),
    "year 10000 in UTC": (_issue(expires="9999-12-31T23:59:59-05:00"), "2030-01-31"),
    "no address": (_issue(ips="here"), "203.0.113.7"),
    "host bits": (_issue(ips="10.0.0.5/8"), "10.0.0.0/8"),
    "no addresses": (_issue(ips=" , "), "any"),
    "no name": (_issue(name=" "), "printable"),
    "control character": (_issue(name="a\x07b"), "printable"),
    "long name": (_issue(name="a" * 101), "1 to 100"),
    "unknown key": (lambda a: a.keys.suspend("0" * 16), "keys list"),
}


@pytest.mark.parametrize("case", [*REFUSED_ACCOUNTS, *[f"key: {name}" for name in REFUSED_KEYS]])
async def test_invalid_arguments_are_refused_with_the_fix_and_change_nothing(
    administration: Administration, case: str
) -> None:
    act, fix = REFUSED_KEYS[case[5:]] if case.startswith("key: ") else REFUSED_ACCOUNTS[case]
    before = await administration.audit_log()
    accounts = await administration.accounts.all()
    with pytest.raises(AccessError) as refused:
        await act(administration)
    assert fix in str(refused.value)
    assert await administration.audit_log() == before
    assert await administration.accounts.all() == accounts
    assert await administration.keys.all(revoked=True) == []


async def test_actions_that_contradict_a_keys_state_are_refused(administration: Administration) -> None:
    key_id = (await administration.keys.issue(OWNER, "k")).record.id
    with pytest.raises(AccessError, match="active already"):
        await administration.keys.reactivate(key_id)
    with pytest.raises(AccessError, match="nothing to change"):
        await administration.keys.change(key_id, raw=False, rate="per_second=5")
    await administration.keys.suspend(key_id)
    with pytest.raises(AccessError, match="keys reactivate"):
        await administration.keys.suspend(key_id)
    await administration.keys.revoke(key_id)
    for act in (administration.keys.suspend, administration.keys.reactivate, administration.keys.revoke):
        with pytest.raises(AccessError, match="final"):
            await act(key_id)
    with pytest.raises(AccessError, match="keys issue"):
        await administration.keys.change(key_id, raw=True)
    await administration.accounts.deactivate(OWNER)
    with pytest.raises(AccessError, match="deactivated already"):
        await administration.accounts.deactivate(OWNER)
    with pytest.raises(AccessError, match="accounts activate"):
        await administration.keys.issue(OWNER, "k")


async def test_a_token_given_as_an_id_is_not_echoed(administration: Administration) -> None:
    issued = await administration.keys.issue(OWNER, "k")
    with pytest.raises(AccessError) as refused:
        await administration.keys.find(issued.token)
    assert issued.token not in str(refused.value)


async def test_an_email_address_in_use_is_refused(administration: Administration) -> None:
    await administration.accounts.create("other@example.org")
    with pytest.raises(AccessError, match="another account"):
        await administration.accounts.change("other@example.org", email=OWNER)
    moved = await administration.accounts.change("other@example.org", email="New@example.org")
    assert moved.email == "new@example.org"

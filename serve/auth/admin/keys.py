"""Keys: issued once, then changed, suspended, reactivated or revoked for good."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from schemas.errors import AccessError
from serve.auth.admin import validation
from serve.auth.admin.accounts import Account, find_account
from serve.auth.admin.audit_log import AuditLog
from serve.auth.allow_list import ALL, DEFAULT_ALPHAS, AllowList, Mode, clamp
from serve.auth.key_view import endpoints_in_force, instant
from serve.auth.limits.policy import SECOND_US, RateLimit
from serve.auth.store.database import Database, Session
from serve.auth.store.keys import SELECT_KEYS, KeyRecord
from serve.auth.store.tables import KeyStatus, Role, accounts, keys
from serve.auth.tokens import Digests, TokenShape, new_token


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key and its token, which is shown now and can never be shown again."""

    record: KeyRecord
    token: str = field(repr=False)


class Keys:
    """The acts on keys.

    Parameters
    ----------
    database
        An open, writable store.
    audit_log
        Where they are written down.
    shape
        How tokens are spelled.
    digests
        Loads what secrets are stored with; called when a key is issued.
    """

    def __init__(
        self, database: Database, audit_log: AuditLog, shape: TokenShape, digests: Callable[[], Digests]
    ) -> None:
        self._database = database
        self._audit_log = audit_log
        self._shape = shape
        self._digests = digests

    async def issue(
        self,
        account: str,
        name: str,
        *,
        endpoints: str | None = None,
        alphas: str | None = None,
        runs: str | None = None,
        raw: bool = False,
        rate: str = "",
        expires: str | None = None,
        ips: str | None = None,
    ) -> IssuedKey:
        """Issue a key to an account, given by e-mail address or id.

        Without a list of endpoints it may call what its account's ceiling allows, now and later. What else is not
        granted is what a self-created key has: the alphas and runs made for testing, the self-service envelope, no
        raw fields, no expiry, any address.

        Raises
        ------
        AccessError
            When the account is unknown or closed, or a value makes no sense.
        """
        async with self._database.transaction() as session:
            owner = await find_account(session, account, to_change=True)
            given: dict[str, Any] = {
                "name": validation.label(name),
                "endpoints": (
                    ALL if endpoints is None else validation.selected(endpoints, admin=owner.is_admin)
                ).dumps(),
                "alphas": (DEFAULT_ALPHAS if alphas is None else validation.alphas(alphas, "alphas")).dumps(),
                "runs": (DEFAULT_ALPHAS if runs is None else validation.alphas(runs, "runs")).dumps(),
                "expose_raw": raw,
                **validation.rate(rate, RateLimit()).columns(),
                "addresses": None if ips is None else validation.addresses(ips),
                "expires_at": None if expires is None else validation.expiry(expires, self._audit_log.now()),
            }
            return await self._insert(session, owner, given, "key.issue")

    async def issue_like(
        self,
        like: str,
        *,
        account: str | None = None,
        name: str | None = None,
        raw: bool | None = None,
        expires: str | None = None,
        **grants: str | None,
    ) -> IssuedKey:
        """Issue a key with the grants, limits, addresses and expiry of another, whatever became of that one.

        Parameters
        ----------
        like
            Id of the other key.
        account, name
            Owner and label; those of the other key by default.
        raw, expires, **grants
            As :meth:`issue`; what is None is the other key's.

        Raises
        ------
        AccessError
            As :meth:`issue`; and when the other key's expiry has passed and no other is given.
        """
        async with self._database.transaction() as session:
            other = await _find_key(session, like, to_change=True)
            owner = await find_account(session, account or other.account_id, to_change=True)
            given = _grants(other) | self._granted(grants, other, admin=owner.is_admin)
            given["name"] = validation.label(other.name if name is None else name)
            if raw is not None:
                given["expose_raw"] = raw
            if expires is not None:
                given["expires_at"] = validation.expiry(expires, self._audit_log.now())
            elif other.expires_at is not None and other.expires_at <= self._audit_log.now():
                raise AccessError(
                    f"key {other.id} has expired, and one like it would have; give --expires as well"
                )
            listed = AllowList.loads(given["endpoints"])
            if listed.mode is Mode.LIST and not owner.is_admin:  # an administrator's key, for somebody else
                validation.endpoints(",".join(listed.values), "endpoints", admin=False)
            return await self._insert(session, owner, given, "key.issue", {"like": other.id})

    async def rotate(self, key_id: str, *, grace_seconds: int | None = None) -> tuple[IssuedKey, KeyRecord]:
        """Issue another token for the rights of a key, which goes on for a while or until it is revoked.

        Parameters
        ----------
        key_id
            Of a key in use.
        grace_seconds
            How long the old token works on, but not beyond its own expiry; 0 revokes it at once, None leaves it until it
            is revoked.

        Returns
        -------
        IssuedKey, KeyRecord
            The new key, of another id, and the old one as it is now.

        Raises
        ------
        AccessError
            When the key is not in use: a leaked key that was suspended must not come back by it.
        """
        async with self._database.transaction() as session:
            old = await _usable(session, key_id)
            now = self._audit_log.now()
            if old.status != KeyStatus.ACTIVE or (old.expires_at is not None and old.expires_at <= now):
                state = "suspended" if old.status != KeyStatus.ACTIVE else "expired"
                raise AccessError(
                    f"key {old.id} is {state}: `keys issue --like {old.id}` issues another with its rights"
                )
            owner = await find_account(session, old.account_id, to_change=True)
            issued = await self._insert(session, owner, _grants(old), "key.rotate", {"replaces": old.id})
            if grace_seconds == 0:
                old = await self._update(session, old, "key.revoke", {"status": KeyStatus.REVOKED.value})
            elif grace_seconds is not None:
                end = now + grace_seconds * SECOND_US
                if old.expires_at is None or end < old.expires_at:
                    old = await self._update(session, old, "key.set", {"expires_at": end})
        return issued, old

    async def _insert(
        self,
        session: Session,
        owner: Account,
        given: dict[str, Any],
        action: str,
        about: Mapping[str, str] | None = None,
    ) -> IssuedKey:
        if not owner.active:
            raise AccessError(f"{owner.email} is deactivated; `accounts activate` it before issuing keys")
        token = new_token()
        digest, made_with = self._digests().make(token)
        await session.execute(
            sa.insert(keys).values(
                id=token.key_id,
                account_id=owner.id,
                digest=digest,
                pepper_id=made_with,
                status=KeyStatus.ACTIVE.value,
                created_at=self._audit_log.now(),
                **given,
            )
        )
        await self._audit_log.write(
            session, action, token.key_id, {"account": owner.id, **(about or {}), **given}
        )
        return IssuedKey(await _find_key(session, token.key_id), self._shape.spell(token))

    async def all(self, account: str | None = None, *, revoked: bool = False) -> list[KeyRecord]:
        """Return keys, newest first: of one account or all, with or without the revoked ones."""
        query = SELECT_KEYS.order_by(keys.c.created_at.desc(), keys.c.id)
        if account is not None:
            query = query.where(keys.c.account_id == (await find_account(self._database, account)).id)
        if not revoked:
            query = query.where(keys.c.status != KeyStatus.REVOKED.value)
        return [KeyRecord.from_row(row) for row in await self._database.fetch(self._database.prepare(query))]

    async def find(self, key_id: str) -> KeyRecord:
        """Return one key; refuses an unknown one."""
        return await _find_key(self._database, key_id)

    async def change(
        self,
        key_id: str,
        *,
        name: str | None = None,
        endpoints: str | None = None,
        alphas: str | None = None,
        runs: str | None = None,
        raw: bool | None = None,
        rate: str | None = None,
        expires: str | None = None,
        ips: str | None = None,
    ) -> KeyRecord:
        """Widen or narrow a key; what is None stays. It holds from the key's next call."""
        async with self._database.transaction() as session:
            record = await _usable(session, key_id)
            after: dict[str, Any] = {}
            if name is not None:
                after["name"] = validation.label(name)
            grants = {"endpoints": endpoints, "alphas": alphas, "runs": runs, "rate": rate, "ips": ips}
            after.update(self._granted(grants, record, admin=record.role == Role.ADMIN))
            if raw is not None:
                after["expose_raw"] = raw
            if expires is not None:
                after["expires_at"] = validation.expiry(expires, self._audit_log.now())
            return await self._update(session, record, "key.set", after)

    @staticmethod
    def _granted(texts: Mapping[str, str | None], record: KeyRecord, *, admin: bool) -> dict[str, Any]:
        """Read what is to be granted beside what a key has, by column; what is None is left out."""
        read: dict[str, Any] = {}
        for name, text in texts.items():
            if text is None:
                continue
            if name == "endpoints":
                read[name] = validation.selected(text, admin=admin).dumps()
            elif name == "rate":
                read.update(validation.rate(text, record.rate).columns())
            elif name == "ips":
                read["addresses"] = validation.addresses(text)
            else:
                read[name] = validation.alphas(text, name).dumps()
        return read

    async def suspend(self, key_id: str) -> KeyRecord:
        """Stop a key until it is reactivated."""
        async with self._database.transaction() as session:
            record = await _usable(session, key_id)
            if record.status == KeyStatus.SUSPENDED:
                raise AccessError(f"key {record.id} is suspended already; `keys reactivate` lifts it")
            return await self._update(session, record, "key.suspend", {"status": KeyStatus.SUSPENDED.value})

    async def reactivate(self, key_id: str) -> KeyRecord:
        """Let a suspended key work again."""
        async with self._database.transaction() as session:
            record = await _usable(session, key_id)
            if record.status == KeyStatus.ACTIVE:
                raise AccessError(f"key {record.id} is active already; `keys suspend` stops it")
            return await self._update(session, record, "key.reactivate", {"status": KeyStatus.ACTIVE.value})

    async def revoke(self, key_id: str) -> KeyRecord:
        """End a key for good."""
        async with self._database.transaction() as session:
            record = await _usable(session, key_id)
            return await self._update(session, record, "key.revoke", {"status": KeyStatus.REVOKED.value})

    async def _update(
        self, session: Session, record: KeyRecord, action: str, after: dict[str, Any]
    ) -> KeyRecord:
        limits = record.rate.columns()
        before = {name: limits[name] if name in limits else getattr(record, name) for name in after}
        changed = validation.changes(before, after)
        await session.execute(sa.update(keys).where(keys.c.id == record.id).values(**after))
        await self._audit_log.write(session, action, record.id, changed)
        return await _find_key(session, record.id)

    def to_json(self, record: KeyRecord) -> dict[str, Any]:
        """Return a key for programs: what is in force, and beside it what was granted."""
        return {
            "key_id": record.id,
            "display_prefix": self._shape.mask(record.id),
            "name": record.name,
            "status": record.status,
            "user_id": record.account_id,
            "email": record.email,
            "account_active": bool(record.account_active),
            "allow": {
                "endpoints": endpoints_in_force(record).to_json(),
                "alphas": clamp(record.alphas, record.ceiling_alphas).to_json(),
                "runs": clamp(record.runs, record.ceiling_runs).to_json(),
            },
            "granted": {
                "endpoints": AllowList.loads(record.endpoints).to_json(),
                "alphas": AllowList.loads(record.alphas).to_json(),
                "runs": AllowList.loads(record.runs).to_json(),
            },
            "field_policy": {"expose_raw_book": bool(record.expose_raw)},
            "rate_limit": record.rate.to_json(),
            "ips": None if record.addresses is None else json.loads(record.addresses),
            "expires_at": None if record.expires_at is None else instant(record.expires_at).isoformat(),
            "created_at": instant(record.created_at).isoformat(),
        }


def _grants(record: KeyRecord) -> dict[str, Any]:
    """Return what a key was granted, by the columns of the store."""
    names = ("name", "endpoints", "alphas", "runs", "expose_raw", "addresses", "expires_at")
    granted = {name: getattr(record, name) for name in names}
    return granted | {"expose_raw": bool(record.expose_raw)} | record.rate.columns()


async def _find_key(session: Session, key_id: str, *, to_change: bool = False) -> KeyRecord:
    query = SELECT_KEYS.where(keys.c.id == key_id.strip())
    # The account too: its role decides what the key may be granted.
    query = query.with_for_update(of=[keys, accounts]) if to_change else query
    row = await session.fetch_one(session.prepare(query))
    if row is None:
        # A whole token may have been pasted: it is not repeated.
        shown = repr(key_id) if len(key_id) <= 16 else "that text"
        raise AccessError(f"key: there is none of id {shown}; `keys list` shows the ids, 16 characters each")
    return KeyRecord.from_row(row)


async def _usable(session: Session, key_id: str) -> KeyRecord:
    record = await _find_key(session, key_id, to_change=True)
    if record.status == KeyStatus.REVOKED:
        raise AccessError(f"key {record.id} was revoked, which is final; `keys issue` makes another")
    return record

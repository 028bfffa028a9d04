"""Keys: issued once, then changed, suspended, reactivated or revoked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from schemas.errors import AccessError
from schemas.instants import instant, utc_text
from serve.auth.admin import validation
from serve.auth.admin.accounts import Operations
from serve.auth.allow_list import ALL, DEFAULT_ALPHAS, LISTS, AllowList
from serve.auth.caller import rights_of
from serve.auth.clocks import SECOND_US, wall_us
from serve.auth.limits.counts import RateLimit, rate_limit
from serve.auth.settings import AccessSettings
from serve.auth.store.opening import load_digests
from serve.auth.store.repository import Account, KeyRecord, Repository
from serve.auth.store.tables import KeyStatus, Role, keys
from serve.auth.tokens import TokenShape, new_token


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key and its token, which is shown only once."""

    record: KeyRecord
    token: str = field(repr=False)


class Keys(Operations):
    """Operations on keys."""

    def __init__(self, rows: Repository, actor: str, settings: AccessSettings) -> None:
        super().__init__(rows, actor)
        self._settings = settings
        self._shape = TokenShape(settings.key_prefix, settings.environment)

    def issue(
        self,
        /,
        account: str | None = None,
        name: str | None = None,
        *,
        like: str | None = None,
        **options: str | bool | None,
    ) -> IssuedKey:
        """Issue a key to an account, given by e-mail address or id.

        Without a list of endpoints the key may call every endpoint that its account's ceiling allows, now and later.
        Other omitted grants are those of a self-created key: test alphas and runs, the default limits, no raw fields,
        no expiry, any address.

        Parameters
        ----------
        account, name
            Owner and label; with `like`, by default those of the other key.
        like
            Id of a key, in use or not, from which omitted grants, limits, addresses and expiry are copied.
        """
        columns = _DEFAULTS
        about: dict[str, str] = {}
        if like is not None:
            other = self.find(like, to_change=True)
            columns, about["like"] = _grants(other), other.id
            account, name = account or other.account_id, other.name if name is None else name
        owner = self.find_account(account or "", to_change=True)
        columns = columns | self._columns({"name": name, **options}, columns, admin=owner.is_admin)
        if columns["expires_at"] is not None and columns["expires_at"] <= wall_us():
            raise AccessError(
                f"key {about['like']} has expired, and its copy would have expired too; give --expires as well"
            )
        if like is not None:  # it may be an administrator's
            listed = AllowList.loads(columns["endpoints"])
            validation.require_grantable(listed.values, "endpoints", admin=owner.is_admin)
        return self._insert(owner, columns, "key.issue", about)

    def rotate(self, key_id: str, *, grace_seconds: int | None = None) -> tuple[IssuedKey, KeyRecord]:
        """Issue another token with the rights of a key; the old one works for a grace period or until it is revoked.

        Parameters
        ----------
        key_id
            Id of a key in use, since a leaked key that was suspended must not be revived by rotation.
        grace_seconds
            Seconds that the old token continues to work, at most until its own expiry; 0 revokes it at once, None leaves
            it until it is revoked.

        Returns
        -------
        IssuedKey, KeyRecord
            The new key, with another id, and the old one after the change.
        """
        old = self._usable(key_id)
        now = wall_us()
        is_suspended = old.status == KeyStatus.SUSPENDED
        if is_suspended or (old.expires_at is not None and old.expires_at <= now):
            state, more = ("suspended", "") if is_suspended else ("expired", " --expires WHEN")
            raise AccessError(
                f"key {old.id} is {state}: `keys issue --like {old.id}{more}` issues another with its rights"
            )
        owner = self.find_account(old.account_id, to_change=True)
        issued = self._insert(owner, _grants(old), "key.rotate", {"replaces": old.id})
        if grace_seconds == 0:
            old = self._update(old, "key.revoke", {"status": KeyStatus.REVOKED.value})
        elif grace_seconds is not None:
            end = now + grace_seconds * SECOND_US
            if old.expires_at is None or end < old.expires_at:
                old = self._update(old, "key.set", {"expires_at": end})
        return issued, old

    def _insert(
        self, owner: Account, columns: dict[str, Any], action: str, about: Mapping[str, str]
    ) -> IssuedKey:
        if not owner.active:
            raise AccessError(f"{owner.email} is deactivated; `accounts activate` it before issuing keys")
        token = new_token()
        digest, pepper_id = load_digests(self.rows, self._settings, wall_us()).make(token)
        values = {
            "id": token.key_id,
            "account_id": owner.id,
            "digest": digest,
            "pepper_id": pepper_id,
            "status": KeyStatus.ACTIVE.value,
            "created_at": wall_us(),
            **columns,
        }
        self.rows.add(keys, values)
        self.note(action, token.key_id, {"account": owner.id, **about, **columns})
        return IssuedKey(self.find(token.key_id), self._shape.spell(token))

    def all(self, account: str | None = None, *, revoked: bool = False) -> list[KeyRecord]:
        """Return keys, newest first: of one account or all, with or without the revoked ones."""
        owner = None if account is None else self.find_account(account).id
        return self.rows.keys(owner, revoked=revoked)

    def find(self, key_id: str, *, to_change: bool = False) -> KeyRecord:
        """Return one key, locked until the transaction ends if it is to be changed; raises for an unknown one."""
        record = self.rows.key(key_id.strip(), to_change=to_change)
        if record is None:
            # The text may be a pasted token, so it is not repeated.
            shown = f"the id {key_id!r}" if len(key_id) <= 16 else "that id"
            raise AccessError(f"key: no key has {shown}; `keys list` shows the ids, 16 characters each")
        return record

    def _usable(self, key_id: str) -> KeyRecord:
        record = self.find(key_id, to_change=True)
        if record.status == KeyStatus.REVOKED:
            raise AccessError(f"key {record.id} was revoked, which is final; `keys issue` makes another")
        return record

    def change(self, /, key_id: str, *, name: str | None = None, **options: str | bool | None) -> KeyRecord:
        """Widen or narrow a key; None keeps a value. Changes apply from the key's next call."""
        record = self._usable(key_id)
        after = self._columns({"name": name, **options}, _grants(record), admin=record.role == Role.ADMIN)
        return self._update(record, "key.set", after)

    def _columns(
        self, options: Mapping[str, Any], granted: Mapping[str, Any], *, admin: bool
    ) -> dict[str, Any]:
        """Return the columns that options set, given the present grants; None sets nothing."""
        readers: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
            "name": ("name", validation.label),
            "endpoints": ("endpoints", lambda text: validation.key_endpoints(text, admin=admin).dumps()),
            "alphas": ("alphas", lambda text: validation.alphas(text, "alphas").dumps()),
            "runs": ("runs", lambda text: validation.alphas(text, "runs").dumps()),
            "raw": ("expose_raw", bool),
            "rate": ("limits", lambda text: validation.rate(text, rate_limit(granted["limits"])).dumps()),
            "expires": ("expires_at", lambda text: validation.expiry(text, wall_us())),
            "ips": ("addresses", validation.addresses),
        }
        read = [(*readers[name], value) for name, value in options.items() if value is not None]
        return {column: reader(value) for column, reader, value in read}

    def suspend(self, key_id: str) -> KeyRecord:
        """Stop a key until it is reactivated."""
        record = self._usable(key_id)
        if record.status == KeyStatus.SUSPENDED:
            raise AccessError(f"key {record.id} is suspended already; `keys reactivate` lifts it")
        return self._update(record, "key.suspend", {"status": KeyStatus.SUSPENDED.value})

    def reactivate(self, key_id: str) -> KeyRecord:
        """Reactivate a suspended key."""
        record = self._usable(key_id)
        if record.status == KeyStatus.ACTIVE:
            raise AccessError(f"key {record.id} is active already; `keys suspend` stops it")
        return self._update(record, "key.reactivate", {"status": KeyStatus.ACTIVE.value})

    def revoke(self, key_id: str) -> KeyRecord:
        """Revoke a key permanently."""
        record = self._usable(key_id)
        return self._update(record, "key.revoke", {"status": KeyStatus.REVOKED.value})

    def _update(self, record: KeyRecord, action: str, after: dict[str, Any]) -> KeyRecord:
        self.update(keys, record, action, after)
        return self.find(record.id)

    def to_json(self, record: KeyRecord) -> dict[str, Any]:
        """Return a key for programs, with the grants in force and the stored ones."""
        return {
            "key_id": record.id,
            "display_prefix": self._shape.mask(record.id),
            "name": record.name,
            "status": record.status,
            "user_id": record.account_id,
            "email": record.email,
            "account_active": record.account_active,
            "allow": rights_of(record).allow,
            "granted": {name: AllowList.loads(getattr(record, name)).to_json() for name in LISTS},
            "field_policy": {"expose_raw_book": record.expose_raw},
            "rate_limit": record.rate.to_json(),
            "ips": None if record.addresses is None else json.loads(record.addresses),
            "expires_at": None if record.expires_at is None else utc_text(instant(record.expires_at)),
            "created_at": utc_text(instant(record.created_at)),
        }


_DEFAULTS: Final[dict[str, Any]] = {
    "endpoints": ALL.dumps(),
    "alphas": DEFAULT_ALPHAS.dumps(),
    "runs": DEFAULT_ALPHAS.dumps(),
    "expose_raw": False,
    "limits": RateLimit().dumps(),
    "addresses": None,
    "expires_at": None,
}
"""Defaults of grants that an operator omits, by column of the store."""


def _grants(record: KeyRecord) -> dict[str, Any]:
    """Return the label and the grants of a key by column of the store."""
    return {name: getattr(record, name) for name in ("name", *_DEFAULTS)}

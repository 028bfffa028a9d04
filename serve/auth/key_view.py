"""A stored key as callers see it: lists clamped, administrative ids taken from those who are not administrators."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Final

from schemas.endpoints import ADMIN_IDS, ENDPOINTS
from serve.auth.allow_list import AllowList, clamp
from serve.auth.caller import Caller, KeyRow
from serve.auth.limits.policy import Usage
from serve.auth.link_holder import LinkHolder
from serve.auth.store.keys import KeyRecord
from serve.auth.store.tables import Role

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def instant(microseconds: int) -> datetime:
    """Return a stored time as a datetime in UTC, exact to the microsecond."""
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(moment: datetime) -> int:
    """Return an aware datetime as it is stored."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def endpoints_in_force(record: KeyRecord) -> AllowList:
    """Return the endpoint list of a key under its account's ceiling and role."""
    clamped = clamp(record.endpoints, record.ceiling_endpoints)
    return clamped if record.role == Role.ADMIN else clamped.without(ADMIN_IDS)


@lru_cache(maxsize=1024)
def caller_with(record: KeyRecord) -> partial[Caller]:
    """Return a caller as far as it depends on nothing but the record: what is left is status, address and headers."""
    return partial(
        Caller,
        record.id,
        record.name,
        record.account_id,
        record.email,
        record.role,
        record.role == Role.ADMIN,
        endpoints_in_force(record),
        clamp(record.alphas, record.ceiling_alphas),
        clamp(record.runs, record.ceiling_runs),
        bool(record.expose_raw),
        record.rate,
        _callable_ids(record),
    )


def _callable_ids(record: KeyRecord) -> frozenset[str]:
    endpoints, is_admin = endpoints_in_force(record), record.role == Role.ADMIN
    return frozenset(x.id for x in ENDPOINTS.values() if (is_admin or not x.admin) and endpoints.allows(x.id))


def make_link_holder(record: KeyRecord) -> LinkHolder:
    """Return what a link made by a key may be used for, as the key stands now."""
    runs = clamp(record.runs, record.ceiling_runs)
    return LinkHolder(record.id, runs, bool(record.expose_raw), _callable_ids(record))


def key_row(record: KeyRecord, usage: Usage, display_prefix: str) -> KeyRow:
    """Return a key as inventories show it."""
    return KeyRow(
        key_id=record.id,
        display_prefix=display_prefix,
        name=record.name,
        status=record.status,
        user_id=record.account_id,
        email=record.email,
        role=record.role,
        account_active=bool(record.account_active),
        endpoints=endpoints_in_force(record),
        alphas=clamp(record.alphas, record.ceiling_alphas),
        runs=clamp(record.runs, record.ceiling_runs),
        expose_raw=bool(record.expose_raw),
        rate_limit=record.rate,
        usage=usage,
        expires_at=None if record.expires_at is None else instant(record.expires_at),
        created_at=instant(record.created_at),
    )

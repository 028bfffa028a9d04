"""What the application learns of a key: of an admitted call, of a signed link, and for an inventory.

Lists are clamped to the ceiling of the key's account, and administrative ids are taken from those who are not administrators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

from schemas.endpoint import AllowListScope, Endpoint
from schemas.endpoints import ADMIN_IDS, ENDPOINTS
from schemas.errors import ApiError
from serve.auth.allow_list import AllowList, clamp
from serve.auth.client_address import UNKNOWN, IPAddress
from serve.auth.limits.policy import RateLimit, Usage
from serve.auth.limits.sliding_window import LimitStatus
from serve.auth.store.repository import KeyRecord
from serve.auth.store.tables import Role, instant


@dataclass(slots=True)
class Caller:
    """An admitted call: the key, its owner, what it may do and what it has used.

    Not to be changed; freezing it would cost every call more than recognising its key's record does.

    Attributes
    ----------
    key_id, key_name, user_id, email, role, is_admin
        Identity of the key and of its owner, read from the store for this very call.
    endpoints, alphas, runs
        Allow-lists in force: the key's clamped to its account's ceiling.
    expose_raw
        Whether fields and books of the unconditioned signal are visible.
    rate_limit, status
        The envelope, and where the key stands in it with this call counted.
    callable_ids
        The registry ids in force; administrative ones for administrators only.
    address
        The caller's behind the trusted proxies, None when none could be read.
    headers
        ``X-RateLimit-*``, to be sent with whatever the answer is, errors included.
    """

    key_id: str
    key_name: str
    user_id: str
    email: str
    role: str
    is_admin: bool
    endpoints: AllowList
    alphas: AllowList
    runs: AllowList
    expose_raw: bool
    rate_limit: RateLimit
    callable_ids: frozenset[str]
    status: LimitStatus
    address: IPAddress | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def usage(self) -> Usage:
        """What the key has used, this call counted."""
        return self.status.usage(self.rate_limit)

    @property
    def ip(self) -> str:
        """The caller's address as text, ``unknown`` when none could be read."""
        return UNKNOWN if self.address is None else str(self.address)

    @property
    def callable_endpoints(self) -> list[str]:
        """The registry ids in force, in the order of the registry; administrative ones for administrators only."""
        return [name for name in ENDPOINTS if name in self.callable_ids]

    @property
    def allow(self) -> dict[str, dict[str, Any]]:
        """The `allow` object of the interface."""
        return _allow(self.endpoints, self.alphas, self.runs)

    def may_call(self, endpoint_id: str) -> bool:
        """Whether the endpoint is in the registry and in force for this key."""
        return endpoint_id in self.callable_ids

    def may_read_alpha(self, alpha_id: str) -> bool:
        """Whether the key may list this alpha and read its description, whether or not it exists."""
        return self.alphas.allows(alpha_id)

    def may_read_run(self, alpha_id: str) -> bool:
        """Whether the key may read this alpha's data, whether or not it exists."""
        return self.runs.allows(alpha_id)

    def require(self, endpoint: Endpoint, alpha_id: str) -> None:
        """Raise the documented 403 unless the allow-list that guards `endpoint` has `alpha_id`.

        Nothing is looked up, so the answer is the same for an alpha that exists and one that does not.
        """
        if endpoint.allow_list is AllowListScope.ALPHAS and not self.may_read_alpha(alpha_id):
            raise ApiError(
                "alpha_not_allowed", "This key may not read that alpha's description.", headers=self.headers
            )
        if endpoint.allow_list is AllowListScope.RUNS and not self.may_read_run(alpha_id):
            raise run_not_allowed(self.headers)


@dataclass(frozen=True, slots=True)
class LinkHolder:
    """The key whose call made a link, as it stands when the link is used; nothing is counted for it.

    Attributes
    ----------
    key_id
        Its id.
    runs
        Allow-list in force.
    expose_raw
        Whether it has raw-book access.
    callable_ids
        Endpoints in force.
    """

    key_id: str
    runs: AllowList
    expose_raw: bool
    callable_ids: frozenset[str]

    def require(self, endpoint: Endpoint, alpha_id: str) -> None:
        """Raise the documented 403 unless the key may still call the endpoint that signs such links, of this alpha."""
        if endpoint.id not in self.callable_ids:
            raise endpoint_not_allowed(endpoint)
        if not self.runs.allows(alpha_id):
            raise run_not_allowed()


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One key as inventories show it; it never holds a secret or a digest.

    Attributes
    ----------
    status
        ``active``, ``suspended`` or, on the administrative route only, ``revoked``.
    allow
        The `allow` object of the interface: clamped to the owner's ceiling as it is now.
    user_id, email, role, account_active
        The owner.
    expires_at, created_at
        In UTC; None means no expiry.
    """

    key_id: str
    display_prefix: str
    name: str
    status: str
    user_id: str
    email: str
    role: str
    account_active: bool
    allow: dict[str, dict[str, Any]]
    expose_raw: bool
    rate_limit: RateLimit
    usage: Usage
    expires_at: datetime | None
    created_at: datetime


def endpoint_not_allowed(endpoint: Endpoint, headers: Mapping[str, str] | None = None) -> ApiError:
    """Return the refusal of an endpoint that a key's grants do not name."""
    return ApiError(
        "endpoint_not_allowed", "This key may not call this endpoint.", {"endpoint": endpoint.id}, headers
    )


def run_not_allowed(headers: Mapping[str, str] | None = None) -> ApiError:
    """Return the refusal of an alpha whose data a key may not read, whether or not it exists."""
    return ApiError("run_not_allowed", "This key may not read that alpha's data.", headers=headers)


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
        record.expose_raw,
        record.rate,
        _callable_ids(record),
    )


def make_link_holder(record: KeyRecord) -> LinkHolder:
    """Return what a link made by a key may be used for, as the key stands now."""
    runs = clamp(record.runs, record.ceiling_runs)
    return LinkHolder(record.id, runs, record.expose_raw, _callable_ids(record))


def key_row(record: KeyRecord, usage: Usage, display_prefix: str) -> KeyRow:
    """Return a key as inventories show it."""
    alphas, runs = clamp(record.alphas, record.ceiling_alphas), clamp(record.runs, record.ceiling_runs)
    return KeyRow(
        key_id=record.id,
        display_prefix=display_prefix,
        name=record.name,
        status=record.status,
        user_id=record.account_id,
        email=record.email,
        role=record.role,
        account_active=record.account_active,
        allow=_allow(endpoints_in_force(record), alphas, runs),
        expose_raw=record.expose_raw,
        rate_limit=record.rate,
        usage=usage,
        expires_at=None if record.expires_at is None else instant(record.expires_at),
        created_at=instant(record.created_at),
    )


def _callable_ids(record: KeyRecord) -> frozenset[str]:
    endpoints, is_admin = endpoints_in_force(record), record.role == Role.ADMIN
    return frozenset(x.id for x in ENDPOINTS.values() if (is_admin or not x.admin) and endpoints.allows(x.id))


def _allow(endpoints: AllowList, alphas: AllowList, runs: AllowList) -> dict[str, dict[str, Any]]:
    return {"endpoints": endpoints.to_json(), "alphas": alphas.to_json(), "runs": runs.to_json()}

"""What the application learns of an admitted call, and the public view of a key."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from schemas.endpoint import AllowListScope, Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError
from serve.auth.allow_list import AllowList
from serve.auth.client_address import UNKNOWN, IPAddress
from serve.auth.limits.policy import RateLimit, Usage
from serve.auth.limits.sliding_window import LimitStatus
from serve.auth.refusals import run_not_allowed


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
        return {
            "endpoints": self.endpoints.to_json(),
            "alphas": self.alphas.to_json(),
            "runs": self.runs.to_json(),
        }

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
class KeyRow:
    """One key as inventories show it; it never holds a secret or a digest.

    Attributes
    ----------
    status
        ``active``, ``suspended`` or, on the administrative route only, ``revoked``.
    endpoints, alphas, runs
        Clamped to the owner's ceiling as it is now.
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
    endpoints: AllowList
    alphas: AllowList
    runs: AllowList
    expose_raw: bool
    rate_limit: RateLimit
    usage: Usage
    expires_at: datetime | None
    created_at: datetime

    @property
    def allow(self) -> dict[str, dict[str, Any]]:
        """The `allow` object of the interface."""
        return {
            "endpoints": self.endpoints.to_json(),
            "alphas": self.alphas.to_json(),
            "runs": self.runs.to_json(),
        }

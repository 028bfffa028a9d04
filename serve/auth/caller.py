"""Rights of a key: of an admitted call, of a signed link, and for an inventory.

Lists are clamped to the ceiling of the key's account, and administrative ids are taken from those who are not administrators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from typing import Any, NamedTuple

from schemas.endpoint import AllowListScope, Endpoint
from schemas.endpoints import ADMIN_IDS, ENDPOINTS
from schemas.errors import ApiError
from serve.auth.allow_list import AllowList, clamp
from serve.auth.client_address import UNKNOWN, IPAddress
from serve.auth.limits.policy import RateLimit, Usage
from serve.auth.limits.sliding_window import LimitStatus
from serve.auth.store.repository import KeyRecord
from serve.auth.store.tables import Role


@dataclass(slots=True)
class Rights:
    """Rights of a key, from its record and that of its account.

    Immutable by convention; a frozen dataclass would cost every call more than reading the key's record.

    Attributes
    ----------
    record
        The key and its owner, as stored.
    endpoints, alphas, runs
        Allow-lists in force: the key's clamped to its account's ceiling.
    callable_ids
        The registry ids in force; administrative ones for administrators only.
    expose_raw
        Whether fields and books of the unconditioned signal are visible.
    """

    record: KeyRecord
    endpoints: AllowList
    alphas: AllowList
    runs: AllowList
    callable_ids: frozenset[str]
    expose_raw: bool

    @property
    def key_id(self) -> str:
        """The key's id."""
        return self.record.id

    @property
    def user_id(self) -> str:
        """The id of the account that owns the key."""
        return self.record.account_id

    @property
    def rate_limit(self) -> RateLimit:
        """The envelope."""
        return self.record.rate

    @property
    def allow(self) -> dict[str, dict[str, Any]]:
        """The `allow` object of the interface."""
        return {name: getattr(self, name).to_json() for name in ("endpoints", "alphas", "runs")}

    def may_call(self, endpoint_id: str) -> bool:
        """Whether the endpoint is in the registry and in force for this key."""
        return endpoint_id in self.callable_ids

    def may_read_alpha(self, alpha_id: str) -> bool:
        """Whether the key may list this alpha and read its description, whether or not it exists."""
        return self.alphas.allows(alpha_id)

    def may_read_run(self, alpha_id: str) -> bool:
        """Whether the key may read this alpha's data, whether or not it exists."""
        return self.runs.allows(alpha_id)

    def require_call(self, endpoint_id: str, consequence: str | None = None) -> None:
        """Raise the documented 403 unless the endpoint is in force for the key.

        Parameters
        ----------
        consequence
            What the key may not do without it, when another endpoint is called.
        """
        if endpoint_id not in self.callable_ids:
            raise endpoint_not_allowed(endpoint_id, consequence)

    def require_alpha(self, endpoint: Endpoint, alpha_id: str) -> None:
        """Raise the documented 403 unless the allow-list that guards `endpoint` has `alpha_id`.

        The alpha is not looked up, so the answer does not depend on whether it exists.
        """
        if endpoint.allow_list is AllowListScope.ALPHAS and not self.may_read_alpha(alpha_id):
            raise ApiError("alpha_not_allowed", "This key may not read that alpha's description.")
        if endpoint.allow_list is AllowListScope.RUNS and not self.may_read_run(alpha_id):
            raise ApiError("run_not_allowed", "This key may not read that alpha's data.")


@dataclass(slots=True)
class Caller(Rights):
    """An admitted call: the rights and usage of its key, read from the store for this call.

    Attributes
    ----------
    status
        Where the key stands in its envelope, with this call counted.
    address
        The caller's behind the trusted proxies, None when none could be read.
    headers
        ``X-RateLimit-*``, to be sent with whatever the answer is, errors included.
    """

    status: LimitStatus
    address: IPAddress | None
    headers: dict[str, str]

    @property
    def usage(self) -> Usage:
        """Usage of the key, including this call."""
        return self.status.usage(self.rate_limit)

    @property
    def ip(self) -> str:
        """The caller's address as text, ``unknown`` when none could be read."""
        return UNKNOWN if self.address is None else str(self.address)

    @property
    def callable_endpoints(self) -> list[str]:
        """The registry ids in force, in the order of the registry."""
        return [name for name in ENDPOINTS if name in self.callable_ids]


class KeyUse(NamedTuple):
    """One key as inventories show it; neither the secret nor the digest is shown.

    Attributes
    ----------
    rights
        What it may do.
    usage
        What it has used.
    display_prefix
        The start of its token.
    """

    rights: Rights
    usage: Usage
    display_prefix: str


@lru_cache(maxsize=1024)
def rights_of(record: KeyRecord) -> Rights:
    """Return the rights of a key."""
    is_admin = record.role == Role.ADMIN
    endpoints = clamp(record.endpoints, record.ceiling_endpoints)
    if not is_admin:
        endpoints = endpoints.without(ADMIN_IDS)
    return Rights(
        record,
        endpoints,
        clamp(record.alphas, record.ceiling_alphas),
        clamp(record.runs, record.ceiling_runs),
        frozenset(x.id for x in ENDPOINTS.values() if (is_admin or not x.admin) and endpoints.allows(x.id)),
        record.expose_raw,
    )


@lru_cache(maxsize=1024)
def caller_of(record: KeyRecord) -> Callable[[LimitStatus, IPAddress | None, dict[str, str]], Caller]:
    """Return the constructor of a key's callers, so that the lists are clamped once, not by every call."""
    rights = rights_of(record)
    return partial(Caller, *(getattr(rights, field.name) for field in fields(Rights)))


def endpoint_not_allowed(
    endpoint_id: str, consequence: str | None = None, headers: Mapping[str, str] | None = None
) -> ApiError:
    """Return the refusal of an endpoint that is not in force for a key."""
    message = "This key may not call this endpoint."
    if consequence is not None:
        message = f"This key may not call {endpoint_id}, and so may not {consequence}."
    return ApiError("endpoint_not_allowed", message, {"endpoint": endpoint_id}, headers)

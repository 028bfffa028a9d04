"""Rights of a key, for an admitted call, a signed link or an inventory.

Allow-lists are clamped to the ceiling of the key's account; only administrators keep the ids of administrative endpoints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from schemas.endpoint import AllowListScope, Endpoint
from schemas.endpoints import ADMIN_IDS, ENDPOINTS
from schemas.errors import ApiError
from serve.auth.allow_list import LISTS, AllowList, clamp
from serve.auth.client_address import IPAddress
from serve.auth.limits.counts import Usage
from serve.auth.store.repository import KeyRecord
from serve.auth.store.tables import Role


@dataclass
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
        Ids of the endpoints that the key may call; administrative ones for administrators only.
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
    def allow(self) -> dict[str, dict[str, Any]]:
        """The `allow` object of the API."""
        return {name: getattr(self, name).to_json() for name in LISTS}

    def may_call(self, endpoint_id: str) -> bool:
        """Whether the key may call this endpoint; False for an unknown id."""
        return endpoint_id in self.callable_ids

    def may_read_alpha(self, alpha_id: str) -> bool:
        """Whether the key may list this alpha and read its description, whether or not it exists."""
        return self.alphas.allows(alpha_id)

    def may_read_run(self, alpha_id: str) -> bool:
        """Whether the key may read this alpha's data, whether or not it exists."""
        return self.runs.allows(alpha_id)

    def require_call(self, endpoint_id: str, consequence: str | None = None) -> None:
        """Raise the documented 403 unless the key may call the endpoint.

        If another endpoint was called, `consequence` says what the key therefore may not do there.
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


@dataclass
class Caller(Rights):
    """An admitted call: the rights and usage of its key, read from the store for this call.

    Attributes
    ----------
    usage
        Usage of the key, including this call.
    address
        The client's address behind the trusted proxies; None if it could not be read.
    headers
        ``X-RateLimit-*``, sent with every answer, errors included.
    """

    usage: Usage
    address: IPAddress | None
    headers: dict[str, str]


class KeyUse(NamedTuple):
    """One key as inventories show it, with the start of its token; neither the secret nor the digest is shown."""

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


def endpoint_not_allowed(
    endpoint_id: str, consequence: str | None = None, headers: Mapping[str, str] | None = None
) -> ApiError:
    """Return the 403 for an endpoint that a key may not call."""
    message = "This key may not call this endpoint."
    if consequence is not None:
        message = f"This key may not call {endpoint_id}, so it may not {consequence}."
    return ApiError("endpoint_not_allowed", message, {"endpoint": endpoint_id}, headers)

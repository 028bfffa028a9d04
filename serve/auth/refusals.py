"""Why a key that is known is refused: its status, its account, the place it is used from, its grants."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from schemas.endpoint import Endpoint
from schemas.errors import ApiError
from serve.auth.client_address import UNKNOWN, IPAddress, address_allowed
from serve.auth.store.keys import KeyRecord
from serve.auth.store.tables import KeyStatus

NOT_A_KEY: Final = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
_OF_STATUS: Final = {
    KeyStatus.REVOKED: ("key_revoked", "This key was revoked; issue another."),
    KeyStatus.SUSPENDED: ("key_suspended", "This key is suspended; ask the operator."),
}


def make_refusal(record: KeyRecord, address: IPAddress | None) -> ApiError | None:
    """Return why a recognised key is refused for its account or the place it is used from; nothing is charged then."""
    if not record.account_active:
        return ApiError("account_inactive", "The account that owns this key is deactivated.", headers={})
    if record.addresses is not None and not address_allowed(address, record.addresses):
        where = {"ip": UNKNOWN if address is None else str(address)}
        return ApiError("ip_not_allowed", "This key may not be used from this address.", where, {})
    return None


def endpoint_not_allowed(endpoint: Endpoint, headers: Mapping[str, str] | None = None) -> ApiError:
    """Return the refusal of an endpoint that a key's grants do not name."""
    return ApiError(
        "endpoint_not_allowed", "This key may not call this endpoint.", {"endpoint": endpoint.id}, headers
    )


def run_not_allowed(headers: Mapping[str, str] | None = None) -> ApiError:
    """Return the refusal of an alpha whose data a key may not read, whether or not it exists."""
    return ApiError("run_not_allowed", "This key may not read that alpha's data.", headers=headers)


def require_in_use(record: KeyRecord) -> None:
    """Refuse a key that is suspended, revoked or past its expiry."""
    if record.status != KeyStatus.ACTIVE:
        code, message = _OF_STATUS[KeyStatus(record.status)]
        raise ApiError(code, message, headers=NOT_A_KEY)
    if record.expires_at is not None and record.expires_at <= time.time_ns() // 1000:
        raise ApiError("key_expired", "This key's expiry has passed; issue another.", headers=NOT_A_KEY)

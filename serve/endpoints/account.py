"""The service, and the calling key."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from schemas.endpoints import ENDPOINTS, registry_version
from schemas.instants import instant, utc_text
from schemas.project import NAME
from serve.auth.caller import KeyUse
from serve.auth.client_address import UNKNOWN
from serve.auth.store.tables import Role
from serve.http.handler import EndpointFunction
from serve.http.request import Request
from serve.http.responses import Bare, Page, Single
from serve.state import ServerState

ACCESS: Final = "access store"
"""`meta.source` of answers about keys."""


async def health(service: ServerState, _: Request) -> Bare:
    """Return whether the service is healthy; details are for operators only."""
    body: dict[str, Any] = {
        "status": "ok" if service.components.healthy else "degraded",
        "service": NAME,
        "environment": service.access_settings.environment,
        "version": service.build,
        "registry_version": registry_version(),
        "time": utc_text(datetime.now(UTC)),
    }
    affected = service.components.affected_alphas
    return Bare({**body, "affected_alphas": affected} if affected else body)


async def me(_: ServerState, request: Request) -> Single:
    """Describe the calling key, as read for this call."""
    caller = request.caller
    return Single(
        {
            "key_id": caller.key_id,
            "key_name": caller.record.name,
            "user_id": caller.record.account_id,
            "email": caller.record.email,
            "role": caller.record.role,
            "is_admin": caller.record.role == Role.ADMIN,
            "allow": caller.allow,
            "field_policy": {"expose_raw_book": caller.expose_raw},
            "rate_limit": caller.record.rate.to_json(),
            "usage": caller.usage.to_json(),
            "callable_endpoints": [name for name in ENDPOINTS if name in caller.callable_ids],
            "registry_version": registry_version(),
            "ip": str(caller.address or UNKNOWN),
        },
        source=ACCESS,
    )


async def keys(service: ServerState, request: Request) -> Page:
    """List the keys of the caller's account, newest first."""
    inventory = await service.access.inventory(request.caller.record.account_id)
    return Page.of(inventory, request.values, {"key_id": request.caller.key_id}, inventory_row)


def inventory_row(key: KeyUse, **owner: Any) -> dict[str, Any]:
    """Return the row of a key in a list of keys, or with its owner, without its secret or digest."""
    rights, record = key.rights, key.rights.record
    return {
        "key_id": record.id,
        "display_prefix": key.display_prefix,
        "name": record.name,
        "status": record.status,
        **owner,
        "allow": rights.allow,
        "field_policy": {"expose_raw_book": rights.expose_raw},
        "rate_limit": record.rate.to_json(),
        "usage": key.usage.to_json(),
        "expires_at": None if record.expires_at is None else utc_text(instant(record.expires_at)),
        "created_at": utc_text(instant(record.created_at)),
    }


ROUTES: Final[Mapping[str, EndpointFunction]] = {"meta.health": health, "meta.me": me, "meta.keys": keys}

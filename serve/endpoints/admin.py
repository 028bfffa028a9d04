"""Administrative endpoints: served runs and their completeness, and the usage of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from datasets.pointer import Pointer
from datasets.provenance.manifest_view import visible
from datasets.snapshot import Snapshot
from schemas.errors import ApiError
from schemas.kinds import KINDS, REQUIRED_KINDS, TABLE_KINDS
from serve.endpoints.account import ACCESS, inventory_row
from serve.http.handler import EndpointFunction
from serve.http.request import Request
from serve.http.responses import Page, Single
from serve.state import ServerState


def alphas(service: ServerState, request: Request) -> Page:
    """List every alpha, regardless of the key's allow-lists."""
    return Page.of(service.snapshots.listing.pointers, request.values, {}, _alpha_row)


def readiness(service: ServerState, request: Request) -> Single:
    """Describe an alpha's snapshot kind by kind."""
    snapshot = request.snapshot
    manifest, archive = snapshot.manifest, service.source_downloads.state(snapshot)
    return Single(
        {
            **_alpha_row(snapshot.pointer),
            "kinds": [_kind(snapshot, kind) for kind in KINDS],
            **visible(
                {"warnings": list(manifest.warnings), "reconciliation": manifest.reconciliation},
                raw=request.raw,
            ),
            "source_status": None if archive is None else archive.status,
            "description": "description" in manifest.kinds,
        },
        source=f"snapshot {snapshot.id}",
        meta={"snapshot": snapshot.id, "published_at": snapshot.published_at},
    )


def _alpha_row(pointer: Pointer) -> dict[str, Any]:
    return {
        "alpha_id": pointer.alpha_id,
        "complete": pointer.complete,
        "missing_kinds": list(pointer.missing),
        "snapshot": pointer.snapshot,
        "started_at": pointer.started_at,
        "published_at": pointer.first_published_at,
    }


def _kind(snapshot: Snapshot, kind: str) -> dict[str, Any]:
    files = [x for x in snapshot.manifest.files if x.dataset == kind]
    return {
        "kind": kind,
        "required": kind in REQUIRED_KINDS,
        "present": kind in snapshot.manifest.kinds,
        "rows": sum(x.rows for x in files) if kind in TABLE_KINDS else None,
        "first_date": min((x.first for x in files if x.first), default=None),
        "last_date": max((x.last for x in files if x.last), default=None),
    }


async def usage(service: ServerState, request: Request) -> Single:
    """Return the owner, status, limits and usage of one key."""
    key = await service.access.key(request.values["key_id"])
    if key is None:
        raise ApiError("key_not_found", "No key has this id.")
    record = key.rights.record
    owner = {
        "user_id": record.account_id,
        "email": record.email,
        "role": record.role,
        "active": record.account_active,
    }
    return Single(inventory_row(key, owner=owner), source=ACCESS)


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "admin.alphas.list": alphas,
    "admin.alphas.readiness": readiness,
    "admin.keys.usage": usage,
}

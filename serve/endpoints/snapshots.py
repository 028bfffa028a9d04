"""The kept snapshots of an alpha, and the comparison of two of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from datasets.manifest import Manifest
from datasets.pinned import is_kept
from datasets.pointer import Pointer
from datasets.snapshot import Snapshot
from schemas.downloads import readable_tables
from schemas.errors import AlphaNotPublished, SnapshotCorrupt, SnapshotNotKept
from serve.downloads.files import compare_tables
from serve.endpoints.performance import answer_metrics
from serve.http.handler import EndpointFunction
from serve.http.request import Request
from serve.http.responses import Page, Single
from serve.pages.compare import compare
from serve.state import ServerState


def snapshots(service: ServerState, request: Request) -> Page:
    """List the snapshots of an alpha, newest first."""
    served = _served_snapshot(service, request)
    row = partial(_row, service, served.pointer)
    return Page.of(_kept_ids(served.pointer), request.values, _meta(served), row)


def _served_snapshot(service: ServerState, request: Request) -> Snapshot:
    request.snapshot = service.snapshots.served(request.path["alpha"])
    return request.snapshot


def _meta(served: Snapshot) -> dict[str, Any]:
    return {"run": served.alpha_id, "alpha_id": served.alpha_id}


def _kept_ids(pointer: Pointer) -> list[str]:
    """Return the ids that `snapshot=` accepts, newest first."""
    kept = [x for x in {pointer.snapshot, *pointer.earlier} if is_kept(pointer, x)]
    return sorted(kept, key=lambda snapshot: (_published_at(pointer, snapshot), snapshot), reverse=True)


def _published_at(pointer: Pointer, snapshot: str) -> str:
    if snapshot == pointer.snapshot:
        return pointer.first_published_at
    return pointer.earlier[snapshot].published_at


def _row(service: ServerState, pointer: Pointer, snapshot: str) -> dict[str, Any]:
    manifest = _manifest(service, pointer.alpha_id, snapshot)
    return {
        "snapshot": snapshot,
        "published_at": _published_at(pointer, snapshot),
        "replaced_at": None if snapshot == pointer.snapshot else pointer.earlier[snapshot].replaced_at,
        "served": snapshot == pointer.snapshot,
        "rolled_back": snapshot in pointer.rolled_back,
        "started_at": manifest and manifest.started_at,
        "sealed_at": manifest and manifest.sealed_at,
        "complete": manifest and not manifest.missing,
        "seal_digest": manifest and manifest.seal_digest,
        "declarations": manifest and manifest.schema_version,
        "built_with": [f"{x} {y}" for x, y in manifest.built_with.items()] if manifest else [],
    }


def _manifest(service: ServerState, alpha: str, snapshot: str) -> Manifest | None:
    """Return a manifest; None if gc has just removed it, or it is damaged."""
    try:
        return service.snapshots.open_pinned(alpha, snapshot).manifest
    except (AlphaNotPublished, SnapshotNotKept, SnapshotCorrupt):
        return None


def comparison(service: ServerState, request: Request) -> Single:
    """Compare two snapshots of an alpha."""
    served, values = _served_snapshot(service, request), request.values
    find = service.snapshots.find_pinned
    later = find(served.alpha_id, values["to_snapshot"] or served.id)
    earlier = find(served.alpha_id, values["from_snapshot"] or _before(served.pointer, later.id))
    request.pinned, caller = (earlier, later), request.caller
    changed, withheld = compare(
        service.engine, partial(answer_metrics, service), earlier, later, caller.callable_ids, raw=request.raw
    )
    readable = readable_tables(caller.callable_ids)
    tables = compare_tables(service.table_views, earlier, later, readable, raw=request.raw)
    return Single(
        {
            "from_snapshot": earlier.id,
            "to_snapshot": later.id,
            **changed,
            "datasets": list(tables),
            "withheld": withheld,
        },
        source=f"snapshots {earlier.id} and {later.id}",
        meta=_meta(served),
    )


def _before(pointer: Pointer, snapshot: str) -> str:
    """Return the snapshot published before another; the other itself if no earlier one is kept."""
    kept = _kept_ids(pointer)
    return next(iter(kept[kept.index(snapshot) + 1 :]), snapshot) if snapshot in kept else snapshot


ROUTES: Final[Mapping[str, EndpointFunction]] = {
    "research.snapshots.list": snapshots,
    "research.snapshots.compare": comparison,
}

"""Expected answers about an alpha, from the server's last refresh and the published state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.state_machines.key_model import GET, SCORES, SNAPSHOTS
from tests.state_machines.root_model import SERVED, Published
from tests.state_machines.store import text


@dataclass(frozen=True)
class Expected:
    """An expected answer; None is not compared."""

    status: int
    code: str | None = None
    rows: list[dict[str, Any]] | None = None
    pagination: dict[str, Any] | None = None
    name: str | None = None
    snapshot: str | None = None
    published_at: str | None = None
    current: str | None = None


def slice_of(
    rows: Sequence[dict[str, Any]], limit: int, offset: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a page and its pagination."""
    page = list(rows[offset : offset + limit])
    return page, {
        "limit": limit,
        "offset": offset,
        "returned": len(page),
        "total": len(rows),
        "has_more": offset + len(page) < len(rows),
    }


def find(
    endpoint: str, seen: Published | None, root: Published | None, pinned: str | None, limit: int, offset: int
) -> list[Expected]:
    """Return the permitted answers.

    Parameters
    ----------
    seen, root
        The alpha as of the server's last refresh, and now; None if it does not exist.
    pinned
        The requested snapshot.
    """
    empty = Expected(404, "alpha_not_found" if endpoint == GET else "run_not_found")
    if seen is None or root is None or seen.state != SERVED or seen.current is None:
        return [empty]
    if endpoint == SNAPSHOTS:
        return [_snapshots(seen, limit, offset)]
    now = (
        empty
        if root.state != SERVED
        else _answer(endpoint, root, pinned, limit, offset)
        if pinned in root.there
        else Expected(404, "snapshot_not_found", current=root.current)
    )
    if pinned is None or pinned == seen.current:
        return [_answer(endpoint, seen, seen.current, limit, offset)]
    if pinned not in seen.there:
        return [now]
    known = _answer(endpoint, seen, pinned, limit, offset)
    # Removed since the server's last refresh: it answers from memory, or notices the removal.
    return [known] if pinned in root.there else [known, now]


def _answer(endpoint: str, one: Published, snapshot: str | None, limit: int, offset: int) -> Expected:
    assert snapshot is not None
    run = one.run_of(snapshot)
    published_at = text(one.first[snapshot])
    if endpoint == GET:
        if not run.described:
            return Expected(404, "alpha_description_not_found")
        return Expected(200, name=run.name, snapshot=snapshot, published_at=published_at)
    rows: list[dict[str, Any]] = (
        [{"date": day, "symbol": symbol, "score": score} for day, symbol, score in run.scores]
        if endpoint == SCORES
        else [{"date": day, "week_status": status, "n_symbols": n} for day, status, n in run.weeks]
    )
    page, pagination = slice_of(rows, limit, offset)
    return Expected(200, rows=page, pagination=pagination, snapshot=snapshot, published_at=published_at)


def _snapshots(seen: Published, limit: int, offset: int) -> Expected:
    kept = sorted(seen.there, key=lambda one: (seen.first[one], one), reverse=True)
    rows = [
        {
            "snapshot": snapshot,
            "published_at": text(seen.first[snapshot]),
            "replaced_at": None if snapshot == seen.current else text(seen.left[snapshot]),
            "served": snapshot == seen.current,
            "rolled_back": snapshot in seen.verdicts,
        }
        for snapshot in kept
    ]
    page, pagination = slice_of(rows, limit, offset)
    return Expected(200, rows=page, pagination=pagination)

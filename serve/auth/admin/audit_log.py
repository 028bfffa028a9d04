"""The audit log: one row for every act, in the transaction of the act."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from serve.auth.key_view import instant
from serve.auth.store.database import Database, Session
from serve.auth.store.tables import audit

_DOCUMENTS: Final = frozenset(
    ("endpoints", "alphas", "runs", "addresses", "ceiling_endpoints", "ceiling_alphas", "ceiling_runs")
)
"""Columns that hold JSON text, which the audit log shows as what it says."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One act.

    Attributes
    ----------
    id
        Ascending in the order written.
    at
        When, in UTC.
    actor, action, subject
        Who did what to which account or key.
    detail
        What was set, or what changed from what to what; never a secret or a digest.
    """

    id: int
    at: str
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]


class AuditLog:
    """Writes and reads the audit log.

    Parameters
    ----------
    database
        An open store.
    actor
        Who acts.
    clock
        Microseconds since 1970.
    """

    def __init__(self, database: Database, actor: str, clock: Callable[[], int]) -> None:
        self._database = database
        self._actor = actor
        self.now = clock

    async def write(self, session: Session, action: str, subject: str, detail: Mapping[str, Any]) -> None:
        """Add a row, in the transaction of the act it tells of."""
        await session.execute(
            sa.insert(audit)
            .values(
                at=self.now(),
                actor=self._actor,
                action=action,
                subject=subject,
                detail=json.dumps(_readable(detail), ensure_ascii=False),
            )
            .inline()
        )

    async def entries(self, *, subject: str | None = None, limit: int = 100) -> list[Entry]:
        """Return the newest rows, newest first, of one account or key or of all."""
        query = sa.select(audit).order_by(audit.c.id.desc()).limit(limit)
        if subject is not None:
            query = query.where(audit.c.subject == subject)
        rows = await self._database.fetch(self._database.prepare(query))
        return [
            Entry(row_id, instant(at).isoformat(), actor, action, about, json.loads(detail))
            for row_id, at, actor, action, about, detail in rows
        ]


def _readable(detail: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _parsed(value) if name in _DOCUMENTS else value for name, value in detail.items()}


def _parsed(value: Any) -> Any:
    if isinstance(value, list):
        return [_parsed(part) for part in value]
    return json.loads(value) if isinstance(value, str) else value

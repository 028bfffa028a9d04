"""Base of all acts: one transaction with one row of the audit log."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from serve.auth.store.repository import Entry, KeyStore, Repository

A = TypeVar("A", bound="Acts")
P = ParamSpec("P")
T = TypeVar("T")

_DOCUMENTS: Final = frozenset(
    (
        "endpoints",
        "alphas",
        "runs",
        "limits",
        "addresses",
        "ceiling_endpoints",
        "ceiling_alphas",
        "ceiling_runs",
    )
)
"""Columns with JSON text, which the audit log shows decoded."""


class Acts:
    """Acts of one operator on an open store.

    Parameters
    ----------
    store
        Open, and writable for acts that change something.
    actor
        Who acts.
    clock
        Microseconds since 1970.
    """

    def __init__(self, store: KeyStore, actor: str, clock: Callable[[], int]) -> None:
        self.store = store
        self._actor = actor
        self.now = clock

    def note(self, rows: Repository, action: str, subject: str, detail: Mapping[str, Any]) -> None:
        """Add a row to the audit log, in the transaction of its act."""
        readable = {name: _parsed(value) if name in _DOCUMENTS else value for name, value in detail.items()}
        rows.add_entry(self.now(), self._actor, action, subject, json.dumps(readable, ensure_ascii=False))


def act(
    method: Callable[Concatenate[A, Repository, P], T],
) -> Callable[Concatenate[A, P], Coroutine[Any, Any, T]]:
    """Wrap a method that works on a repository, so that it runs in its own transaction."""

    async def run(self: A, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.store.run(lambda rows: method(self, rows, *args, **kwargs))

    run.__doc__ = method.__doc__
    return run


class AuditLog(Acts):
    """Reads the audit log."""

    @act
    def entries(self, rows: Repository, *, subject: str | None = None, limit: int = 100) -> list[Entry]:
        """Return the newest rows, newest first, of one account or key or of all."""
        return rows.entries(subject, limit)


def _parsed(value: Any) -> Any:
    if isinstance(value, list):
        return [_parsed(part) for part in value]
    return json.loads(value) if isinstance(value, str) else value

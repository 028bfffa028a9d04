"""Administration of accounts and keys. Every act is validated, executed and audited in one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from serve.auth.admin.accounts import Accounts, Acts, act
from serve.auth.admin.keys import Keys
from serve.auth.settings import AccessSettings
from serve.auth.store.opening import open_store
from serve.auth.store.repository import KeyStore, Repository


class Administration(Acts):
    """The acts on an open store: those on accounts, those on keys, and reading the audit log."""

    def __init__(self, store: KeyStore, actor: str, settings: AccessSettings) -> None:
        super().__init__(store, actor)
        self.accounts = Accounts(store, actor)
        self.keys = Keys(store, actor, settings)

    @act
    def audit_log(
        self, rows: Repository, *, subject: str | None = None, limit: int = 100
    ) -> list[dict[str, Any]]:
        """Return the newest acts, newest first, on one account or key or on all."""
        return rows.entries(subject, limit)


@asynccontextmanager
async def open_administration(
    settings: AccessSettings, actor: str, *, writable: bool = True
) -> AsyncIterator[Administration]:
    """Open the store with the settings its servers run with; the audit log names the actor.

    Unless it is writable, every act that changes something fails. A store is created only if it may be changed, a pepper
    only when a key is issued.

    Raises
    ------
    SettingsError, StorageUnavailable
        As :func:`serve.auth.store.opening.open_store`.
    """
    store = await open_store(settings, writable=writable, create=writable)
    try:
        yield Administration(store, actor, settings)
    finally:
        await store.close()

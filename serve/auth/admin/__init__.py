"""Administration of accounts and keys. Every operation is validated, executed and audited in one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from serve.auth.admin.accounts import Accounts, Operations, in_transaction
from serve.auth.admin.keys import Keys
from serve.auth.settings import AccessSettings
from serve.auth.store.opening import open_store
from serve.auth.store.repository import KeyStore, Repository


class Administration(Operations):
    """Operations on an open store: on accounts, on keys, and on the audit log."""

    def __init__(self, store: KeyStore, actor: str, settings: AccessSettings) -> None:
        super().__init__(store, actor)
        self.accounts = Accounts(store, actor)
        self.keys = Keys(store, actor, settings)

    @in_transaction
    def audit_log(
        self, rows: Repository, *, subject: str | None = None, limit: int = 100
    ) -> list[dict[str, Any]]:
        """Return the newest entries, newest first, for one account or key or for all."""
        return rows.entries(subject, limit)


@asynccontextmanager
async def open_administration(
    settings: AccessSettings, actor: str, *, writable: bool = True
) -> AsyncIterator[Administration]:
    """Open the store with the settings of its servers; the audit log names the actor.

    Without `writable`, every operation that changes something fails and no store is created. A pepper is created only
    when a key is issued.

    Raises
    ------
    SettingsError, StorageUnavailable
        Raised by :func:`serve.auth.store.opening.open_store`.
    """
    store = await open_store(settings, writable=writable, create=writable)
    try:
        yield Administration(store, actor, settings)
    finally:
        await store.close()

"""Administration of accounts and keys. Every operation is validated, executed and audited in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from serve.auth.admin.accounts import Accounts
from serve.auth.admin.keys import Keys
from serve.auth.settings import AccessSettings
from serve.auth.store.opening import open_store
from serve.auth.store.repository import Repository

T = TypeVar("T")


class Administration:
    """Operations on accounts, on keys and on the audit log, in one transaction."""

    def __init__(self, rows: Repository, actor: str, settings: AccessSettings) -> None:
        self._rows = rows
        self.accounts = Accounts(rows, actor)
        self.keys = Keys(rows, actor, settings)

    def audit_log(self, *, subject: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """Return the newest entries, newest first, for one account or key or for all."""
        return self._rows.entries(subject, limit)


async def administer(
    settings: AccessSettings, actor: str, operation: Callable[[Administration], T], *, writable: bool = True
) -> T:
    """Open the store with the settings of its servers, and run an operation in one transaction.

    Parameters
    ----------
    settings
        Settings of the store and of its keys.
    actor
        Name in the audit log.
    operation
        Receives the administration; an exception rolls back.
    writable
        False for an operation that only reads; no store is created then. A pepper is created only when a key is issued.

    Raises
    ------
    SettingsError, StorageUnavailable
        Raised by :func:`serve.auth.store.opening.open_store`.
    """
    store = await open_store(settings, writable=writable, create=writable)
    try:
        return await store.run(lambda rows: operation(Administration(rows, actor, settings)))
    finally:
        await store.close()

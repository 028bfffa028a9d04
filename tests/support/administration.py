"""Administration of an open store, each operation in a transaction of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from serve.auth import admin
from serve.auth.settings import AccessSettings
from serve.auth.store.opening import open_store
from serve.auth.store.repository import KeyStore


class Operations:
    """The operations on accounts or on keys, all of them awaited."""

    def __init__(self, owner: Administration, name: str) -> None:
        self._owner, self._name = owner, name

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            return self._owner.run(
                lambda opened: getattr(getattr(opened, self._name), operation)(*arguments, **options)
            )

        return run


class Administration:
    """Administration of an open store by one operator."""

    def __init__(self, store: KeyStore, actor: str, settings: AccessSettings) -> None:
        self.store, self._actor, self._settings = store, actor, settings
        self.accounts: Any = Operations(self, "accounts")
        self.keys: Any = Operations(self, "keys")

    async def run(self, operation: Callable[[admin.Administration], Any]) -> Any:
        """Run an operation in a transaction."""
        return await self.store.run(
            lambda rows: operation(admin.Administration(rows, self._actor, self._settings))
        )

    async def audit_log(self, **options: Any) -> list[dict[str, Any]]:
        """Return the newest entries of the audit log."""
        entries: list[dict[str, Any]] = await self.run(lambda opened: opened.audit_log(**options))
        return entries


@asynccontextmanager
async def open_administration(
    settings: AccessSettings, actor: str, *, writable: bool = True
) -> AsyncIterator[Administration]:
    """Open a store for many operations; a command opens it for one."""
    store = await open_store(settings, writable=writable, create=writable)
    try:
        yield Administration(store, actor, settings)
    finally:
        await store.close()

"""Administration of accounts and keys. Every act is validated, executed and audited in one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from serve.auth.admin.accounts import Accounts
from serve.auth.admin.acts import AuditLog
from serve.auth.admin.keys import Keys
from serve.auth.limits.clocks import wall_us
from serve.auth.settings import AccessSettings
from serve.auth.store.opening import open_store
from serve.auth.store.peppers import load_digests, require_peppers
from serve.auth.tokens import TokenShape


@dataclass(frozen=True, slots=True)
class Administration:
    """The acts on an open store, grouped by object."""

    accounts: Accounts
    keys: Keys
    audit_log: AuditLog


@asynccontextmanager
async def open_administration(
    settings: AccessSettings,
    actor: str,
    clock: Callable[[], int] = wall_us,
    *,
    writable: bool = True,
    ending: bool = False,
) -> AsyncIterator[Administration]:
    """Open the store to change it, or only to read it.

    A store is created only if it may be changed, a pepper only when a key is issued.

    Parameters
    ----------
    settings
        Of the deployment, the ones its servers run with.
    actor
        Who acts, for the audit log.
    clock
        Microseconds since 1970.
    writable
        False to read only: then every act that changes something fails.
    ending
        An act that takes rights away: it needs no pepper.

    Raises
    ------
    SettingsError, StorageUnavailable
        As :func:`serve.auth.store.opening.open_store`, and as :func:`serve.auth.store.peppers.require_peppers`.
    """
    store = await open_store(settings, writable=writable, create=writable)
    try:
        if not ending:
            await require_peppers(settings, store, wall_us())
        shape = TokenShape(settings.token_prefix, settings.environment)
        yield Administration(
            Accounts(store, actor, clock),
            Keys(store, actor, clock, shape, partial(load_digests, settings)),
            AuditLog(store, actor, clock),
        )
    finally:
        await store.close()

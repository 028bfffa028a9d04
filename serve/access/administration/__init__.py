"""What operators do to accounts and keys. Every act is checked, done and written down in one transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from serve.access.administration.accounts import Accounts
from serve.access.administration.keys import Keys
from serve.access.administration.trail import Trail
from serve.access.limiter.clocks import wall_us
from serve.access.peppers import load_digests
from serve.access.settings import AccessSettings
from serve.access.store import open_database
from serve.access.tokens import TokenShape


@dataclass(frozen=True, slots=True)
class Administration:
    """The acts on an open store, by their object."""

    accounts: Accounts
    keys: Keys
    trail: Trail


@asynccontextmanager
async def open_administration(
    settings: AccessSettings, actor: str, clock: Callable[[], int] = wall_us, *, writable: bool = True
) -> AsyncIterator[Administration]:
    """Open the store to change it, or only to look at it.

    Nothing is made that the acts do not need: a store only when it may be changed, a pepper only when a key is issued.

    Parameters
    ----------
    settings
        Of the deployment, the ones its servers run with.
    actor
        Who acts, for the audit trail.
    clock
        Microseconds since 1970.
    writable
        False to read only: then every act that changes something fails.

    Raises
    ------
    SettingsError, StorageUnavailable
        As :func:`serve.access.store.open_database`.
    """
    database = await open_database(settings, writable=writable, create=writable)
    try:
        trail = Trail(database, actor, clock)
        shape = TokenShape(settings.token_prefix, settings.environment)
        yield Administration(
            Accounts(database, trail), Keys(database, trail, shape, partial(load_digests, settings)), trail
        )
    finally:
        await database.close()

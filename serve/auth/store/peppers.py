"""Peppers of a deployment, from its settings or the file beside its store."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Final

from schemas.errors import SettingsError
from serve.auth.settings import AccessSettings
from serve.auth.store.repository import KeyStore, Repository
from serve.auth.tokens import Digests

_NAMED: Final = 5
"""Keys that a message names; the others are counted."""


def load_digests(settings: AccessSettings, *, make: bool = True) -> Digests:
    """Return the digests of a deployment, with the peppers of its settings and of the file beside its store, if any.

    Peppers of the settings come first, so that new keys use them while older keys still verify with the file's.

    Parameters
    ----------
    settings
        Of the deployment.
    make
        Whether to create the file if it is missing and no pepper is set, which a new digest needs.

    Raises
    ------
    SettingsError
        When the file can be neither read nor made, or is empty.
    """
    path = _file(settings)
    if path is None:
        return Digests(settings.peppers)
    try:
        if make and not settings.peppers and not path.exists():
            _make(path)
        own = (path.read_bytes().strip(),) if path.exists() else ()
    except OSError as error:
        raise SettingsError(
            f"the pepper file {path} can be neither read nor made ({error.strerror}): restore it, or set ALPHA_RESULTS_PEPPER"
        ) from error
    if own == (b"",):
        raise SettingsError(
            f"the pepper file {path} is empty: restore it from a backup, without it no key verifies"
        )
    return Digests((*settings.peppers, *own))


async def require_peppers(settings: AccessSettings, store: KeyStore, now_us: int) -> None:
    """Refuse a store with active keys that none of the peppers verifies; each would be answered 401.

    Raises
    ------
    SettingsError
        Naming the keys, and what to do.
    """
    keys = await store.run(Repository.keys_without_pepper, load_digests(settings, make=False).known, now_us)
    if not keys:
        return
    path = _file(settings)
    restore = "" if path is None else f"restore {path} from its backup, or "
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    raise SettingsError(
        f"{settings.location.shown} has keys whose pepper is not here: {', '.join(keys[:_NAMED])}{more}; {restore}add to"
        " ALPHA_RESULTS_PEPPER what it was when they were issued. If it is lost, `keys revoke` ends each of them"
    )


def _file(settings: AccessSettings) -> Path | None:
    store = settings.location.path
    return None if store is None else store.with_name(store.name + ".pepper")


def _make(path: Path) -> None:
    """Write a new pepper under a temporary name and link it, so that a process starting meanwhile never reads half of it."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)

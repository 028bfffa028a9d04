"""Where the peppers of a deployment come from."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from schemas.errors import SettingsError
from serve.access.settings import AccessSettings
from serve.access.tokens import Digests


def load_digests(settings: AccessSettings) -> Digests:
    """Return the digests of a deployment, with the peppers of its settings and of the file beside its store.

    The peppers given come first, so that new keys use them while older keys still verify with the file's.
    """
    path = settings.location.path
    if path is None:
        return Digests(settings.peppers)
    return Digests((*settings.peppers, _pepper_beside(path)))


def _pepper_beside(store: Path) -> bytes:
    """Read the pepper file of an SQLite store, making it first where there is none."""
    path = store.with_name(store.name + ".pepper")
    try:
        with contextlib.suppress(FileExistsError):
            # Written whole under a name of its own first: nobody who starts at the same time reads half of it.
            draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
            with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                file.write(secrets.token_hex(32))
            try:
                os.link(draft, path)
            finally:
                draft.unlink()
        pepper = path.read_bytes().strip()
    except OSError as error:
        raise SettingsError(
            f"the pepper file {path} can be neither read nor made ({error.strerror}): restore it, or set ALPHA_RESULTS_PEPPER"
        ) from error
    if not pepper:
        raise SettingsError(
            f"the pepper file {path} is empty: restore it from a backup, without it no key verifies"
        )
    return pepper

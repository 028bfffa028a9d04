"""Where the peppers of a deployment come from."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from schemas.errors import SettingsError
from serve.auth.settings import AccessSettings
from serve.auth.tokens import Digests


def load_digests(settings: AccessSettings) -> Digests:
    """Return the digests of a deployment, with the peppers of its settings and of the file beside its store.

    The peppers given come first, so that new keys use them while older keys still verify with the file's. The file is
    made only where there is none and no pepper is given, as nothing could make a new digest then.

    Raises
    ------
    SettingsError
        When the file can be neither read nor made, or is empty.
    """
    store = settings.location.path
    if store is None:
        return Digests(settings.peppers)
    path = store.with_name(store.name + ".pepper")
    try:
        if not settings.peppers and not path.exists():
            _make(path)
        pepper = path.read_bytes().strip() if path.exists() else None
    except OSError as error:
        raise SettingsError(
            f"the pepper file {path} can be neither read nor made ({error.strerror}): restore it, or set ALPHA_RESULTS_PEPPER"
        ) from error
    if pepper == b"":
        raise SettingsError(
            f"the pepper file {path} is empty: restore it from a backup, without it no key verifies"
        )
    return Digests(settings.peppers if pepper is None else (*settings.peppers, pepper))


def _make(path: Path) -> None:
    """Write a new pepper whole under a name of its own first: nobody who starts at the same time reads half of it."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)

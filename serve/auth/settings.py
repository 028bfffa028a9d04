"""Settings of keys, accounts and limits, and the address of the store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from schemas.errors import SettingsError
from schemas.settings import SETTINGS, setting_value

_POSTGRES: Final = ("postgresql", "postgres", "postgresql+asyncpg")
_PORT: Final = 5432


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """A parsed address of a store.

    Attributes
    ----------
    path
        The file of an SQLite store, else None.
    dsn
        The address for asyncpg, else None; never shown, as it may hold a password.
    shown
        The address without user, password and options, fit for a log or a message.
    """

    path: Path | None
    dsn: str | None = field(repr=False)
    shown: str

    @classmethod
    def parse(cls, text: str) -> StoreLocation:
        """Read an SQLite path or URL, or a PostgreSQL URL.

        Raises
        ------
        SettingsError
            If it is neither, or an in-memory database.
        """
        scheme, separator, rest = text.partition("://")
        if separator and scheme in _POSTGRES:
            dsn = f"postgresql://{rest}"
            try:
                parts = urlsplit(dsn)
            except ValueError:
                raise SettingsError(
                    "the access store's address has a `[` or `]` that encloses no IPv6 address: write"
                    " postgresql://USER:PASSWORD@HOST:PORT/DATABASE, a password's own brackets percent-encoded"
                ) from None
            form = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, a password's own `:`, `/`, `#` and `?` percent-encoded"
            # Shown as host or database, it would give a part of the password away.
            if "@" in f"{parts.path}{parts.query}{parts.fragment}":
                raise SettingsError(f"the access store's address has an `@` after the host: write {form}")
            try:
                host = f"{parts.hostname}:{parts.port or _PORT}" if parts.hostname else "local socket"
            except ValueError:
                raise SettingsError(
                    f"the access store's address has a port that is not a number from 0 to 65535: write {form}"
                ) from None
            return cls(None, dsn, f"postgresql on {host}, database {parts.path.strip('/')}")
        if separator and scheme != "sqlite":
            raise SettingsError(
                f"the access store cannot have an address with {scheme}://: give sqlite:///<file> or postgresql://<host>/<database>"
            )
        file = rest.removeprefix("/") if separator else text
        if not file or ":memory:" in file:
            raise SettingsError(
                "the access store needs a file that other processes can open: give sqlite:///<file> or a plain path"
            )
        path = _local(file)
        return cls(path, None, f"sqlite at {path}")


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Locations of accounts, keys and counts, and the format of tokens and addresses; `schemas.settings` describes each.

    Raises
    ------
    SettingsError
        When the store's address is not valid.
    """

    access: str = field(repr=False)  # may hold a password
    limits_state: Path | None = None
    redis: str | None = field(default=None, repr=False)
    key_prefix: str = SETTINGS["key_prefix"].default
    environment: str = SETTINGS["environment"].default
    pepper: tuple[bytes, ...] = field(default=(), repr=False)
    trusted_hops: int = SETTINGS["trusted_hops"].default
    workers: int = SETTINGS["workers"].default

    location: StoreLocation = field(init=False)
    """The parsed address of the store."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "location", StoreLocation.parse(self.access))

    def require_serving(self) -> None:
        """Raise SettingsError unless calls can be counted exactly with these settings."""
        if self.redis is None and self.workers > 1:
            raise SettingsError(
                f"{self.workers} workers cannot count calls together without Redis: set ALPHA_RESULTS_REDIS=redis://… or run one worker"
            )
        if self.redis is None and self.limits_state is None:
            raise SettingsError(
                "there is no file for the counts of calls: set ALPHA_RESULTS_LIMITS_STATE to a local file, or ALPHA_RESULTS_REDIS"
            )

    @classmethod
    def from_environment(
        cls,
        env: Mapping[str, str],
        datasets_root: str | Path | None,
        overrides: Mapping[str, Any] | None = None,
    ) -> AccessSettings:
        """Read the settings from a mapping of environment variables.

        Parameters
        ----------
        env
            Usually ``os.environ``, read as declared; an empty value counts as absent.
        datasets_root
            The published root. The default files lie next to it and never inside it, so that they cannot be
            mistaken for published data: ``<root>.access.sqlite3``, ``<root>.limits.sqlite3``.
        overrides
            Values of flags by the name of the setting, as text or parsed; None is ignored.

        Raises
        ------
        SettingsError
            When a value is not valid, or no store is named and the root is not a local folder.
        """
        names = (entry.name for entry in fields(cls) if entry.init)
        values = {name: setting_value(SETTINGS[name], env, (overrides or {}).get(name)) for name in names}
        text = str(datasets_root or "").removeprefix("file://")
        root = None if not text or "://" in text else _local(text)
        store = values["access"] or (root and f"{root}.access.sqlite3")
        if not store:
            raise SettingsError(
                "no store of accounts and keys is given: set --access or ALPHA_RESULTS_ACCESS"
                " (a file or postgresql://…), or a local datasets root, next to which the default file is created"
            )
        path = StoreLocation.parse(store).path
        if root is not None and path is not None and path.is_relative_to(root):
            raise SettingsError(
                f"the access store {path} is inside the published root: place it outside, by default {root}.access.sqlite3"
            )
        beside = f"{root}.limits.sqlite3" if root else path and f"{path}.limits"
        state = values["limits_state"] or beside
        return cls(**values | {"access": str(store), "limits_state": Path(state) if state else None})


def _local(text: str) -> Path:
    """Return an absolute path; a `~` of an unknown user, or without a home directory, stays as it is."""
    return Path(os.path.expanduser(text)).absolute()  # noqa: PTH111 - Path.expanduser raises for them

"""Settings of keys, accounts and limits, and the address of the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from schemas.errors import SettingsError
from schemas.settings import SETTINGS, given

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
        What asyncpg connects to, else None; may hold a password, so it is never shown.
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
            When it is neither, or names a database that lives in memory only.
        """
        scheme, separator, rest = text.partition("://")
        if separator and scheme in _POSTGRES:
            parts = urlsplit(f"postgresql://{rest}")
            try:
                host = f"{parts.hostname}:{parts.port or _PORT}" if parts.hostname else "local socket"
            except ValueError:
                raise SettingsError(
                    "the access store's address has a port that is not a number from 0 to 65535: write"
                    " postgresql://USER:PASSWORD@HOST:PORT/DATABASE, a password's own `:`, `/`, `#` and `?` percent-encoded"
                ) from None
            return cls(
                None, f"postgresql://{rest}", f"postgresql on {host}, database {parts.path.strip('/')}"
            )
        if separator and scheme == "sqlite":
            text = rest.removeprefix("/")
        elif separator:
            raise SettingsError(
                f"the access store cannot be of the sort {scheme!r}: give sqlite:///<file> or postgresql://<host>/<database>"
            )
        if not text or ":memory:" in text:
            raise SettingsError(
                "the access store needs a file that other processes can open: give sqlite:///<file> or a plain path"
            )
        path = Path(text).expanduser().absolute()
        return cls(path, None, f"sqlite at {path}")


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Locations of accounts, keys and counts, and the format of tokens and addresses.

    Attributes
    ----------
    store
        A file or ``sqlite:///file``, or ``postgresql://…``; may hold a password, so it is never printed.
    state
        SQLite file in which the in-process limiter saves its counts over a restart; not used with `redis`.
    redis
        ``redis://…`` when several workers or machines count together; None for the in-process limiter.
    token_prefix, environment
        The first two words of every token.
    peppers
        Server-side secrets of the digests: the first makes new digests, all of them verify. When empty, an
        SQLite store uses the file beside it, made at first use, and PostgreSQL uses none.
    trusted_hops
        Proxies of one's own in front of the service, counted from the service outwards.
    workers
        Serving processes; more than one needs `redis`.

    Raises
    ------
    SettingsError
        When the store's address is not valid.
    """

    store: str = field(repr=False)
    state: Path | None = None
    redis: str | None = field(default=None, repr=False)
    token_prefix: str = SETTINGS["key_prefix"].default
    environment: str = SETTINGS["environment"].default
    peppers: tuple[bytes, ...] = field(default=(), repr=False)
    trusted_hops: int = SETTINGS["trusted_hops"].default
    workers: int = SETTINGS["workers"].default

    def __post_init__(self) -> None:
        StoreLocation.parse(self.store)

    @property
    def location(self) -> StoreLocation:
        """The parsed address of the store."""
        return StoreLocation.parse(self.store)

    def require_serving(self) -> None:
        """Raise SettingsError unless calls can be counted exactly with these settings.

        Call it before workers are started, so that it fails once.
        """
        if self.redis is None and self.workers > 1:
            raise SettingsError(
                f"{self.workers} workers cannot count calls together without Redis: set ALPHA_RESULTS_REDIS=redis://… or run one worker"
            )
        if self.redis is None and self.state is None:
            raise SettingsError(
                "the counts of calls have no file: set ALPHA_RESULTS_LIMITS_STATE to a local file, or ALPHA_RESULTS_REDIS"
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
            The published root. The default files lie next to it and never inside it, so that nothing of
            them can be mistaken for published data: ``<root>.access.sqlite3``, ``<root>.limits.sqlite3``.
        overrides
            Fields of this class by name, as text or value, from flags; those that are None are ignored.

        Raises
        ------
        SettingsError
            When a value is not valid, or no store is named and the root is not a local folder.
        """
        flags = {name: value for name, value in (overrides or {}).items() if value is not None}

        def resolve(field_name: str, setting: str | None = None) -> Any:
            return given(SETTINGS[setting or field_name], env, flags.get(field_name))

        root = _local(datasets_root)
        store = resolve("store", "access") or (root and f"{root}.access.sqlite3")
        if not store:
            raise SettingsError(
                "no store of accounts and keys is named: give --access or ALPHA_RESULTS_ACCESS"
                " (a file or postgresql://…), or a local datasets root to put the default file beside"
            )
        path = StoreLocation.parse(store).path
        if root is not None and path is not None and path.is_relative_to(root):
            raise SettingsError(
                f"the access store {path} is inside the published root: place it outside, by default {root}.access.sqlite3"
            )
        state = resolve("state", "limits_state")
        if state is None and root is not None:
            state = f"{root}.limits.sqlite3"
        elif state is None and path is not None:
            state = f"{path}.limits"
        return cls(
            store=str(store),
            state=Path(state) if state else None,
            redis=resolve("redis"),
            token_prefix=resolve("token_prefix", "key_prefix"),
            environment=resolve("environment"),
            peppers=resolve("peppers", "pepper"),
            trusted_hops=resolve("trusted_hops"),
            workers=resolve("workers"),
        )


def _local(root: str | Path | None) -> Path | None:
    text = str(root or "").removeprefix("file://")
    return None if not text or "://" in text else Path(text).expanduser().absolute()

"""Where the store of accounts and keys is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from schemas.errors import SettingsError

_POSTGRES = ("postgresql", "postgres", "postgresql+asyncpg")
_PORT = 5432


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """A store's address, read.

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

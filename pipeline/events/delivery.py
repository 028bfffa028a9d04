"""Delivery of events: the record of delivered events, and signed requests to a receiver."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import re
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Iterable, Iterator
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

import orjson

from schemas.errors import DiskUnavailable, EventNotDelivered, SettingsError

TRIES: Final = 4
"""Attempts to deliver one event in one run; the next run continues."""
_TIMEOUT: Final = 10.0
_PAUSE: Final = 1.0
"""Seconds before the second try; each later pause is twice as long."""
_STARTED: Final = ""
"""Id that marks the end of the first run, which records past events as delivered without sending them."""
_UNWRITABLE: Final = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
)
"""Primary result codes of SQLite for a file that cannot be written."""
_RETRIED: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
_PLAIN: Final = re.compile(r"[!-~]+")
"""The characters of a URL and of a bearer token."""


class Delivered:
    """The ids of delivered events, in an SQLite file; one process at a time.

    An id is written once the receiver has answered, so a killed process loses no event and repeats at most one.

    Parameters
    ----------
    path
        The file; created if it does not exist.

    Raises
    ------
    SettingsError
        When it is not such a file, or another process is using it.
    DiskUnavailable
        When it cannot be written; also raised by the methods.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._named():
            self._file = sqlite3.connect(path, timeout=0)
            try:
                self._file.execute("PRAGMA locking_mode = EXCLUSIVE")
                # Before the first write, because that would damage a file of the server, such as that of call counts.
                if self._file.execute("SELECT 1 FROM sqlite_master WHERE tbl_name <> 'delivered'").fetchone():
                    raise sqlite3.DatabaseError("it holds tables of another program")
                self._file.execute("CREATE TABLE IF NOT EXISTS delivered (id TEXT PRIMARY KEY) WITHOUT ROWID")
                self._file.execute("BEGIN EXCLUSIVE")
                # A write, so that a full disk is noticed before an event is sent whose delivery could not be recorded.
                self._file.execute("PRAGMA user_version = 1")
                self._file.execute("COMMIT")
            except sqlite3.Error:
                self._file.close()
                raise

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Convert errors of SQLite, and name the file."""
        try:
            yield
        except sqlite3.Error as error:
            if not self._path.parent.is_dir():
                raise SettingsError(
                    f"--state: {self._path} cannot be opened ({error}); create its folder, and let this user write there"
                ) from error
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _UNWRITABLE:
                raise DiskUnavailable(
                    f"--state: {self._path} cannot be written ({error}); free space on its disk and let this user write "
                    "it, then try again"
                ) from error
            raise SettingsError(
                f"--state: {self._path} cannot be used ({error}); give a file that this command created and no other process is using"
            ) from error

    def __enter__(self) -> Self:
        """Hold the file until the block is left."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    @property
    def started(self) -> bool:
        """Whether a first run has completed."""
        return _STARTED in self._known()

    def start(self, ids: Iterable[str]) -> None:
        """Mark events as delivered before the first run, in one transaction."""
        self.add((*ids, _STARTED))

    def missing(self, ids: Collection[str], *, complete: bool) -> set[str]:
        """Return the undelivered ids; delete recorded ids that the root no longer has, if the ids are `complete`."""
        known = self._known()
        removed = known - {*ids, _STARTED} if complete else set()
        with self._named(), self._file:
            self._file.executemany("DELETE FROM delivered WHERE id = ?", ((id_,) for id_ in removed))
        return set(ids) - known

    def _known(self) -> set[str]:
        with self._named():
            return {row[0] for row in self._file.execute("SELECT id FROM delivered")}

    def add(self, ids: Iterable[str]) -> None:
        """Record events as delivered."""
        with self._named(), self._file:
            self._file.executemany("INSERT OR IGNORE INTO delivered VALUES (?)", ((id_,) for id_ in ids))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as the answer: following one would send a GET without the event, and the token to another host."""

    def redirect_request(self, *_: object) -> None:
        """Follow no redirect."""


def require_url(option: str, url: str) -> str:
    """Return an HTTP address; raises SettingsError for others."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        known = known and "@" not in parts.netloc  # which the client takes for a part of the host
        (parts.hostname or "").encode("idna")  # as the client does
    except ValueError:  # the port, the brackets or a label of the host
        known = False
    if not known or not _PLAIN.fullmatch(url):
        raise SettingsError(
            f"{option}: write https://host/path, without a user name, other characters percent-encoded"
        )
    return url


def require_token(variable: str, token: str | None) -> None:
    """Raise SettingsError for a bearer token that no header can hold, without showing it."""
    if token is not None and not _PLAIN.fullmatch(token):
        raise SettingsError(
            f"{variable}: a token has visible ASCII characters only; remove spaces and line feeds"
        )


def signature(secret: bytes, event_id: str, timestamp: int, body: bytes) -> str:
    """Sign a message as Standard Webhooks 1.0 does: HMAC-SHA256 over id, time and body."""
    signed = b".".join((event_id.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()


def send(
    url: str,
    event_id: str,
    document: object,
    *,
    media_type: str,
    secret: str | None = None,
    token: str | None = None,
) -> None:
    """Send one document; retry transient failures.

    Parameters
    ----------
    secret
        Key of the signature; None sends none.
    token
        Bearer token; None sends none.

    Raises
    ------
    EventNotDelivered
        When no attempt received a success status.
    """
    body = orjson.dumps(document)
    host = urlsplit(url).hostname
    opener = urllib.request.build_opener(_NoRedirects)
    for number in range(TRIES):
        now = int(time.time())
        headers = {"Content-Type": media_type, "webhook-id": event_id, "webhook-timestamp": str(now)}
        if secret is not None:
            headers["webhook-signature"] = signature(secret.encode(), event_id, now, body)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310 - require_url accepts only http and https
        try:
            with opener.open(request, timeout=_TIMEOUT):
                return
        except urllib.error.HTTPError as error:
            reason = f"answered {error.code}"
            transient = error.code in _RETRIED or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR
            error.close()
        except (OSError, HTTPException) as error:  # no answer, or one that is not HTTP
            # The reason of an `URLError`, such as a refused connection, names no address.
            reason, transient = f"did not answer ({getattr(error, 'reason', type(error).__name__)})", True
        if not transient:
            break
        if number + 1 < TRIES:
            time.sleep(_PAUSE * 2**number)
    # The address may hold a secret, so only the host is named.
    raise EventNotDelivered(f"{host} {reason}; event {event_id} and later ones are sent by the next run")

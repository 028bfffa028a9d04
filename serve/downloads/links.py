"""Links of files: their paths, their signatures, and the address at which callers reach this service."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import parse_qsl

import structlog

from datasets.layout import BOOK_NAME, is_snapshot_id, snapshot_path
from schemas.errors import ApiError, SettingsError
from schemas.kinds import ALPHA_ID
from schemas.objects.downloads import TABLE_LIFETIME
from schemas.tables import PUBLISHED_TABLES
from serve.object_signing import WAIT_SECONDS, SigningFailed

if TYPE_CHECKING:
    from serve.downloads.tables import TableFile
    from serve.http.request import Request
    from serve.state import ServerState

_log = structlog.get_logger("serve.downloads")

FILES: Final = "/files"
"""Where links begin; outside of the interface's own paths, for no key is sent with them."""
AS_BUILT: Final = "as-built"
WITHOUT_RAW: Final = "without-raw"
PARQUET_TYPE: Final = "application/vnd.apache.parquet"
_SUFFIX: Final = ".parquet"
_HOST: Final = re.compile(
    r"[A-Za-z0-9._-]{1,253}(?::[0-9]{1,5})?\Z|\[[0-9A-Fa-f:.]{2,45}\](?::[0-9]{1,5})?\Z"
)
_EXPIRES: Final = re.compile(r"[0-9]{1,12}\Z")
_PUBLIC: Final = re.compile(r"https?://[^/?#@\s]+(?:/[^?#\s]*)?\Z")


class TableLink(NamedTuple):
    """The file that a link names.

    Attributes
    ----------
    alpha, snapshot, table, book
        Of which table; `book` is None of one that is not stored by book.
    view
        ``as-built``, the published file, or ``without-raw``, what a key without raw-book access may have of it.
    """

    alpha: str
    snapshot: str
    view: str
    table: str
    book: str | None

    @property
    def path(self) -> str:
        """The path of the link."""
        file = self.table if self.book is None else f"{self.table}/{self.book}"
        return f"{FILES}/{self.alpha}/{self.snapshot}/{self.view}/{file}{_SUFFIX}"

    @property
    def filename(self) -> str:
        """What a download is called."""
        return "-".join(x for x in (self.alpha, self.table, self.book) if x) + _SUFFIX

    @classmethod
    def parse(cls, path: str) -> Self | None:
        """Read a path; None when it is not that of a table's link."""
        book: str | None
        match path.removesuffix(_SUFFIX).split("/"):
            case ["", "files", alpha, snapshot, view, table]:
                book = None
            case ["", "files", alpha, snapshot, view, table, book]:
                pass
            case _:
                return None
        found = cls(alpha, snapshot, view, table, book)
        known = ALPHA_ID.match(alpha) and is_snapshot_id(snapshot) and view in {AS_BUILT, WITHOUT_RAW}
        if not known or table not in PUBLISHED_TABLES or found.path != path:
            return None
        return found if book is None or BOOK_NAME.match(book) else None


class ArchiveLink(NamedTuple):
    """The source archive that a link names: that of the seal which a snapshot was made from."""

    alpha: str
    snapshot: str

    @property
    def path(self) -> str:
        """The path of the link."""
        return f"{FILES}/{self.alpha}/{self.snapshot}/source/{self.alpha}.zip"

    @classmethod
    def parse(cls, path: str) -> Self | None:
        """Read a path; None when it is not that of an archive's link."""
        match path.split("/"):
            case ["", "files", alpha, snapshot, "source", _]:
                found = cls(alpha, snapshot)
            case _:
                return None
        known = ALPHA_ID.match(alpha) and is_snapshot_id(snapshot)
        return found if known and found.path == path else None


class Signed(NamedTuple):
    """What the query string of a link says.

    Attributes
    ----------
    expires
        Unix time in seconds from which it is refused.
    key_id
        Whose call made it.
    signature
        Over both and the path.
    """

    expires: int
    key_id: str
    signature: str

    @classmethod
    def parse(cls, query_string: bytes) -> Self:
        """Read a query string; ApiError ``link_invalid`` unless it has each of the three once, and nothing else."""
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)
        found = dict(pairs)
        if len(pairs) != 3 or found.keys() != {"expires", "key", "signature"}:
            raise invalid()
        if not _EXPIRES.match(found["expires"]):
            raise invalid()
        return cls(int(found["expires"]), found["key"], found["signature"])

    @property
    def query(self) -> str:
        """The query string; every character of it is plain."""
        return f"expires={self.expires}&key={self.key_id}&signature={self.signature}"


def signed_text(path: str, expires: int, key_id: str) -> str:
    """Return what the signature of a link is made over."""
    return f"GET\n{path}\n{expires}\n{key_id}"


def invalid() -> ApiError:
    """Return the refusal of a link that this deployment did not sign."""
    return ApiError("link_invalid", "This link was altered, or was not signed here; ask for another.")


def checked_public_url(text: str | None) -> str | None:
    """Return the base URL an operator gave, without a slash at its end; SettingsError when it is not one."""
    if text and not _PUBLIC.match(text):
        raise SettingsError(
            f"ALPHA_RESULTS_PUBLIC_URL is {text.partition('?')[0]!r}: write https://host or https://host/prefix"
        )
    return text.rstrip("/") if text else None


def base_url(public_url: str | None, headers: Mapping[bytes, bytes], *, behind_proxies: bool) -> str:
    """Return the address at which the caller reaches this service.

    Parameters
    ----------
    public_url
        As configured; it wins.
    headers
        Of the request: ``Host``, and behind one's own proxies ``X-Forwarded-Proto``.
    """
    if public_url is not None:
        return public_url
    host = headers.get(b"host", b"").decode("latin-1")
    if not _HOST.match(host):
        host = "localhost"
    proto = headers.get(b"x-forwarded-proto", b"").rpartition(b",")[2].strip().lower()
    return f"{'https' if behind_proxies and proto == b'https' else 'http'}://{host}"


async def signed_url(service: ServerState, request: Request, path: str, expires: int) -> str:
    """Return a link of a file of this service, signed in the name of the calling key."""
    key_id = request.the_caller.key_id
    signature = await service.access.sign_link(key_id, signed_text(path, expires, key_id))
    base = base_url(
        service.public_url,
        request.headers,
        behind_proxies=service.access_settings.trusted_hops > 0,
    )
    return f"{base}{path}?{Signed(expires, key_id, signature).query}"


async def stored_url(service: ServerState, file: TableFile) -> str | None:
    """Have the object store of the datasets sign the address of a published file.

    Returns
    -------
    str or None
        None where the service answers itself: the root is a folder, the file is a view, or nobody can sign for now.
    """
    signer, link = service.table_signer, file.link
    if signer is None or link.view != AS_BUILT:
        return None
    key = f"{snapshot_path(link.alpha, link.snapshot)}/{file.snapshot.entry(link.table, link.book).path}"
    sign = partial(signer.sign, key, link.filename, PARQUET_TYPE, TABLE_LIFETIME)
    try:
        return await asyncio.wait_for(asyncio.to_thread(sign), WAIT_SECONDS)
    except (SigningFailed, TimeoutError) as error:
        _log.warning(
            "tables_not_signed_by_store", alpha_id=link.alpha, kind=str(error) or type(error).__name__
        )
        return None

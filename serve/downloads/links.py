"""Links to files: paths and signatures of this service, and links signed for an object store."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, NamedTuple, Self
from urllib.parse import parse_qsl

from datasets.layout import BOOK_NAME, is_snapshot_id
from datasets.storage import require_supported, without_secrets
from datasets.storage.s3_settings import S3_SCHEMES, S3Settings
from schemas.errors import ApiError, SettingsError
from schemas.extras import extra
from schemas.kinds import ALPHA_ID
from schemas.settings import SETTINGS, setting_named_in_errors
from schemas.tables import PUBLISHED_TABLES

FILES: Final = "/files"
"""Prefix of links; outside `/v1`, because no key is sent with them."""
AS_BUILT: Final = "as-built"
WITHOUT_RAW: Final = "without-raw"
SOURCE: Final = "source"
PARQUET_TYPE: Final = "application/vnd.apache.parquet"
_SUFFIX: Final = ".parquet"
_HOST: Final = re.compile(
    r"[A-Za-z0-9._-]{1,253}(?::[0-9]{1,5})?\Z|\[[0-9A-Fa-f:.]{2,45}\](?::[0-9]{1,5})?\Z"
)
_EXPIRES: Final = re.compile(r"[0-9]{1,12}\Z")
_PUBLIC: Final = re.compile(r"https?://[^/?#@\s]+(?:/[^?#\s]*)?\Z")

WAIT_SECONDS: Final = 8.0
"""Seconds that a caller waits for a signature, including the queue."""


class FileLink(NamedTuple):
    """The file that a link names: a table of a snapshot, or the source archive of the snapshot's seal.

    Attributes
    ----------
    view
        ``as-built`` for a published file, ``without-raw`` for its view without raw columns and rows, or ``source``.
    table, book
        The table, empty for ``source``, and the book; `book` is None for a table that is not stored by book.
    """

    alpha: str
    snapshot: str
    view: str
    table: str = ""
    book: str | None = None

    @property
    def path(self) -> str:
        """The path of the link."""
        file = "/".join(filter(None, (self.table, self.book))) + _SUFFIX
        if self.view == SOURCE:
            file = f"{self.alpha}.zip"
        return f"{FILES}/{self.alpha}/{self.snapshot}/{self.view}/{file}"

    @property
    def filename(self) -> str:
        """File name of a download."""
        return "-".join(x for x in (self.alpha, self.table, self.book) if x) + _SUFFIX

    @classmethod
    def parse(cls, path: str) -> Self | None:
        """Parse a path; None if it is not the path of a link."""
        match path.removesuffix(_SUFFIX).split("/"):
            case ["", "files", alpha, snapshot, "source", _]:
                link = cls(alpha, snapshot, SOURCE)
            case ["", "files", alpha, snapshot, ("as-built" | "without-raw") as view, table, *books]:
                link = cls(alpha, snapshot, view, table, books[0] if books else None)
                if table not in PUBLISHED_TABLES or not (link.book is None or BOOK_NAME.match(link.book)):
                    return None
            case _:
                return None
        known = ALPHA_ID.match(alpha) and is_snapshot_id(snapshot)
        return link if known and link.path == path else None


class LinkQuery(NamedTuple):
    """The query string of a link.

    Attributes
    ----------
    expires
        Unix time in seconds from which the link is refused.
    key_id
        The key whose call created the link.
    signature
        Signature over the path and both fields above.
    """

    expires: int
    key_id: str
    signature: str

    @classmethod
    def parse(cls, query_string: bytes) -> Self:
        """Parse a query string; ApiError ``link_invalid`` unless it has each of the three parameters exactly once."""
        pairs = parse_qsl(query_string.decode("latin-1"), keep_blank_values=True)
        values = dict(pairs)
        known = len(pairs) == 3 and values.keys() == {"expires", "key", "signature"}
        if not known or not _EXPIRES.match(values["expires"]):
            raise ApiError("link_invalid", "This link was altered or not signed here; request another.")
        return cls(int(values["expires"]), values["key"], values["signature"])

    @property
    def query(self) -> str:
        """The query string, in which no character needs escaping."""
        return f"expires={self.expires}&key={self.key_id}&signature={self.signature}"


def signed_text(path: str, expires: int, key_id: str) -> str:
    """Return the signed text of a link."""
    return f"GET\n{path}\n{expires}\n{key_id}"


def checked_url(text: str | None, setting: str) -> str | None:
    """Return an operator's base URL without a trailing slash; raises SettingsError, which names the setting, for an invalid one."""
    if text and not _PUBLIC.match(text):
        raise SettingsError(
            f"{setting} is {without_secrets(text)!r}: write https://host or https://host/prefix, without user name, query or fragment"
        )
    return text.rstrip("/") if text else None


def base_url(public_url: str | None, headers: Mapping[bytes, bytes], *, behind_proxies: bool) -> str:
    """Return the URL at which the caller reaches this service.

    Parameters
    ----------
    public_url
        The configured URL, which takes precedence; None without one.
    headers
        Request headers: ``Host``, and ``X-Forwarded-Proto``.
    behind_proxies
        Whether the request came through the operator's own proxies; otherwise ``X-Forwarded-Proto`` is ignored.
    """
    if public_url is not None:
        return public_url
    host = headers.get(b"host", b"").decode("latin-1")
    if not _HOST.match(host):
        host = "localhost"
    proto = headers.get(b"x-forwarded-proto", b"").rpartition(b",")[2].strip().lower()
    return f"{'https' if behind_proxies and proto == b'https' else 'http'}://{host}"


class SigningFailed(Exception):
    """Links cannot be signed; names the failure without its message, which may hold an address."""


class CredentialsMissing(SigningFailed):
    """The credentials of the store are missing."""


class ObjectSigner:
    """Signs links to objects below one address.

    Parameters
    ----------
    bucket, prefix
        Location of the objects; see :func:`open_signer`.
    public_endpoint
        Base URL at which callers reach the object store; by default the one this service uses.
    """

    def __init__(self, bucket: str, prefix: str, public_endpoint: str | None) -> None:
        with extra("s3", "signing for a bucket"):
            import botocore  # noqa: F401, PLC0415 - fails at the start, not at the first call

        self._bucket, self._prefix = bucket, prefix
        private = S3Settings.from_environment(os.environ)
        self._settings = replace(private, endpoint=public_endpoint or private.endpoint)
        # At debug level botocore logs signatures.
        for name in ("botocore", "aiobotocore"):
            logging.getLogger(name).setLevel(logging.INFO)

    def sign(self, key: str, filename: str, media_type: str, seconds: int) -> str:
        """Sign a link to an object, without a call to the store. Raises SigningFailed."""
        from botocore import exceptions  # noqa: PLC0415 - as where the client is made

        try:
            url: str = self._client.generate_presigned_url(
                "get_object",
                Params={
                    "Bucket": self._bucket,
                    "Key": f"{self._prefix}{key}",
                    "ResponseContentDisposition": f'attachment; filename="{filename}"',
                    "ResponseContentType": media_type,
                },
                ExpiresIn=seconds,
                HttpMethod="GET",
            )
        except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
            raise CredentialsMissing(type(error).__name__) from error
        except (exceptions.BotoCoreError, exceptions.ClientError, OSError) as error:
            raise SigningFailed(type(error).__name__) from error
        return url

    @cached_property
    def _client(self) -> Any:
        """Created at the first call, since the search for credentials may query the machine's metadata service."""
        import botocore.session  # noqa: PLC0415 - half a second of imports, needed only where links are signed
        from botocore.config import Config  # noqa: PLC0415 - as above

        config = Config(**self._settings.config(connect=1.0, read=1.0, attempts=1))  # it makes no requests
        session = botocore.session.get_session()
        return session.create_client("s3", config=config, **self._settings.client)


def open_signer(address: str | None, setting: str, public_endpoint: str | None) -> ObjectSigner | None:
    """Return the signer of links below an S3 address; None for a folder or no address.

    Raises
    ------
    SettingsError
        If the store is not supported, or the address names no bucket; the message names the setting.
    """
    if address:
        with setting_named_in_errors(setting):
            require_supported(address)
    scheme, _, path = (address or "").partition("://")
    if scheme not in S3_SCHEMES:
        return None
    bucket, _, prefix = path.strip("/").partition("/")
    if not bucket:
        raise SettingsError(
            f"{SETTINGS[setting].variable} names no bucket: write s3://bucket or s3://bucket/prefix"
        )
    return ObjectSigner(bucket, f"{prefix}/" if prefix else "", public_endpoint)

"""Addresses that an object store signs: made for each call, never stored or logged."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from datasets.storage import require_supported, without_secrets
from datasets.storage.s3_settings import S3_SCHEMES, S3Settings
from schemas.errors import SettingsError

CONNECT_SECONDS: Final = 2.0
READ_SECONDS: Final = 3.0
WAIT_SECONDS: Final = 8.0
"""Longest a caller waits for a signature, a place in the queue included."""
NO_CREDENTIALS: Final = (NoCredentialsError, PartialCredentialsError)
FAILURES: Final = (BotoCoreError, ClientError, OSError)
"""What a call to a store, or the search for its credentials, may end with."""


@dataclass(frozen=True, slots=True)
class _Clients:
    """One client asks the store whether an object is there, the other signs for where callers reach it."""

    inside: Any
    outside: Any


class ObjectSigner:
    """Signs addresses of objects below one address.

    Parameters
    ----------
    bucket, prefix
        Where they lie; see :func:`parse_bucket`.
    public_endpoint
        Base URL at which callers reach the object store; by default the one this service uses.
    environment
        Where endpoint and region are read; by default the process's own.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str,
        public_endpoint: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._bucket, self._prefix = bucket, prefix
        self._inside = S3Settings.from_environment(os.environ if environment is None else environment)
        self._outside = replace(self._inside, endpoint=public_endpoint or self._inside.endpoint)
        self._clients: _Clients | None = None
        self._making = threading.Lock()
        # At its most talkative botocore writes what it signs, and the signature, into the log.
        for name in ("botocore", "aiobotocore"):
            logging.getLogger(name).setLevel(logging.INFO)

    def size(self, key: str) -> int | None:
        """Ask the store for the size of an object; None when it is not there. Raises one of `FAILURES`."""
        try:
            found = self._made().inside.head_object(Bucket=self._bucket, Key=f"{self._prefix}{key}")
        except ClientError as error:
            if error_kind(error) not in {"404", "NoSuchKey", "NoSuchBucket"}:
                raise
            return None
        return int(found["ContentLength"])

    def sign(self, key: str, filename: str, media_type: str, seconds: int) -> str:
        """Sign the address of an object; the store is not asked. Raises one of `FAILURES`."""
        url: str = self._made().outside.generate_presigned_url(
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
        return url

    def _made(self) -> _Clients:
        """Make the clients at the first call: finding credentials may ask the machine's metadata service."""
        with self._making:
            if self._clients is None:
                # Half a second of imports, for deployments that sign only.
                import botocore.session  # noqa: PLC0415

                session = botocore.session.get_session()
                self._clients = _Clients(_client(session, self._inside), _client(session, self._outside))
            return self._clients


def parse_bucket(address: str | None, setting: str) -> tuple[str, str]:
    """Split an S3 address into bucket and prefix; both are empty for a folder and for none.

    Raises
    ------
    SettingsError
        When the store is not supported, or the address names no bucket; the message names the setting.
    """
    if address:
        require_supported(address)
    scheme, _, path = (address or "").partition("://")
    if scheme not in S3_SCHEMES:
        return "", ""
    bucket, _, prefix = path.strip("/").partition("/")
    if not bucket:
        raise SettingsError(f"{setting} names no bucket: write s3://bucket or s3://bucket/prefix")
    return bucket, f"{prefix}/" if prefix else ""


def checked_endpoint(text: str | None, setting: str) -> str | None:
    """Return a public endpoint; SettingsError unless it is an http or https URL."""
    if text and text.partition("://")[0] not in {"http", "https"}:
        raise SettingsError(
            f"{setting} is {without_secrets(text)!r}: it has to begin with https:// (or http://)"
        )
    return text or None


def error_kind(error: Exception) -> str:
    """Name a failure without its message, which may hold the address that was asked for."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "unknown"))
    return type(error).__name__


def _client(session: Any, settings: S3Settings) -> Any:
    from botocore.config import Config  # noqa: PLC0415 - as where the session is made

    config = Config(**settings.config(connect=CONNECT_SECONDS, read=READ_SECONDS, attempts=1))
    return session.create_client("s3", config=config, **settings.client)

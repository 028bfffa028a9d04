"""Addresses that an object store signs: made for each call, never stored or logged."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from datasets.storage import require_supported, without_secrets
from datasets.storage.s3_settings import S3_SCHEMES, S3Settings
from schemas.errors import SettingsError
from schemas.extras import extra

CONNECT_SECONDS: Final = 2.0
READ_SECONDS: Final = 3.0
WAIT_SECONDS: Final = 8.0
"""Longest a caller waits for a signature, a place in the queue included."""


class SigningFailed(Exception):
    """The store did not answer, or nothing can be signed for it.

    Parameters
    ----------
    kind
        The failure without its message, which may hold the address that was asked for.
    without_credentials
        Whether no credentials were found.
    """

    def __init__(self, kind: str, *, without_credentials: bool = False) -> None:
        super().__init__(kind)
        self.kind = kind
        self.without_credentials = without_credentials


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
        with extra("s3", "signing for a bucket"):
            import botocore  # noqa: F401, PLC0415 - said at the start, not at the first call

        self._bucket, self._prefix = bucket, prefix
        self._inside = S3Settings.from_environment(os.environ if environment is None else environment)
        self._outside = replace(self._inside, endpoint=public_endpoint or self._inside.endpoint)
        self._clients: _Clients | None = None
        self._making = threading.Lock()
        # At its most talkative botocore writes what it signs, and the signature, into the log.
        for name in ("botocore", "aiobotocore"):
            logging.getLogger(name).setLevel(logging.INFO)

    def size(self, key: str) -> int | None:
        """Ask the store for the size of an object; None when it is not there. SigningFailed when it does not answer."""
        try:
            with _failures():
                found = self._made().inside.head_object(Bucket=self._bucket, Key=f"{self._prefix}{key}")
        except SigningFailed as error:
            if error.kind not in {"404", "NoSuchKey", "NoSuchBucket"}:
                raise
            return None
        return int(found["ContentLength"])

    def sign(self, key: str, filename: str, media_type: str, seconds: int) -> str:
        """Sign the address of an object; the store is not asked. SigningFailed without credentials."""
        with _failures():
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


@contextmanager
def _failures() -> Iterator[None]:
    """Turn whatever the client raises, or the search for its credentials, into SigningFailed."""
    from botocore import exceptions  # noqa: PLC0415 - as where the session is made

    try:
        yield
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError) as error:
        raise SigningFailed(type(error).__name__, without_credentials=True) from error
    except exceptions.ClientError as error:
        raise SigningFailed(str(error.response.get("Error", {}).get("Code", "unknown"))) from error
    except (exceptions.BotoCoreError, OSError) as error:
        raise SigningFailed(type(error).__name__) from error


def _client(session: Any, settings: S3Settings) -> Any:
    from botocore.config import Config  # noqa: PLC0415 - as where the session is made

    config = Config(**settings.config(connect=CONNECT_SECONDS, read=READ_SECONDS, attempts=1))
    return session.create_client("s3", config=config, **settings.client)

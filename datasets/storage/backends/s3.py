"""Buckets of Amazon S3 and compatible stores."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from datasets.storage import object_store
from datasets.storage.failures import error_code
from datasets.storage.object_store import (
    ANSWER_SECONDS,
    ConditionsUnknown,
    ObjectStorage,
    require_within,
    seconds_for,
)
from datasets.storage.protocol import without_secrets
from datasets.storage.s3_settings import S3Settings
from schemas.errors import SettingsError
from schemas.extras import extra

if TYPE_CHECKING:
    from datasets.storage.cache import Cache

EXAMPLE: Final = "s3://bucket/prefix"
_LOST: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409", "NoSuchKey"})
_UNKNOWN: Final = frozenset({"NotImplemented", "501"})


class S3Storage(ObjectStorage):
    """A root in a bucket. Endpoint, region and credentials come from the usual AWS settings.

    A conditional write is a PUT with ``If-Match`` (the entity tag last seen) or ``If-None-Match: *`` (no object
    yet).

    Raises
    ------
    SettingsError
        When the address names no bucket.
    """

    # One GET per object of any size: otherwise s3fs requests the size first, and could combine chunks of two versions
    # if the object is replaced meanwhile.
    read_options: ClassVar[Mapping[str, Any]] = {"max_concurrency": 1}

    def __init__(self, address: str, *, cache: Cache | None = None, single_writer: bool = False) -> None:
        with extra("s3", "a bucket"):
            import s3fs  # noqa: PLC0415 - slow to load, for roots in buckets only

        settings = S3Settings.from_environment(os.environ)
        config = settings.config(
            connect=object_store.CONNECT_SECONDS,
            read=object_store.READ_SECONDS,
            attempts=object_store.ATTEMPTS,
        )
        credentials = tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
        fs = s3fs.S3FileSystem(
            session=_session(credentials),
            use_listings_cache=False,  # catalogue polls must see changes
            config_kwargs=config,
            client_kwargs=settings.client,
        )
        super().__init__(address, fs, settings.endpoint, cache=cache, single_writer=single_writer)
        self.fs.retries = 1  # botocore retries
        if not self.base:
            raise SettingsError(
                f"{without_secrets(address)!r} names no bucket: write s3://bucket or s3://bucket/prefix"
            )

    def _read_tagged(self, relative: str, limit: int) -> tuple[bytes, str]:
        from fsspec.asyn import sync  # noqa: PLC0415 - loaded with s3fs

        tagged: tuple[bytes, str] = sync(self.fs.loop, _get, self.fs, self.full(relative), limit)
        return tagged

    def _put_if(self, relative: str, data: bytes, tag: str | None) -> bool:
        # Older Ceph gateways never match a quoted tag, so the tag is also tried without quotes. The race was not lost if the
        # object still has the expected version.
        for form in [None] if tag is None else [tag, tag.strip('"')]:
            if self._put_by_tag(relative, data, form):
                return True
            if self.read_version(relative).tag != tag:
                return False
        return False

    def _put_by_tag(self, relative: str, data: bytes, tag: str | None) -> bool:
        condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
        bucket, key, _ = self.fs.split_path(self.full(relative))
        with self.translate_errors(relative, changing=True):
            try:
                body = {"Bucket": bucket, "Key": key, "Body": data}
                self.fs.call_s3("put_object", timeout=seconds_for(len(data)), **body, **condition)
            except Exception as error:
                code = error_code(error)
                if code in _LOST:
                    return False
                if code in _UNKNOWN:
                    raise ConditionsUnknown from error
                raise
        return True


async def _get(fs: Any, path: str, limit: int) -> tuple[bytes, str]:
    bucket, key, _ = fs.split_path(path)
    began = asyncio.get_running_loop().time()
    async with asyncio.timeout(ANSWER_SECONDS) as within:
        # One GET, because a separate request could return the tag of another version.
        answer = await fs._call_s3("get_object", Bucket=bucket, Key=key)  # noqa: SLF001 - s3fs has no public call that returns the tag
        async with answer["Body"] as body:
            require_within(path, answer["ContentLength"], limit)
            within.reschedule(began + seconds_for(answer["ContentLength"]))
            return await body.read(), answer["ETag"]


@lru_cache(maxsize=16)
def _session(_credentials: tuple[tuple[str, str], ...]) -> Any:
    """Return a session with a fast timestamp parser, one for each set of AWS variables.

    botocore's general parser takes two thirds of a listing's time: half a second of CPU time for ten thousand alphas.
    """
    from aiobotocore.session import AioSession  # noqa: PLC0415 - slow to load, for roots in buckets only

    session = AioSession()
    factory = session.get_component("response_parser_factory")
    factory.set_parser_defaults(timestamp_parser=_instant)
    return session


def _instant(value: Any) -> Any:
    """Parse a timestamp of a response: ISO 8601 in listings, other formats as in botocore."""
    from botocore.utils import parse_timestamp  # noqa: PLC0415 - loaded with the session

    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return parse_timestamp(value)


BACKEND: Final = S3Storage

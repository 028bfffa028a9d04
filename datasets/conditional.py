"""Compare and write on an object store: a write that takes place only when nobody else wrote meanwhile.

S3 does it with ``If-Match`` (the entity tag last seen) and ``If-None-Match: *`` (nothing there yet). Stores that
answer that they do not know these headers, and fsspec's other remote file systems, are written plainly: there
the last of several writers wins, and gc must not run beside a build. Folders of this machine need none of it,
for their writers exclude each other by a lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import fsspec.asyn

from datasets.object_store import error_code
from datasets.storage import Storage

_LOST: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "412", "409", "NoSuchKey"})
_UNKNOWN: Final = frozenset({"NotImplemented", "501"})


@dataclass(frozen=True, slots=True)
class Version:
    """A file as it was read.

    Attributes
    ----------
    data
        Its bytes; None when there was no such file.
    tag
        What a store names this version by; None when there was none, or where versions have no names.
    """

    data: bytes | None
    tag: str | None = None


def read_version(storage: Storage, relative: str) -> Version:
    """Read a small file together with the name of the version that was read.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    try:
        if not storage.is_s3:
            return Version(storage.read(relative))
        with storage.answering(relative):
            data, tag = fsspec.asyn.sync(storage.fs.loop, _get, storage.fs, storage.full(relative))
            return Version(data, tag)
    except FileNotFoundError:
        return Version(None)


def write_if_unchanged(storage: Storage, relative: str, data: bytes, seen: Version) -> bool:
    """Write a small file unless somebody wrote it since it was read.

    Parameters
    ----------
    seen
        What :func:`read_version` returned.

    Returns
    -------
    bool
        False when somebody did, and nothing was written. Always True where versions have no names: there the
        caller keeps other writers away.

    Raises
    ------
    StorageUnavailable
        When the store does not answer; it may or may not have written.
    """
    if not storage.is_s3:
        storage.write(relative, data)
        return True
    tags = [None] if seen.tag is None else [seen.tag, seen.tag.strip('"')]
    for tag in tags:
        try:
            if _put(storage, relative, data, tag):
                return True
        except NotImplementedError:
            storage.write(relative, data)
            return True
        # Older gateways of Ceph compare the tag with its quotes, which never matches: they take it without. That
        # is told from a lost race by the version still being the one that was seen.
        if read_version(storage, relative).tag != seen.tag:
            return False
    return False


def _put(storage: Storage, relative: str, data: bytes, tag: str | None) -> bool:
    condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
    bucket, key, _ = storage.fs.split_path(storage.full(relative))
    with storage.answering(relative, changing=True):
        try:
            storage.fs.call_s3("put_object", Bucket=bucket, Key=key, Body=data, **condition)
        except Exception as error:
            code = error_code(error)
            if code in _LOST:
                return False
            if code in _UNKNOWN:
                raise NotImplementedError from error
            raise
    return True


async def _get(fs: Any, path: str) -> tuple[bytes, str]:
    bucket, key, _ = fs.split_path(path)
    # One GET: asking for the tag apart could name another version than the one read.
    answer = await fs._call_s3("get_object", Bucket=bucket, Key=key)  # noqa: SLF001 - s3fs hands tags out nowhere else
    async with answer["Body"] as body:
        return await body.read(), answer["ETag"]

"""A datasets root on any file system that fsspec knows, with writes that are whole or absent."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
import uuid
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, Final

import fsspec
from fsspec.implementations.local import LocalFileSystem

from datasets.disk import reading, writing
from datasets.layout import STAGING
from datasets.object_store import (
    S3_SCHEMES,
    S3Settings,
    is_refusal,
    is_store_failure,
    names_missing_bucket,
)
from schemas.errors import SettingsError, StorageUnavailable

if TYPE_CHECKING:
    from datasets.cache import Cache

CONNECT_SECONDS: Final = 3.0
READ_SECONDS: Final = 8.0
ATTEMPTS: Final = 2
"""Tries of one request to an object store: enough for a dropped connection, few enough to say soon that it is away."""
SLOW_SECONDS: Final = 2.0
"""A failure that took longer than this is that of a store which takes requests and does not answer."""
PAUSE_SECONDS: Final = 30.0
"""How long such a store is then left alone by those who would wait for it in vain; the next answer ends it."""


class Storage:
    """Reads and atomic writes below one root.

    Parameters
    ----------
    address
        A local folder or an fsspec URL such as ``s3://bucket/prefix``. Endpoint, region and credentials of S3
        come from the usual AWS settings, ``AWS_ENDPOINT_URL`` among them.
    cache
        For the files of a remote root; a local one needs none and ignores it.

    Attributes
    ----------
    address
        The address without user names, passwords and query strings, so that messages may show it.
    fs, base
        The file system and its own path of the root.
    is_local, is_s3
        Whether it is a folder of this machine, or a bucket.
    identity
        What tells this root from every other one, store and address, in a form that may name a folder.
    cache
        Where immutable files of a remote root are kept on this machine; None on a local root, and when there is
        none.

    Raises
    ------
    SettingsError
        When no file system answers to the address.
    """

    def __init__(self, address: str | os.PathLike[str], *, cache: Cache | None = None) -> None:
        given = os.fspath(address)
        self.address = without_secrets(given)
        self.reading: dict[str, Any] = {}
        """Arguments of every read of a whole file."""
        options: dict[str, Any] = {}
        scheme = given.partition("://")[0]
        if "://" in given and scheme in S3_SCHEMES:
            options = _s3_options(S3Settings.from_environment(os.environ))
            # One GET for an object, whatever its size: s3fs would ask for the size first, and would put an object
            # that is replaced meanwhile together from pieces of both versions.
            self.reading = {"max_concurrency": 1}
        elif scheme in {"http", "https"}:
            options = _http_options()
        try:
            self.fs, path = fsspec.core.url_to_fs(given, **options)
        except (ImportError, ValueError) as error:
            raise SettingsError(f"{self.address!r} is no address of a file system: {error}") from error
        self.is_local = isinstance(self.fs, LocalFileSystem)
        self.is_s3 = bool(self.reading)
        self.cache = None if self.is_local else cache
        self._stalled_until = float("-inf")
        self.base = str(Path(path).resolve()) if self.is_local else path.rstrip("/")
        endpoint = S3Settings.from_environment(os.environ).endpoint if self.is_s3 else None
        self.identity = hashlib.sha256(f"{endpoint or ''} {self.address}".encode()).hexdigest()[:16]
        if self.is_s3:
            self.fs.retries = ATTEMPTS  # s3fs repeats on top of what botocore repeats, five times by default
        if scheme in S3_SCHEMES and "://" in given and not self.base:
            raise SettingsError(f"{self.address!r} names no bucket: write s3://bucket or s3://bucket/prefix")

    def full(self, relative: str) -> str:
        """Return the file system's own path of a path relative to the root; the empty path is the root."""
        if relative.startswith("/") or ".." in relative.split("/"):
            raise ValueError(f"{relative!r} leaves the root")
        return f"{self.base}/{relative}" if relative else self.base

    def url(self, relative: str) -> str:
        """Return an address another program can open: the path on a local root, else a URL."""
        return self.full(relative) if self.is_local else str(self.fs.unstrip_protocol(self.full(relative)))

    def read(self, relative: str) -> bytes:
        """Return a file's bytes.

        Raises
        ------
        FileNotFoundError
            When it does not exist.
        StorageUnavailable
            When the store does not answer, or the disk fails or does not permit it.
        """
        if self.is_local:
            with reading(self.full(relative)):
                return Path(self.full(relative)).read_bytes()
        with self.answering(relative):
            data: bytes = self.fs.cat_file(self.full(relative), **self.reading)
            return data

    def exists(self, relative: str) -> bool:
        """Tell whether a file or folder is there."""
        with self.answering(relative):
            self.fs.invalidate_cache()
            try:
                self.fs.info(self.full(relative))
            except (FileNotFoundError, NotADirectoryError):
                return False
            return True

    def signature(self, relative: str = "") -> tuple[Any, ...] | None:
        """Return what changes when a file does (ETag, size, time), None when no such file is there.

        Raises
        ------
        StorageUnavailable
            When the store does not answer.
        """
        with self.answering(relative):
            self.fs.invalidate_cache()
            try:
                if self.is_local:
                    status = Path(self.full(relative)).stat()
                    regular = Path(self.full(relative)).is_file()
                    return (status.st_mtime_ns, status.st_size, status.st_ino) if regular else None
                found = self.fs.info(self.full(relative))
            except (FileNotFoundError, NotADirectoryError):
                return None
        return _signature(found) if found["type"] == "file" else None

    def size(self, relative: str) -> int | None:
        """Return a file's size in bytes, None when no such file is there; StorageUnavailable as ever."""
        signature = self.signature(relative)
        return None if signature is None else int(signature[1])

    def entries(self, relative: str) -> dict[str, tuple[Any, ...]]:
        """List a folder: file name -> a signature that changes when the file does.

        A folder that does not exist is empty, as object stores have no folders; a bucket that does not exist is a
        store that does not answer. One listing, no read of any file.
        """
        if self.is_local:
            with reading(self.full(relative)):
                return _scan(self.full(relative))
        with self.answering(relative):
            self.fs.invalidate_cache()
            try:
                found = self.fs.ls(self.full(relative), detail=True)
            except FileNotFoundError as error:
                if names_missing_bucket(error):
                    raise
                return {}
        return {
            entry["name"].rsplit("/", 1)[-1]: _signature(entry) for entry in found if entry["type"] == "file"
        }

    def place(self, source: Path, relative: str) -> None:
        """Make a finished local file visible under its final name; the source is gone afterwards.

        Locally it is flushed and renamed (so it must lie on the root's file system), elsewhere it is one PUT.

        Raises
        ------
        StorageUnavailable
            When the store does not answer, or the disk takes no more.
        """
        target = self.full(relative)
        if self.is_local:
            with writing(target):
                _flush(source)
                Path(target).parent.mkdir(parents=True, exist_ok=True)
                source.replace(target)
            return
        with self.answering(relative, changing=True):
            # From the disk in pieces: a large table is never a second time in memory.
            self.fs.put_file(str(source), target)
        source.unlink()

    def write(self, relative: str, data: bytes) -> None:
        """Write a small file so that a reader sees the old bytes or the new ones, never a part."""
        if not self.is_local:
            with self.answering(relative, changing=True):
                self.fs.pipe_file(self.full(relative), data)
            return
        folder = Path(self.full(STAGING))
        draft = folder / f"{uuid.uuid4().hex}.tmp"
        with writing(self.full(relative)):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                draft.write_bytes(data)
                self.place(draft, relative)
            finally:
                draft.unlink(missing_ok=True)
            _flush(Path(self.full(relative)).parent)

    @contextlib.contextmanager
    def answering(self, relative: str, *, changing: bool = False) -> Iterator[None]:
        """Tell "the store is away" from "the file is not there"; `changing` expects no file to be there."""
        began = time.monotonic()
        try:
            yield
            self._stalled_until = float("-inf")
        except FileNotFoundError as error:
            if self.is_local or not (changing or names_missing_bucket(error)):
                raise
            raise StorageUnavailable(
                f"{self.address} does not exist in its store: create the bucket, or correct the address"
            ) from error
        except Exception as error:
            if self.is_local:
                with reading(self.full(relative)):
                    raise
            if not is_store_failure(error):
                raise
            if is_refusal(error):
                raise StorageUnavailable(
                    f"the store of {self.address} refused access to {relative or 'its root'}: check the credentials "
                    f"and what they permit"
                ) from error
            if time.monotonic() - began > SLOW_SECONDS:
                self._stalled_until = time.monotonic() + PAUSE_SECONDS
            raise StorageUnavailable(
                f"the store of {self.address} did not answer for {relative or 'its root'}"
            ) from error

    def require_prompt(self, relative: str) -> None:
        """Refuse at once what a store that hangs would only refuse after a long wait.

        A store that hangs must not hold every thread of a service, one request after the other, while the cache could
        answer others. Whoever looks at the catalogue goes on asking it, and finds it answering again.

        Raises
        ------
        StorageUnavailable
            When the store left a request unanswered a moment ago and has answered none since.
        """
        if time.monotonic() < self._stalled_until:
            raise StorageUnavailable(
                f"the store of {self.address} does not answer, so it was not asked for {relative}"
            )


def without_secrets(address: str) -> str:
    """Strip user names, passwords and query strings from an address; a local path comes back as it is."""
    return re.sub(r"(?<=://)[^/@]*@", "", address).split("?", 1)[0] if "://" in address else address


def _s3_options(settings: S3Settings) -> dict[str, Any]:
    """Return the arguments of s3fs; listings are never kept, since a catalogue is polled to see what is new."""
    credentials = tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
    return {
        "session": _s3_session(credentials),
        "use_listings_cache": False,
        "config_kwargs": settings.config(connect=CONNECT_SECONDS, read=READ_SECONDS, attempts=ATTEMPTS),
    } | ({"client_kwargs": settings.client} if settings.client else {})


@lru_cache(maxsize=16)
def _s3_session(_credentials: tuple[tuple[str, str], ...]) -> Any:
    """Return a session that reads the times in a listing as what they are, one for each set of AWS variables.

    By default every time is guessed at by a general parser, which takes two thirds of what a listing costs: of ten
    thousand alphas that is half a second of processor time a look.
    """
    from aiobotocore.session import AioSession  # noqa: PLC0415 - as slow to load as s3fs, for roots in buckets only

    session = AioSession()
    factory = session.get_component("response_parser_factory")
    factory.set_parser_defaults(timestamp_parser=_instant)
    return session


def _instant(told: Any) -> datetime:
    """Read a time of a store's answer: ISO-8601 in listings, anything else as botocore does."""
    if isinstance(told, str):
        with contextlib.suppress(ValueError):
            found = datetime.fromisoformat(told)
            if found.tzinfo is not None:
                return found
    from botocore.utils import parse_timestamp  # noqa: PLC0415 - loaded with the session

    parsed: datetime = parse_timestamp(told)
    return parsed


def _http_options() -> dict[str, Any]:
    """Return the arguments of fsspec's HTTP client, which by itself waits five minutes for a silent server."""
    import aiohttp  # noqa: PLC0415 - few roots are plain web servers

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS)
    return {"client_kwargs": {"timeout": timeout}}


def _signature(entry: dict[str, Any]) -> tuple[Any, ...]:
    """Pick what changes with a file's content, under the names the different file systems give it."""
    return (
        entry.get("ETag") or entry.get("created") or "",
        entry.get("size"),
        str(entry.get("LastModified") or entry.get("mtime") or ""),
    )


def _scan(folder: str) -> dict[str, tuple[Any, ...]]:
    found = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    status = entry.stat()
                except FileNotFoundError:
                    continue  # one that is removed at this moment must not make the whole folder look empty
                if S_ISREG(status.st_mode):
                    found[entry.name] = (status.st_mtime_ns, status.st_size, status.st_ino)
    except FileNotFoundError:
        return {}
    return found


def _flush(path: Path) -> None:
    """Force a file's bytes, or a folder's names, to disk: a rename must not outlive a power cut that they do not."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

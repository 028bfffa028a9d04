"""Base of backends on remote stores: fsspec clients, translated errors, parallel transfers."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import shutil
import tempfile
import time
import uuid
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Final

from datasets.disk import TooLarge, temporary_folder, writing
from datasets.layout import STAGING
from datasets.storage import failures
from datasets.storage.cache import DEFAULT_BYTES, Cache
from datasets.storage.lock import object_lock
from datasets.storage.protocol import (
    DRAFT_SUFFIX,
    MAX_DOCUMENT_BYTES,
    Renew,
    Signature,
    Storage,
    StoredFile,
    Version,
    without_secrets,
)
from schemas.errors import SettingsError, SnapshotCorrupt, StorageUnavailable
from schemas.settings import SETTINGS

CONNECT_SECONDS: Final = 3.0
READ_SECONDS: Final = 6.0
ATTEMPTS: Final = 2
"""Attempts per request by the client: enough for a dropped connection, while a hung store fails within 15 seconds."""
ANSWER_SECONDS: Final = 14.0
"""Maximum seconds for a small response, including retries. The client's own limits, on connecting and between two chunks,
do not catch a store that sends a few bytes a second."""
LONG_ANSWER_SECONDS: Final = 120.0
"""Maximum seconds for a listing, and for each thousand small objects."""
LEAST_BYTES_PER_SECOND: Final = 64 << 10
"""Minimum transfer rate of a large object; a slower store counts as unavailable."""
HUNG_SECONDS: Final = 2.0
"""Seconds after which a failed request counts as hung."""
PAUSE_SECONDS: Final = 30.0
"""Seconds for which reads of files fail at once after a hung request, so that a hung store does not block every thread.
Listings continue."""
CONCURRENT_READS: Final = 64
"""Concurrent requests for small objects."""
_NO_TAG: Final = f'"{"0" * 32}"'
"""Entity tag that no version has."""
_FAULTS: Final[dict[str, str | None]] = {}
"""Identity of a store -> how it breaks conditional writes, or None if it honours them. Kept for the life of the process."""


class ConditionsUnknown(Exception):
    """The store does not support conditional writes."""


class ObjectStorage(Storage):
    """A root on a remote store, reached by an fsspec file system.

    A backend adds its client, versioned reads and conditional writes.

    Parameters
    ----------
    address
        Address as given by the user.
    fs
        The store's client, without a listing cache.
    endpoint
        Endpoint of the store, unless the address determines it.
    cache
        Cache for the immutable files of the root; None for a temporary one.
    single_writer
        Whether the operator ensures that no other command writes, so that a store without conditional
        writes is acceptable.
    """

    read_options: ClassVar[Mapping[str, Any]] = {}
    """Keyword arguments of every file read."""

    def __init__(
        self, address: str, fs: Any, endpoint: str | None, *, cache: Cache | None, single_writer: bool
    ) -> None:
        self.address = without_secrets(address)
        self._store = self.address if endpoint is None else f"{self.address} at {without_secrets(endpoint)}"
        self.fs = fs
        self.base = str(fs._strip_protocol(address)).rstrip("/")  # noqa: SLF001 - fsspec's own functions use it
        self.identity = hashlib.sha256(f"{endpoint or ''} {self.address}".encode()).hexdigest()[:16]
        self.cache = cache
        self._single_writer = single_writer
        self._hung_until = float("-inf")

    @abstractmethod
    def _read_tagged(self, relative: str, limit: int) -> tuple[bytes, str]:
        """Read a file and its version in one request."""

    @abstractmethod
    def _put_if(self, relative: str, data: bytes, tag: str | None) -> bool:
        """Write a small file in one request, if it still has the given version, or if it does not exist and the tag is None.

        Returns
        -------
        bool
            False if the store refused because another command wrote first.

        Raises
        ------
        ConditionsUnknown
            When the store reports that it does not support conditional writes.
        """

    def full(self, relative: str) -> str:
        """Return the path within the store for a path relative to the root."""
        if relative.startswith("/") or ".." in relative.split("/"):
            raise ValueError(f"{relative!r} leaves the root")
        return f"{self.base}/{relative}" if relative else self.base

    def url(self, relative: str) -> str:
        """Return the URL of a file."""
        return str(self.fs.unstrip_protocol(self.full(relative)))

    def _require_answering(self, relative: str) -> None:
        """Raise at once if a recent request to the store hung."""
        if time.monotonic() < self._hung_until:
            raise StorageUnavailable(
                f"the store of {self.address} did not answer a moment ago, so {relative} was not requested"
            )

    def read(self, relative: str, limit: int = MAX_DOCUMENT_BYTES) -> bytes:
        """Return a file's bytes; raises SnapshotCorrupt if it exceeds the limit."""
        self._require_answering(relative)
        with self.translate_errors(relative):
            return self._read_tagged(relative, limit)[0]

    def read_many(self, relatives: Sequence[str]) -> dict[str, bytes | None]:
        """Read many small files concurrently; None for missing files."""
        contents: dict[str, bytes | None] = dict.fromkeys(relatives)
        if not contents:
            return contents
        paths = [self.full(relative) for relative in contents]
        options = {**self.read_options, **self._within(_seconds_for_many(paths))}
        with self.translate_errors(relatives[0]):
            # Of complete files: `cat` would take a name such as "momentum[12-1]" for a pattern.
            answers = self.fs.cat_ranges(paths, None, None, batch_size=CONCURRENT_READS, **options)
            for relative, data in zip(contents, answers, strict=True):
                if isinstance(data, bytes):
                    contents[relative] = data
                elif not isinstance(data, FileNotFoundError) or failures.names_missing_bucket(data):
                    raise data
        return contents

    def read_version(self, relative: str, limit: int = MAX_DOCUMENT_BYTES) -> Version:
        """Read a small file and its entity tag in one request."""
        try:
            with self.translate_errors(relative):
                return Version(*self._read_tagged(relative, limit))
        except FileNotFoundError:
            return Version(None)

    def download(self, relative: str, target: Path, size: int) -> None:
        """Download a file in chunks to a local path, without flushing it; raises FileNotFoundError."""
        self._require_answering(relative)
        with self.translate_errors(relative):
            try:
                self.fs.get_file(
                    self.full(relative), str(target), **self._within(seconds_for(size)), **self.read_options
                )
            except OSError as error:
                if failures.error_code(error) is None:
                    with writing(target):
                        raise
                raise

    def intact_file(self, relative: str, size: int, sha256: str) -> str:
        """Return the path of a file's copy in the cache."""
        return (self.cache or _temporary_cache()).file(self, relative, size, sha256)

    def intact_document(self, relative: str, sha256: str) -> bytes:
        """Return the bytes of a small file, from the cache if possible."""
        return (self.cache or _temporary_cache()).read(self, relative, sha256)

    def signature(self, relative: str = "") -> Signature | None:
        """Return entity tag, size and time of a file; None if it does not exist."""
        with self.translate_errors(relative):
            try:
                entry = self.fs.info(self.full(relative), **self._within(ANSWER_SECONDS))
            except (FileNotFoundError, NotADirectoryError):
                return None
            return _signature(entry) if entry["type"] == "file" else None

    def children(self, relative: str) -> dict[str, Signature | None]:
        """List the entries of a folder; a missing bucket is an unavailable store."""
        with self.translate_errors(relative):
            try:
                entries = self.fs.ls(self.full(relative), detail=True, **self._within(LONG_ANSWER_SECONDS))
            except FileNotFoundError as error:
                if failures.names_missing_bucket(error):
                    raise
                return {}
        return {
            entry["name"].rstrip("/").rsplit("/", 1)[-1]: _signature(entry)
            if entry["type"] == "file"
            else None
            for entry in entries
        }

    def files_below(self, relative: str) -> dict[str, StoredFile]:
        """List every file below a folder: relative path -> entry of the listing."""
        base = self.full(relative)
        with self.translate_errors(relative):
            listed = self.fs.find(base, detail=True, **self._within(LONG_ANSWER_SECONDS))
        files = {}
        for path, entry in sorted(listed.items()):
            below = path.removeprefix(base).lstrip("/")
            modified = entry.get("LastModified") or datetime.now(UTC)
            files[below] = StoredFile(f"{relative}/{below}".lstrip("/"), int(entry["size"]), modified)
        return files

    def find_named(self, name: str) -> dict[str, Signature]:
        """Find the files with a given name at any depth, by one complete listing."""
        listed = self.files_below("")
        return {
            path: (str(entry.modified), entry.size)
            for path, entry in listed.items()
            if path.rsplit("/", 1)[-1] == name
        }

    def put(self, relative: str, content: bytes | Path) -> None:
        """Write bytes in one request, or upload a finished local file and remove it."""
        with self.translate_errors(relative, changing=True):
            if isinstance(content, bytes):
                self.fs.pipe_file(self.full(relative), content, **self._within(seconds_for(len(content))))
            else:
                # Streamed from disk, so that a large table is not in memory twice.
                seconds = seconds_for(content.stat().st_size)
                self.fs.put_file(str(content), self.full(relative), **self._within(seconds))
                content.unlink()

    def put_if(self, relative: str, data: bytes, tag: str | None) -> bool:
        """Write a small file if it still has the given version; in single-writer mode the comparison is local."""
        if self._honours_conditions():
            return self._put_if(relative, data, tag)
        if self.read_version(relative).tag != tag:
            return False
        self.put(relative, data)
        return True

    def require_safe_writers(self) -> None:
        """Test once per process whether the store honours conditional writes."""
        self._honours_conditions()

    def _honours_conditions(self) -> bool:
        """Test whether the store honours conditional writes; raises SettingsError if it does not and there may be several writers.

        A store that ignores ``If-Match`` and ``If-None-Match`` answers 200 to two racing writers, and one write is lost. The
        store's version number does not reveal this, so a temporary object is written three times, and two of the writes must be
        refused. This does not test whether compare and write are atomic; stores that document conditional writes guarantee it.
        """
        if self.identity not in _FAULTS:
            path = f"{STAGING}/probe-{uuid.uuid4().hex}{DRAFT_SUFFIX}"
            try:
                _FAULTS[self.identity] = self._fault_of_conditions(path)
            except ConditionsUnknown:
                _FAULTS[self.identity] = "does not support conditional writes"
            # Builders may lack permission to remove objects; gc then removes it.
            with contextlib.suppress(StorageUnavailable):
                self.remove_files([path])
        fault = _FAULTS[self.identity]
        if fault is not None and not self._single_writer:
            raise SettingsError(
                f"the store of {self.address} {fault}, so one of two concurrent builds would be lost: use a store with "
                f"conditional writes, or run one writing command at a time and give "
                f"{SETTINGS['single_writer'].flag}"
            )
        return fault is None

    def _fault_of_conditions(self, path: str) -> str | None:
        """Return how the store violates the conditions, for messages; None if it honours them."""
        content = path.encode()
        # The client retries a write whose answer was lost, and the retry is refused; the bytes show whose write it was.
        if not self._put_if(path, content, None) and self.read_version(path).data != content:
            return "refuses to create an object that does not exist (If-None-Match)"
        if self._put_if(path, b"second", None):
            return "overwrites an object that a write was to create (If-None-Match)"
        if self._put_if(path, b"third", _NO_TAG):
            return "overwrites another version than the one named (If-Match)"
        return None

    def remove_files(self, relatives: Iterable[str]) -> None:
        """Remove files, as many per request as the store accepts; missing ones are ignored."""
        paths = [self.full(relative) for relative in relatives]
        with self.translate_errors("the files to remove"), contextlib.suppress(FileNotFoundError):
            self.fs.rm(paths, **self._within(_seconds_for_many(paths)))

    def lock(self, name: str, holder: str) -> AbstractContextManager[Renew]:
        """Acquire a lock object that expires; raises StorageUnavailable if it is held."""
        return object_lock(self, name, holder)

    def _within(self, seconds: float) -> dict[str, float]:
        """Return the time-limit argument of a call; in-process file systems have none."""
        return {"timeout": seconds} if self.fs.async_impl else {}

    @contextlib.contextmanager
    def translate_errors(self, relative: str, *, changing: bool = False) -> Iterator[None]:
        """Distinguish an unavailable store from a missing file; with `changing`, "not found" can only mean the bucket."""
        began = time.monotonic()
        try:
            yield
            self._hung_until = float("-inf")
        except FileNotFoundError as error:
            if not (changing or failures.names_missing_bucket(error)):
                raise
            raise StorageUnavailable(
                f"there is no bucket for {self._store}: create it, or correct the address"
            ) from error
        except Exception as error:
            if not failures.is_store_failure(error):
                raise
            if failures.is_refusal(error):
                raise StorageUnavailable(
                    f"the store of {self._store} refused access to {relative or 'its root'}: check the credentials "
                    f"and their permissions"
                ) from error
            if time.monotonic() - began > HUNG_SECONDS:
                self._hung_until = time.monotonic() + PAUSE_SECONDS
            why = failures.reason(error)
            raise StorageUnavailable(
                f"the store of {self._store} did not answer for {relative or 'its root'}{f' ({why})' if why else ''}"
            ) from error


@functools.cache
def _temporary_cache() -> Cache:
    """Return this process's temporary cache, for roots without a configured one."""
    folder = tempfile.mkdtemp(prefix="alpha-results-cache-", dir=temporary_folder())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Cache(folder, DEFAULT_BYTES)


def seconds_for(size: int) -> float:
    """Return the time limit in seconds for an object of `size` bytes."""
    return ANSWER_SECONDS + size / LEAST_BYTES_PER_SECOND


def _seconds_for_many(paths: Sequence[str]) -> float:
    return LONG_ANSWER_SECONDS * (1 + len(paths) / 1000)


def require_within(path: str, size: int, limit: int) -> None:
    """Raise SnapshotCorrupt for an object larger than the limit."""
    if size > limit:
        raise SnapshotCorrupt(
            f"{path} is not read, because it has {size} bytes and at most {limit} are expected; remove it"
        ) from TooLarge(size)


def _signature(entry: Mapping[str, Any]) -> Signature:
    """Return entity tag and size, and the time if the store has no tags."""
    tag = (entry.get("ETag") or "").strip('"')
    return tag, entry.get("size"), "" if tag else str(entry.get("LastModified") or "")

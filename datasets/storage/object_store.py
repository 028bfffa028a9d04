"""What the backends on remote stores share: files by an fsspec client, its errors, many transfers at once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from datasets.layout import STAGING
from datasets.storage import failures
from datasets.storage.answer_time import ANSWER_SECONDS, LONG_ANSWER_SECONDS, seconds_for
from datasets.storage.circuit_breaker import CircuitBreaker
from datasets.storage.disk import writing
from datasets.storage.lock import DistributedLock, acquire_object_lock
from datasets.storage.probe import has_conditional_writes
from datasets.storage.protocol import (
    DRAFT_SUFFIX,
    DraftFolder,
    R,
    Signature,
    Storage,
    StoredFile,
    T,
    Version,
    signatures,
    without_secrets,
)
from schemas.errors import StorageUnavailable

if TYPE_CHECKING:
    from datasets.cache.copies import Cache

CONNECT_SECONDS: Final = 3.0
READ_SECONDS: Final = 8.0
ATTEMPTS: Final = 2
"""Tries of one request to an object store: enough for a dropped connection, few enough to say soon that it is away."""
BATCH: Final = 1000
CONCURRENT_READS: Final = 64
"""Requests in flight at once: small objects are all waiting and no work."""
CONCURRENT_WRITES: Final = 8
"""Uploads in flight at once: enough to hide the waiting, few enough that their buffers stay small."""


class ObjectStorage(Storage):
    """A root on a remote store, reached by an fsspec file system.

    A backend adds how its client is made, and reads and writes that name the version they mean.

    Parameters
    ----------
    address
        As given.
    fs
        The store's client, which caches no listings.
    endpoint
        Where the store is, when the address does not say.
    cache
        For the immutable files of the root.
    single_writer
        Whether the operator answers for it that nobody else writes meanwhile, so that a store without conditional
        writes will do.
    """

    read_options: ClassVar[Mapping[str, Any]] = {}
    """Arguments of every read of a whole file."""

    def __init__(
        self, address: str, fs: Any, endpoint: str | None, *, cache: Cache | None, single_writer: bool
    ) -> None:
        self.address = without_secrets(address)
        self.fs = fs
        self.base = str(fs._strip_protocol(address)).rstrip("/")  # noqa: SLF001 - as fsspec's own functions do
        self.identity = hashlib.sha256(f"{endpoint or ''} {self.address}".encode()).hexdigest()[:16]
        self.cache = cache
        self._single_writer = single_writer
        self.breaker = CircuitBreaker(self.address)

    @abstractmethod
    def _read_tagged(self, relative: str) -> tuple[bytes, str]:
        """Read a small file and the name of the version read, by one request."""

    @abstractmethod
    def put_if(self, relative: str, data: bytes, tag: str | None) -> bool:
        """Write a small file by one request, on the condition that its version is the one named, or that there is none.

        Returns
        -------
        bool
            False when the store refused, as somebody else wrote meanwhile.

        Raises
        ------
        ConditionsUnknown
            When the store answers that it knows no such conditions.
        """

    def url(self, relative: str) -> str:
        """Return a URL."""
        return str(self.fs.unstrip_protocol(self.full(relative)))

    @property
    def missing(self) -> bool:
        """False: a store has no folders."""
        return False

    def read(self, relative: str) -> bytes:
        """Return a file's bytes; FileNotFoundError when it does not exist."""
        with self.translate_errors(relative):
            path, options = self.full(relative), self.read_options
            data: bytes = self.fs.cat_file(path, timeout=LONG_ANSWER_SECONDS, **options)
            return data

    def read_many(self, relatives: Sequence[str]) -> dict[str, bytes | None]:
        """Return the bytes of many small files, many requests at a time; None for those that do not exist."""
        found: dict[str, bytes | None] = dict.fromkeys(relatives)
        for start in range(0, len(relatives), BATCH):
            batch = {self.full(relative): relative for relative in relatives[start : start + BATCH]}
            with self.translate_errors(relatives[start]):
                options = {**self.read_options, "timeout": LONG_ANSWER_SECONDS}
                answers = self.fs.cat(list(batch), on_error="return", batch_size=CONCURRENT_READS, **options)
                # Of a list of one path the answer is that file's alone.
                contents = answers if isinstance(answers, dict) else {next(iter(batch)): answers}
                for path, data in contents.items():
                    if isinstance(data, bytes):
                        found[batch[path]] = data
                    elif not isinstance(data, FileNotFoundError) or failures.names_missing_bucket(data):
                        raise data
        return found

    def read_version(self, relative: str) -> Version:
        """Read a small file together with the name of the version that was read."""
        try:
            with self.translate_errors(relative):
                return Version(*self._read_tagged(relative))
        except FileNotFoundError:
            return Version(None)

    def download(self, relative: str, target: Path, size: int = 0) -> None:
        """Copy a file in pieces to a local path, which is not flushed; FileNotFoundError when it does not exist."""
        with self.translate_errors(relative):
            try:
                self.fs.get_file(
                    self.full(relative), str(target), timeout=seconds_for(size), **self.read_options
                )
            except OSError as error:
                if failures.error_code(error) is None:
                    with writing(target):
                        raise
                raise

    def exists(self, relative: str) -> bool:
        """Whether a file or folder is there."""
        return self._info(relative) is not None

    def signature(self, relative: str = "") -> Signature | None:
        """Return ETag, size and time of a file, None when no such file is there."""
        found = self._info(relative)
        return _signature(found) if found is not None and found["type"] == "file" else None

    def _info(self, relative: str) -> Mapping[str, Any] | None:
        with self.translate_errors(relative):
            self.fs.invalidate_cache()
            try:
                found: Mapping[str, Any] = self.fs.info(self.full(relative), timeout=ANSWER_SECONDS)
            except (FileNotFoundError, NotADirectoryError):
                return None
            return found

    def entries(self, relative: str) -> dict[str, Signature]:
        """List the files directly in a folder; a bucket that does not exist is a store that does not answer."""
        return {
            entry["name"].rsplit("/", 1)[-1]: _signature(entry)
            for entry in self._list(relative)
            if entry["type"] == "file"
        }

    def folders(self, relative: str) -> list[str]:
        """List the names of the folders directly below a folder, ascending; none when it does not exist."""
        return sorted(
            entry["name"].rstrip("/").rsplit("/", 1)[-1]
            for entry in self._list(relative)
            if entry["type"] == "directory"
        )

    def _list(self, relative: str) -> list[Mapping[str, Any]]:
        with self.translate_errors(relative):
            self.fs.invalidate_cache()
            try:
                path = self.full(relative)
                found: list[Mapping[str, Any]] = self.fs.ls(path, detail=True, timeout=LONG_ANSWER_SECONDS)
            except FileNotFoundError as error:
                if failures.names_missing_bucket(error):
                    raise
                return []
            return found

    def files_below(self, relative: str) -> dict[str, StoredFile]:
        """List every file below a folder: path below that folder -> what the listing shows."""
        base = self.full(relative)
        with self.translate_errors(relative):
            self.fs.invalidate_cache()
            listed = self.fs.find(base, detail=True)
        found = {}
        for path, entry in sorted(listed.items()):
            below = path.removeprefix(base).lstrip("/")
            modified = entry.get("LastModified") or datetime.now(UTC)
            found[below] = StoredFile(f"{relative}/{below}".lstrip("/"), int(entry["size"]), modified)
        return found

    def find_named(self, name: str) -> dict[str, Signature]:
        """Find the files of one name at any depth by one listing of everything."""
        listed = signatures(self.files_below(""))
        return {path: signature for path, signature in listed.items() if path.rsplit("/", 1)[-1] == name}

    def write(self, relative: str, data: bytes) -> None:
        """Write a small file by one request."""
        with self.translate_errors(relative, changing=True):
            self.fs.pipe_file(self.full(relative), data)

    def place(self, source: Path, relative: str) -> None:
        """Upload a finished local file and remove it."""
        with self.translate_errors(relative, changing=True):
            # From the disk in pieces: a large table is never a second time in memory.
            self.fs.put_file(str(source), self.full(relative))
        source.unlink()

    def copy(self, source: str, target: str) -> bool:
        """Have the store copy a file to another name: nothing passes through this machine. False when it is gone."""
        with self.translate_errors(target):
            try:
                self.fs.cp_file(self.full(source), self.full(target))
            except FileNotFoundError as error:
                if failures.names_missing_bucket(error):
                    raise
                return False
        return True

    def for_each_file(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Do the work for several items at a time, which hides the waiting."""
        if len(items) < 2:
            return [work(item) for item in items]
        with ThreadPoolExecutor(min(CONCURRENT_WRITES, len(items)), thread_name_prefix="upload") as pool:
            futures = [pool.submit(work, item) for item in items]
            try:
                return [future.result() for future in futures]
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def remove_files(self, relatives: Iterable[str]) -> None:
        """Remove files one batch at a time; those that are gone already are not an error."""
        wanted = list(relatives)
        for start in range(0, len(wanted), BATCH):
            with self.translate_errors(wanted[start]), contextlib.suppress(FileNotFoundError):
                self.fs.rm([self.full(relative) for relative in wanted[start : start + BATCH]])

    def remove_folder(self, relative: str, aside: str) -> None:  # noqa: ARG002 - only a folder can be renamed
        """Remove the files of a folder, which nothing may name any more."""
        self.remove_files(entry.path for entry in self.files_below(relative).values())
        # The store answers a removal of many for all at once, and leaves out what it refused.
        left = self.files_below(relative)
        if left:
            raise StorageUnavailable(
                f"the store of {self.address} kept {len(left)} files of {relative}: check that removing is permitted"
            )

    def compare_and_swap(self, relative: str, data: bytes, seen: Version) -> bool:
        """Write a small file unless somebody wrote it since it was read.

        Raises
        ------
        SettingsError
            When the store does not honour conditional writes, unless there is a single writer.
        """
        if has_conditional_writes(self, single_writer=self._single_writer):
            return self._swap(relative, data, seen.tag)
        if self.read_version(relative).tag != seen.tag:
            return False
        self.write(relative, data)
        return True

    def _swap(self, relative: str, data: bytes, tag: str | None) -> bool:
        return self.put_if(relative, data, tag)

    def require_safe_writers(self) -> None:
        """Try whether the store honours conditional writes, once in a process."""
        has_conditional_writes(self, single_writer=self._single_writer)

    def exclusive(self, name: str) -> AbstractContextManager[None]:  # noqa: ARG002 - no lock has to be named
        """Keep nobody away: :meth:`compare_and_swap` tells who was first."""
        return contextlib.nullcontext()

    def acquire(self, name: str, holder: str) -> AbstractContextManager[DistributedLock]:
        """Acquire a lock that is an object and runs out; StorageUnavailable when somebody else has it."""
        return acquire_object_lock(self, name, holder)

    def sweep_staging(self, before: datetime) -> None:
        """Remove drafts last written before then."""
        staged = self.files_below(STAGING).values()
        self.remove_files(
            entry.path for entry in staged if entry.path.endswith(DRAFT_SUFFIX) and entry.modified < before
        )

    def draft_folder(self) -> DraftFolder:
        """Say that builds write in this machine's folder for temporary files."""
        return DraftFolder(Path(tempfile.gettempdir()), f"alpha-results-build-{os.getuid()}", 0o700)

    @contextlib.contextmanager
    def translate_errors(self, relative: str, *, changing: bool = False) -> Iterator[None]:
        """Tell "the store is away" from "the file is not there"; `changing` expects no file to be there."""
        began = time.monotonic()
        try:
            yield
            self.breaker.record_answer()
        except FileNotFoundError as error:
            if not (changing or failures.names_missing_bucket(error)):
                raise
            raise StorageUnavailable(
                f"{self.address} does not exist in its store: create the bucket, or correct the address"
            ) from error
        except Exception as error:
            if not failures.is_store_failure(error):
                raise
            if failures.is_refusal(error):
                raise StorageUnavailable(
                    f"the store of {self.address} refused access to {relative or 'its root'}: check the credentials "
                    f"and what they permit"
                ) from error
            self.breaker.record_failure(time.monotonic() - began)
            raise StorageUnavailable(
                f"the store of {self.address} did not answer for {relative or 'its root'}"
            ) from error


def _signature(entry: Mapping[str, Any]) -> Signature:
    """Pick what changes with a file's content: the entity tag, and the time only where the store has no tags."""
    tag = (entry.get("ETag") or "").strip('"')
    return tag, entry.get("size"), "" if tag else str(entry.get("LastModified") or "")

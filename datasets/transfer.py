"""Moving several or large files: many reads or writes at once, one large download in pieces, lists and removals."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final, TypeVar

from datasets.disk import reading, writing
from datasets.object_store import error_code, names_missing_bucket
from datasets.storage import Storage
from schemas.errors import StorageUnavailable

BATCH: Final = 1000
CONCURRENT_READS: Final = 64
"""Requests in flight at once: small objects are all waiting and no work."""
CONCURRENT_WRITES: Final = 8
"""Uploads in flight at once: enough to hide the waiting, few enough that their buffers stay small."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Stored:
    """A file as a listing shows it.

    Attributes
    ----------
    path
        Relative to the root.
    size
        Its bytes.
    modified
        When it was last written, by the clock of the disk or the store.
    """

    path: str
    size: int
    modified: datetime


def read_many(storage: Storage, relatives: Sequence[str]) -> dict[str, bytes | None]:
    """Return the bytes of many small files, None for those that do not exist.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    found: dict[str, bytes | None] = dict.fromkeys(relatives)
    if not storage.is_s3:
        for relative in relatives:
            with contextlib.suppress(FileNotFoundError):
                found[relative] = storage.read(relative)
        return found
    for start in range(0, len(relatives), BATCH):
        batch = {storage.full(relative): relative for relative in relatives[start : start + BATCH]}
        with storage.answering(relatives[start]):
            answers = storage.fs.cat(
                list(batch), on_error="return", batch_size=CONCURRENT_READS, **storage.reading
            )
            for path, data in answers.items():
                if isinstance(data, bytes):
                    found[batch[path]] = data
                elif not isinstance(data, FileNotFoundError) or names_missing_bucket(data):
                    raise data
    return found


def for_each_file(storage: Storage, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Do work that writes one file for each item, several at a time where the root is remote.

    On a folder of this machine they go one by one: the disk would only seek between them.

    Parameters
    ----------
    work
        Called from several threads.

    Returns
    -------
    list
        Results in the order of `items`, once all is done.

    Raises
    ------
    Exception
        The first failure, in the order of `items`; nothing more is begun after it, and what was begun has ended.
    """
    if storage.is_local or len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(CONCURRENT_WRITES, len(items)), thread_name_prefix="upload") as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def download(storage: Storage, relative: str, target: Path) -> None:
    """Copy a file of a remote root to a local path in pieces; the local file is not flushed.

    Raises
    ------
    FileNotFoundError
        When it does not exist.
    StorageUnavailable
        When the store does not answer, or the local disk takes no more.
    """
    with storage.answering(relative):
        try:
            storage.fs.get_file(storage.full(relative), str(target), **storage.reading)
        except OSError as error:
            if error_code(error) is None:
                with writing(target):
                    raise
            raise


def folders(storage: Storage, relative: str) -> list[str]:
    """List the names of the folders directly below a folder, ascending; none when it does not exist.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    if storage.is_local:
        base = Path(storage.full(relative))
        with reading(base):
            return sorted(entry.name for entry in base.iterdir() if entry.is_dir()) if base.is_dir() else []
    with storage.answering(relative):
        storage.fs.invalidate_cache()
        try:
            found = storage.fs.ls(storage.full(relative), detail=True)
        except FileNotFoundError as error:
            if names_missing_bucket(error):
                raise
            return []
    return sorted(
        entry["name"].rstrip("/").rsplit("/", 1)[-1] for entry in found if entry["type"] == "directory"
    )


def files_below(storage: Storage, relative: str) -> dict[str, Stored]:
    """List every file below a folder: path below that folder -> what the listing shows.

    Raises
    ------
    StorageUnavailable
        When the store does not answer.
    """
    base = storage.full(relative)
    if storage.is_local:
        with reading(base):
            return {
                below: Stored(
                    f"{relative}/{below}".lstrip("/"),
                    status.st_size,
                    datetime.fromtimestamp(status.st_mtime, UTC),
                )
                for below, status in sorted(_walk(base, ""))
            }
    with storage.answering(relative):
        storage.fs.invalidate_cache()
        listed = storage.fs.find(base, detail=True)
    found = {}
    for path, entry in sorted(listed.items()):
        below = path.removeprefix(base).lstrip("/")
        modified = entry.get("LastModified") or entry.get("created") or datetime.now(UTC)
        found[below] = Stored(f"{relative}/{below}".lstrip("/"), int(entry["size"]), modified)
    return found


def remove_files(storage: Storage, relatives: Iterable[str]) -> None:
    """Remove files one batch at a time; those that are gone already are no error.

    Raises
    ------
    StorageUnavailable
        When the store does not answer, or the disk is read-only.
    """
    wanted = list(relatives)
    if storage.is_local:
        for relative in wanted:
            with writing(storage.full(relative)):
                Path(storage.full(relative)).unlink(missing_ok=True)
        return
    for start in range(0, len(wanted), BATCH):
        with storage.answering(wanted[start]), contextlib.suppress(FileNotFoundError):
            storage.fs.rm([storage.full(relative) for relative in wanted[start : start + BATCH]])


def remove_folder(storage: Storage, relative: str, aside: str) -> None:
    """Remove a folder so that no reader ever sees a part of it.

    On a folder of this machine it is first renamed to `aside`, which vanishes it in one step; on an object store
    its files go one by one, so nothing may name it any more.

    Raises
    ------
    StorageUnavailable
        When the store does not answer, or the disk is read-only.
    """
    if not storage.is_local:
        remove_files(storage, [entry.path for entry in files_below(storage, relative).values()])
        # The store answers a removal of many for all at once, and leaves out what it refused.
        left = files_below(storage, relative)
        if left:
            raise StorageUnavailable(
                f"the store of {storage.address} kept {len(left)} files of {relative}: check that removing is permitted"
            )
        return
    source, target = Path(storage.full(relative)), Path(storage.full(aside))
    with writing(source):
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            source.replace(target)
    shutil.rmtree(target, ignore_errors=True)


def _walk(base: str, below: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files below a folder of this machine; what is removed meanwhile is left out, as if already gone."""
    try:
        entries = list(os.scandir(f"{base}/{below}"))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        path = f"{below}/{entry.name}".lstrip("/")
        try:
            status = entry.stat()
        except FileNotFoundError:
            continue
        if S_ISDIR(status.st_mode) and not entry.is_symlink():
            yield from _walk(base, path)
        elif S_ISREG(status.st_mode):
            yield path, status

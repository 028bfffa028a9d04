"""A mapped file of rendered rows: read only where it is whole and in memory, which is asked once and then believed for a moment."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from serve.pages import rows_file
from serve.pages.rows_file import RowsDamaged, RowsFile
from tests.support.waiting import PATIENCE

STRETCH = 1 << 20
SIZE = 3 * STRETCH + 5
SPAN = (10, 2 * STRETCH - 7)
MOMENT = 0.6
"""Seconds after which nothing is believed any more."""


class Memory:
    """What the system says of a file's pages, and how often it was asked; and a clock."""

    def __init__(self) -> None:
        self.asked = 0
        self.present = True
        self.missing: set[int] = set()
        self.now = 100.0

    def mincore(self, address: int, size: int, found: int) -> int:
        self.asked += 1
        assert address % mmap.PAGESIZE == 0
        ctypes.memset(found, self.present, -(-size // mmap.PAGESIZE))
        for page in self.missing:
            ctypes.memset(found + page, False, 1)
        return 0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    memory = Memory()
    monkeypatch.setattr(rows_file, "_mincore", memory.mincore)
    monkeypatch.setattr(rows_file, "time", memory)
    return memory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.rows"
    path.write_bytes(os.urandom(SIZE))
    return path


def opened(path: Path) -> RowsFile:
    return RowsFile(os.open(path, os.O_RDONLY), SIZE)


def test_what_was_found_in_memory_is_asked_for_again_after_a_moment(memory: Memory, path: Path) -> None:
    file = opened(path)
    for _ in range(3):
        found = file.mapped(SPAN)
        assert found is not None
        assert found.tobytes() == path.read_bytes()
    assert file.mapped((STRETCH, STRETCH + 1)) is not None, "a part of it"
    assert memory.asked == 1
    memory.now += MOMENT
    assert file.mapped(SPAN) is not None
    assert memory.asked == 2


def test_what_was_not_asked_for_is_not_believed(memory: Memory, path: Path) -> None:
    file = opened(path)
    assert file.mapped(SPAN) is not None
    memory.present = False
    assert file.mapped(SPAN) is not None
    assert file.mapped(SPAN, (2 * STRETCH, SIZE)) is None
    assert file.mapped((STRETCH, SIZE)) is None


def test_what_left_memory_is_not_read_after_a_moment(memory: Memory, path: Path) -> None:
    file = opened(path)
    assert file.mapped(SPAN) is not None
    memory.present = False
    memory.now += MOMENT
    assert file.mapped(SPAN) is None
    memory.present = True
    assert file.mapped(SPAN) is not None, "that it was away is not remembered"


def test_pages_that_are_missing_here_and_there_are_read_in_where_that_may_be_waited_for(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, read, page = opened(path), [], mmap.PAGESIZE
    memory.missing = {0, 3, 500, 501}

    def noted(offset: int, size: int, *, wait: bool) -> Any:
        assert wait
        read.append((offset, size))

    monkeypatch.setattr(file, "read", noted)
    assert file.mapped(SPAN) is None
    assert file.mapped(SPAN, read_in=3) is None, "more than the rows are worth"
    assert not read
    found = file.mapped(SPAN, read_in=4)
    assert found is not None
    assert found.tobytes() == path.read_bytes()
    assert read == [(0, 4 * page), (500 * page, 2 * page)]
    assert file.mapped(SPAN) is not None, "they are in memory now"


def test_a_page_that_cannot_be_read_in_is_damage(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> int:
        raise OSError(errno.EIO, "the disk fails")

    file = opened(path)
    memory.missing = {0}
    monkeypatch.setattr(os, "preadv", broken)
    with pytest.raises(RowsDamaged):
        file.mapped(SPAN, read_in=1)
    assert file.damaged


def test_a_file_that_was_shortened_is_not_read_within_the_moment_either(memory: Memory, path: Path) -> None:
    file = opened(path)
    assert file.mapped(SPAN) is not None
    os.truncate(path, SIZE - 1)
    assert file.mapped(SPAN) is None
    assert memory.asked == 1


def test_nothing_is_read_of_a_file_that_was_found_damaged(path: Path) -> None:
    file = opened(path)
    assert file.mapped(SPAN) is not None
    file.damaged = True
    assert file.mapped(SPAN) is None
    with pytest.raises(RowsDamaged):
        file.read(0, 1, wait=True)


def test_threads_that_map_a_file_at_the_same_time_read_all_of_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_file, "_BELIEVED_SECONDS", 0.0)
    together, made = threading.Barrier(2), mmap.mmap

    def at_once(*arguments: Any, **named: Any) -> mmap.mmap:
        mapping = made(*arguments, **named)
        together.wait(PATIENCE)
        return mapping

    monkeypatch.setattr(mmap, "mmap", at_once)
    file = opened(path)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: file.mapped(SPAN), range(2)))
    for one in (*found, file.mapped(SPAN)):
        assert one is not None
        assert one.tobytes() == path.read_bytes()

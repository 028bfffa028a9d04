"""Rendered rows in a folder: one copy for all processes, warm after a restart, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from serve.pages import engine, rendered_table, rows_format, table_cache
from serve.pages.index_builder import IndexBuilder
from serve.pages.page_query import Found, PageQuery
from serve.pages.rows_file import NotResident, RowsDamaged
from serve.pages.rows_folder import RowsFolder, open_folder
from serve.pages.rows_format import FORMAT, RowsWriter
from tests.support import published
from tests.support.application import running
from tests.support.page_parts import Parts
from tests.support.processes import REPOSITORY, environment
from tests.support.waiting import PATIENCE, eventually

LEDGER = "portfolio.ledger"
RUN = f"/v1/alphas/{published.ALPHA}"
ENOUGH = 2**30


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Render a table after its first answer from Parquet."""
    monkeypatch.setattr(table_cache, "_SHARE_WHEN_FREE", 0.0)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "rows"


@pytest.fixture
def make(root: Path, place: Path) -> Iterator[Callable[..., Parts]]:
    """Return a maker of the parts of a process over the one root and folder."""
    made: list[Parts] = []

    def parts(memory: int = ENOUGH, limit: int = ENOUGH) -> Parts:
        made.append(Parts(root, memory, RowsFolder(place, limit, "root")))
        return made[-1]

    yield parts
    for one in made:
        one.close()


def counts(parts: Parts) -> Any:
    folder = parts.rendered.folder
    assert folder is not None
    return folder.counts


def ledger(parts: Parts, **asked: str) -> PageQuery:
    return parts.query(LEDGER, {"limit": "7", **asked}, raw=False)


def files(place: Path, suffix: str = ".rows") -> list[Path]:
    return sorted(place.rglob(f"*{suffix}"))


def without_engine(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every query of Parquet by these parts fail."""

    def fail(*_: object) -> None:
        raise AssertionError("the engine was asked")

    for name in ("frame", "parts", "page"):
        monkeypatch.setattr(parts.reader.engine, name, fail)


def expected(root: Path, query: PageQuery) -> Found:
    parts = Parts(root, 1)
    try:
        return parts.found(query)
    finally:
        parts.close()


def test_two_processes_that_run_side_by_side_read_one_file(make: Callable[..., Parts], place: Path) -> None:
    first, second = make(), make()
    query = ledger(first)
    assert first.until_cached(query) == second.until_cached(query)
    assert (counts(first).misses, counts(second).misses) == (1, 0)
    assert len(files(place)) == 1


def test_a_restart_answers_its_first_request_without_the_engine(
    make: Callable[..., Parts], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = make()
    query = ledger(before)
    answer = before.until_cached(query)
    after = make()
    without_engine(after, monkeypatch)
    assert after.found(query) == answer
    assert after.cached(query) == answer, "and the next one at once"


def test_a_table_larger_than_the_memory_is_served_from_its_file(
    make: Callable[..., Parts], root: Path
) -> None:
    parts = make(memory=14_000)
    query = parts.query("signals.scores", {"limit": "30"}, raw=False)
    answer = parts.until_cached(query)
    assert answer == expected(root, query)
    assert parts.caches["rows"].limit < counts(parts).bytes


def shortened(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1)


def flipped(offset: int) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[offset] ^= 1
        file.write_bytes(content)

    return damage


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def of_another_version(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[8] += 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    "damage", [shortened, emptied, flipped(3), flipped(16), flipped(-3), flipped(-900), of_another_version]
)
def test_a_damaged_file_is_rendered_again(
    make: Callable[..., Parts], place: Path, root: Path, damage: Callable[[Path], None]
) -> None:
    first = make()
    query = ledger(first)
    first.until_cached(query)
    (file,) = files(place)
    damage(file)
    again = make()
    assert again.found(query) == expected(root, query)
    assert again.until_cached(query) == expected(root, query)
    assert counts(again).misses == 1


@pytest.mark.parametrize("coding", ["identity", "gzip", "br"])
def test_a_file_that_is_shortened_while_it_is_open_is_not_answered_from(
    root: Path, place: Path, coding: str
) -> None:
    address = f"{RUN}/portfolio?limit=9&offset="
    with running(root, rows=str(place)) as api:
        token = api.key()
        expected = [api.get(f"{address}{n}", token).json() for n in range(3)]
        eventually(lambda: bool(files(place)) and all(map(has_tables, files(place))))
        for file in files(place):
            os.truncate(file, 100)
        for n in range(3):
            found = api.get(f"{address}{n}", token, headers={"accept-encoding": coding})
            assert found.status_code == 200
            assert found.json() == expected[n]


def has_tables(file: Path) -> bool:
    return file.stat().st_size > 100


def test_rows_that_changed_on_the_disk_are_found_out(
    make: Callable[..., Parts], place: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make()
    query = ledger(first)
    first.until_cached(query)
    (file,) = files(place)
    flipped(100)(file)
    os.utime(file, (time.time(), 0))  # written long ago
    monkeypatch.setattr(table_cache, "_UPKEEP_SECONDS", 0.05)
    parts = make()
    eventually(lambda: parts.found(query) == expected(root, query))
    assert parts.until_cached(query) == expected(root, query)


def test_what_is_not_in_memory_is_not_waited_for_on_the_event_loop(
    make: Callable[..., Parts], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = make()
    query = ledger(parts)
    answer = parts.until_cached(query)
    read = os.preadv

    def absent(descriptor: int, buffers: Any, offset: int, flags: int = 0) -> int:
        if flags & os.RWF_NOWAIT:
            raise BlockingIOError(errno.EAGAIN, "not in memory")
        return read(descriptor, buffers, offset, flags)

    monkeypatch.setattr(os, "preadv", absent)
    found = parts.pages.cached(query, parts.snapshot)
    assert found is not None
    with pytest.raises(NotResident):
        _ = found.rows.pieces
    assert parts.found(query) == answer


KILLED = """
import sys, time
from pathlib import Path
from serve.pages.rows_folder import RowsFolder
folder = RowsFolder(Path(sys.argv[1]), 2**30, "root")
with folder.writer(("Test_x", "0" * 20), "made of", 1) as writer:
    writer.rows(iter(()), 0)
    print("at work", flush=True)
    time.sleep(600)
"""


def test_a_process_killed_while_it_writes_leaves_nothing_to_be_seen(place: Path) -> None:
    owner, made_of = ("Test_x", "0" * 20), "made of"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(place)],
        cwd=REPOSITORY,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    folder = RowsFolder(place, ENOUGH, "root")
    with folder.writer(owner, made_of, 1) as writer:
        assert writer is None, "it is being written"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert folder.open(owner, made_of) is None
    assert files(place, ".part")
    with folder.writer(owner, made_of, 1) as writer:
        assert writer is not None
        write(writer, made_of)
    assert folder.open(owner, made_of) is not None
    assert not files(place, ".part")


def write(writer: RowsWriter, made_of: str) -> None:
    frame = pl.DataFrame({"date": ["2020-01-03"] * 70, "x": [0.1 * n for n in range(70)]})
    writer.rows([frame], frame.height)
    builder = IndexBuilder("date", None)
    builder.add(frame.with_columns(pl.col("date").str.to_date()))
    writer.finish(builder.finish()[0], made_of)


def test_what_a_dead_process_left_goes_with_the_next_start(place: Path) -> None:
    RowsFolder(place, ENOUGH, "root")
    left = place / f"v{FORMAT}" / "root" / "left.part"
    left.write_bytes(b"half")
    other = place / "v0" / "x.rows"
    other.parent.mkdir()
    other.write_bytes(b"of an old release")
    os.utime(other, (0, 0))
    RowsFolder(place, ENOUGH, "root")
    assert not left.exists()
    assert not other.exists()


@pytest.mark.parametrize("failing", ["write", "bound"])
def test_a_disk_that_takes_no_more_leaves_rows_in_memory(
    make: Callable[..., Parts], place: Path, root: Path, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if failing == "write":

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(rows_format.RowsWriter, "finish", full)
    parts = make(limit=10 if failing == "bound" else ENOUGH)
    query = ledger(parts)
    assert parts.found(query) == expected(root, query)
    if failing == "write":
        assert parts.until_cached(query) == expected(root, query)
    assert not files(place)
    assert not files(place, ".part")


def test_a_folder_that_others_may_use_or_nobody_can_is_not_used(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    assert open_folder(shared, ENOUGH, "root") is None
    (tmp_path / "file").write_bytes(b"")
    assert open_folder(tmp_path / "file", ENOUGH, "root") is None
    assert open_folder(tmp_path / "file" / "below", ENOUGH, "root") is None
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert open_folder(tmp_path / "link", ENOUGH, "root") is None


def test_nobody_else_may_read_the_files_and_a_link_is_not_followed(
    make: Callable[..., Parts], place: Path
) -> None:
    parts = make()
    query = ledger(parts)
    parts.until_cached(query)
    (file,) = files(place)
    assert place.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    elsewhere = place.parent / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    other = make()
    other.found(query)
    assert counts(other).hits == 0


def test_what_was_used_longest_ago_makes_room(place: Path) -> None:
    folder = RowsFolder(place, ENOUGH, "root")
    owners = [(f"Test_{n}", "0" * 20) for n in range(4)]
    for owner in owners[:3]:
        with folder.writer(owner, "made of", 1) as writer:
            assert writer is not None
            write(writer, "made of")
    size = files(place)[0].stat().st_size
    for used, owner in ((3, owners[0]), (1, owners[1]), (2, owners[2])):
        (file,) = files(place / f"v{FORMAT}" / "root" / "alphas" / f"alpha_id={owner[0]}")
        os.utime(file, (used, used))
    small = RowsFolder(place, int(3.4 * size), "root")
    with small.writer(owners[3], "made of", size) as writer:
        assert writer is not None
        write(writer, "made of")
    left = {file.parent.parent.name.removeprefix("alpha_id=") for file in files(place)}
    assert left == {"Test_0", "Test_2", "Test_3"}
    assert small.counts.evictions == 1
    assert small.counts.bytes <= small.limit


def test_the_files_of_a_snapshot_go_with_it(tmp_path: Path, place: Path) -> None:
    folder = published.publish_below(tmp_path)
    with running(folder, rows=str(place)) as api:
        token = api.key()
        old = api.json(f"{RUN}/portfolio", token)["meta"]["snapshot"]
        eventually(lambda: any(old in str(file) for file in files(place)))
        published.publish(
            folder, published.full() | {"portfolio": {"long_short": published.ledger("long_short")[:3]}}
        )
        eventually(lambda: api.json(f"{RUN}/portfolio", token)["meta"]["snapshot"] != old)
        eventually(lambda: not any(old in str(file) for file in files(place)))


@pytest.fixture
def replaced(tmp_path: Path) -> Path:
    """Return a root of its own, whose snapshot may be replaced."""
    return published.publish_below(tmp_path)


def replace(root: Path, parts: Parts) -> None:
    rows = published.full() | {"portfolio": {"long_short": published.ledger("long_short")[:3]}}
    published.publish(root, rows)
    parts.follow()


@pytest.mark.parametrize("in_folder", [True, False])
def test_a_table_whose_snapshot_is_replaced_while_it_is_rendered_is_not_kept(
    replaced: Path, place: Path, *, in_folder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Parts(replaced, ENOUGH, RowsFolder(place, ENOUGH, "root") if in_folder else None)
    begun, go_on = threading.Event(), threading.Event()
    name = "read_rows" if in_folder else "read_table"
    read = getattr(engine, name)

    def waits(*arguments: Any) -> Any:
        found = read(*arguments)
        begun.set()
        assert go_on.wait(PATIENCE)
        return found

    monkeypatch.setattr(engine, name, waits)
    try:
        parts.follow()  # the folder was swept lately
        parts.found(ledger(parts))
        assert begun.wait(PATIENCE)
        replace(replaced, parts)
        go_on.set()
    finally:
        parts.close()  # waits for what is rendered
    assert not parts.caches["rows"].owners
    assert not files(place)
    assert not files(place, ".part")


@pytest.mark.parametrize("in_folder", [True, False])
def test_a_table_whose_snapshot_is_replaced_as_it_is_cached_is_not_kept(
    replaced: Path, place: Path, *, in_folder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Parts(replaced, ENOUGH, RowsFolder(place, ENOUGH, "root") if in_folder else None)
    put, cached = parts.caches["rows"].put, threading.Event()

    def replaced_before(*arguments: Any) -> bool:
        replace(replaced, parts)
        cached.set()
        return put(*arguments)

    monkeypatch.setattr(parts.caches["rows"], "put", replaced_before)
    try:
        parts.found(ledger(parts))
        assert cached.wait(PATIENCE)
    finally:
        parts.close()
    assert not parts.caches["rows"].owners
    assert not files(place)


def test_a_table_whose_snapshot_was_replaced_before_its_turn_is_not_rendered(
    replaced: Path, place: Path
) -> None:
    parts = Parts(replaced, ENOUGH, RowsFolder(place, ENOUGH, "root"))
    try:
        replace(replaced, parts)
        parts.found(ledger(parts))
    finally:
        parts.close()
    assert counts(parts).misses == 0
    assert not files(place)


def test_damaged_rows_whose_folder_is_gone_leave_memory(
    make: Callable[..., Parts], place: Path, root: Path
) -> None:
    parts = make()
    query = ledger(parts)
    parts.until_cached(query)
    (table,) = parts.caches["rows"].values()
    table.file.damaged = True
    shutil.rmtree(files(place)[0].parent)
    assert parts.found(query) == expected(root, query)
    assert table not in parts.caches["rows"].values()


def test_nothing_is_answered_at_once_from_rows_that_were_found_damaged(
    make: Callable[..., Parts], place: Path, root: Path
) -> None:
    parts = make()
    query = ledger(parts)
    parts.until_cached(query)
    (file,) = files(place)
    flipped(100)(file)
    (table,) = parts.caches["rows"].values()
    with pytest.raises(RowsDamaged):
        table.verify()
    found = parts.pages.cached(query, parts.snapshot)
    assert found is not None
    with pytest.raises(NotResident):
        _ = found.rows.pieces
    assert parts.found(query) == expected(root, query)


def test_the_bytes_of_rendered_rows_are_those_of_their_format(make: Callable[..., Parts]) -> None:
    """Change FORMAT with this digest: the rows that an older release rendered are then not read."""
    parts = make()
    digest = hashlib.sha256()
    for name, asked in (
        ("signals.scores", {"limit": "50"}),
        (LEDGER, {"limit": "50"}),
        ("portfolio.trades", {"book": "long_short"}),
    ):
        digest.update(b"".join(parts.until_cached(parts.query(name, asked, raw=False)).rows.pieces))
    assert (FORMAT, digest.hexdigest()[:16]) == (1, "dcf988147b08f024")


def test_rows_of_another_release_of_the_engine_are_not_read(
    make: Callable[..., Parts], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = make()
    query = ledger(before)
    before.until_cached(query)
    monkeypatch.setattr(rendered_table, "engine_version", lambda: "99")
    after = make()
    after.until_cached(query)
    assert counts(after).misses == 1


def test_a_snapshot_id_that_is_none_is_not_made_a_path(place: Path) -> None:
    folder = RowsFolder(place, ENOUGH, "root")
    for owner in (("../x", "0" * 20), ("Test_x", "../../y")):
        with pytest.raises(Exception, match="not a valid"):
            folder.open(owner, "made of")


def test_a_file_of_something_else_is_not_read(place: Path) -> None:
    folder = RowsFolder(place, ENOUGH, "root")
    owner = ("Test_x", "0" * 20)
    with folder.writer(owner, "made of", 1) as writer:
        assert writer is not None
        write(writer, "something else")
    assert folder.open(owner, "made of") is None
    assert not files(place)


def test_temporary_files_are_closed_where_the_folder_goes_away_between_two_of_them() -> None:
    made: list[io.BytesIO] = []

    def spool() -> io.BytesIO:
        if made:
            raise FileNotFoundError(errno.ENOENT, "the folder is gone")
        made.append(io.BytesIO())
        return made[0]

    with pytest.raises(FileNotFoundError):
        RowsWriter(io.BytesIO(), spool)
    assert made[0].closed

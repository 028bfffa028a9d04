"""Row tables in a folder: shared by processes, kept across restarts, written atomically."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson
import pyarrow as pa
import pytest

from serve.pages import row_folder, row_table, tables
from serve.pages.query import PageQuery, PageResult
from serve.pages.row_folder import RowFolder, open_folder
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
    """Make a table after its first answer from Parquet."""
    monkeypatch.setattr(tables, "_COST_SHARE_WHEN_FREE", 0.0)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "rows"


@pytest.fixture
def make(root: Path, place: Path) -> Iterator[Callable[..., Parts]]:
    """Return a factory of a process's page parts over one root and folder."""
    made: list[Parts] = []

    def parts(memory: int = ENOUGH, limit: int = ENOUGH) -> Parts:
        made.append(Parts(root, memory, RowFolder(place, limit, "root")))
        return made[-1]

    yield parts
    for one in made:
        one.close()


def counts(parts: Parts) -> Any:
    folder = parts.row_tables.folder
    assert folder is not None
    return folder


def ledger(parts: Parts, **parameters: str) -> PageQuery:
    return parts.query(LEDGER, {"limit": "7", **parameters}, raw=False)


def files(place: Path, suffix: str = ".rows") -> list[Path]:
    return sorted(place.rglob(f"*{suffix}"))


def expected(root: Path, query: PageQuery) -> PageResult:
    parts = Parts(root, 1)
    try:
        return parts.load(query)
    finally:
        parts.close()


def test_two_processes_share_one_file(make: Callable[..., Parts], place: Path) -> None:
    first, second = make(), make()
    query = ledger(first)
    assert first.until_cached(query) == second.until_cached(query)
    assert (counts(first).misses, counts(second).misses) == (1, 0)
    assert len(files(place)) == 1


def test_a_table_larger_than_the_memory_bound_is_served_from_its_file(
    make: Callable[..., Parts], root: Path
) -> None:
    parts = make(memory=13_000)
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


@pytest.mark.parametrize(
    "damage", [shortened, emptied, flipped(3), flipped(16), flipped(-3), flipped(-20), flipped(-900)]
)
def test_a_damaged_file_is_rebuilt(
    make: Callable[..., Parts], place: Path, root: Path, damage: Callable[[Path], None]
) -> None:
    first = make()
    query = ledger(first)
    first.until_cached(query)
    (file,) = files(place)
    damage(file)
    again = make()
    assert again.load(query) == expected(root, query)
    assert again.until_cached(query) == expected(root, query)
    assert counts(again).misses == 1


def test_a_file_truncated_while_open_is_not_served(make: Callable[..., Parts], place: Path) -> None:
    parts = make()
    queries = [ledger(parts, offset=str(number)) for number in range(3)]
    answers = [parts.until_cached(query) for query in queries]
    for file in files(place):
        os.truncate(file, 100)
    assert [parts.load(query) for query in queries] == answers


KILLED = """
import sys, time
from pathlib import Path
from serve.pages.row_folder import RowFolder
def make(spool):
    spool().write(b"half")
    print("at work", flush=True)
    time.sleep(600)
RowFolder(Path(sys.argv[1]), 2**30, "root").write(("Test_x", "0" * 20), "digest", 1, make)
"""
OWNER = ("Test_x", "0" * 20)


def batch(_: Callable[[], BinaryIO]) -> pa.RecordBatch:
    """Make a small table."""
    text = [b'{"x":%d},' % n for n in range(70)]
    days = pa.array(np.full(70, 18_000, np.int32))
    schema = pa.schema({"day": pa.int32(), "json": pa.large_binary()}, metadata={"names": orjson.dumps({})})
    return pa.RecordBatch.from_arrays([days, pa.array(text, pa.large_binary())], schema=schema)


def test_a_process_killed_while_writing_leaves_no_visible_file(place: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(place)],
        cwd=REPOSITORY,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "at work\n"
    folder = RowFolder(place, ENOUGH, "root")
    with pytest.raises(BlockingIOError):
        folder.write(OWNER, "digest", 1, batch)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    left = place / "root" / "left.part"
    left.write_bytes(b"half")
    assert folder.open(OWNER, "digest") is None
    folder.write(OWNER, "digest", 1, batch)
    assert folder.open(OWNER, "digest") is not None
    assert not files(place, ".part")


@pytest.mark.parametrize("failing", ["write", "bound"])
def test_on_a_full_disk_rows_stay_in_memory(
    make: Callable[..., Parts], place: Path, root: Path, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if failing == "write":

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(row_folder, "_write", full)
    parts = make(limit=10 if failing == "bound" else ENOUGH)
    query = ledger(parts)
    assert parts.load(query) == expected(root, query)
    if failing == "write":
        assert parts.until_cached(query) == expected(root, query)
    assert not files(place)
    assert not files(place, ".part")


def test_tables_are_opened_on_a_disk_that_has_turned_read_only(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RowFolder(place, ENOUGH, "root")
    folder.write(OWNER, "digest", 1, batch)

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "utime", refuse)
    assert folder.open(OWNER, "digest") is not None
    assert folder.hits == 1


def test_a_shared_or_unusable_folder_is_not_used(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    assert open_folder(shared, ENOUGH, "root") is None
    (tmp_path / "file").write_bytes(b"")
    assert open_folder(tmp_path / "file", ENOUGH, "root") is None
    assert open_folder(tmp_path / "file" / "below", ENOUGH, "root") is None
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert open_folder(tmp_path / "link", ENOUGH, "root") is None


def test_files_are_private_and_links_not_followed(make: Callable[..., Parts], place: Path) -> None:
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
    other.load(query)
    assert counts(other).hits == 0


def owner(number: int) -> tuple[str, str]:
    return f"Test_{number}", "0" * 20


def left_in(place: Path) -> set[str]:
    return {file.parent.parent.name.removeprefix("alpha_id=") for file in files(place)}


def test_the_least_recently_used_table_is_evicted(place: Path) -> None:
    folder = RowFolder(place, ENOUGH, "root")
    for number in range(3):
        folder.write(owner(number), "digest", 1, batch)
    size = files(place)[0].stat().st_size
    for used, number in ((3, 0), (1, 1), (2, 2)):
        (file,) = files(place / "root" / "alphas" / f"alpha_id=Test_{number}")
        os.utime(file, (used, used))
    small = RowFolder(place, int(3.4 * size), "root")
    small.write(owner(3), "digest", size, batch)
    assert left_in(place) == {"Test_0", "Test_2", "Test_3"}
    assert small.evictions == 1
    assert small.bytes <= small.limit


def large_batch(spool: Callable[[], BinaryIO]) -> pa.RecordBatch:
    return pa.Table.from_batches([batch(spool)] * 12).combine_chunks().to_batches()[0]


def test_one_table_may_not_evict_all_others(place: Path) -> None:
    folder = RowFolder(place, ENOUGH, "root")
    folder.write(owner(0), "digest", 1, batch)
    size = files(place)[0].stat().st_size
    folder = RowFolder(place, 5 * size, "root")
    with pytest.raises(row_table.NotTabled, match="too much"):
        folder.write(owner(1), "digest", 1, large_batch)
    assert left_in(place) == {"Test_0"}
    for number in range(2, 8):
        folder.write(owner(number), "digest", size, batch)
    assert len(left_in(place)) == 5
    assert folder.open(owner(7), "digest") is not None


def test_a_snapshots_files_are_removed_with_it(tmp_path: Path, place: Path) -> None:
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


def test_folders_that_another_process_removes_meanwhile_are_skipped(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RowFolder(place, ENOUGH, "root")
    for number in range(3):
        folder.write(owner(number), "digest", 1, batch)
    asked: list[tuple[str, str]] = []

    def removed_by_another(snapshot: tuple[str, str]) -> bool:
        asked.append(snapshot)
        for alpha in (place / "root" / "alphas").iterdir():
            if alpha.name != f"alpha_id={snapshot[0]}":
                shutil.rmtree(alpha)
        return True

    folder.drop_unserved(removed_by_another)
    ((alpha, _),) = asked
    assert left_in(place) == {alpha}

    scan = os.scandir

    def removed_before(path: Any = ".") -> Any:
        if Path(str(path)).name.startswith("snapshot="):  # not the descriptor of a folder being removed
            shutil.rmtree(path, ignore_errors=True)
        return scan(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", removed_before)
        assert RowFolder(place, ENOUGH, "root").bytes == 0, "a process that starts meanwhile uses the folder"


@pytest.fixture
def replaced(tmp_path: Path) -> Path:
    """Return a separate root whose snapshot may be replaced."""
    return published.publish_below(tmp_path)


def replace(root: Path, parts: Parts) -> None:
    rows = published.full() | {"portfolio": {"long_short": published.ledger("long_short")[:3]}}
    published.publish(root, rows)
    parts.follow()


@pytest.mark.parametrize("in_folder", [True, False])
def test_a_table_whose_snapshot_is_replaced_while_it_is_rendered_is_not_kept(
    replaced: Path, place: Path, *, in_folder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Parts(replaced, ENOUGH, RowFolder(place, ENOUGH, "root") if in_folder else None)
    begun, go_on = threading.Event(), threading.Event()
    read = row_table.make_batch

    def waits(*arguments: Any) -> Any:
        result = read(*arguments)
        begun.set()
        assert go_on.wait(PATIENCE)
        return result

    monkeypatch.setattr(tables, "make_batch", waits)
    try:
        parts.follow()  # the folder was swept lately
        parts.load(ledger(parts))
        assert begun.wait(PATIENCE)
        replace(replaced, parts)
        go_on.set()
    finally:
        parts.close()  # waits for what is rendered
    assert not len(parts.caches["rows"])
    parts.follow()
    assert not files(place)
    assert not files(place, ".part")


@pytest.mark.parametrize("in_folder", [True, False])
def test_a_table_whose_snapshot_is_replaced_as_it_is_cached_is_not_kept(
    replaced: Path, place: Path, *, in_folder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Parts(replaced, ENOUGH, RowFolder(place, ENOUGH, "root") if in_folder else None)
    put, cached = parts.caches["rows"].put, threading.Event()

    def replaced_before(*arguments: Any) -> None:
        replace(replaced, parts)
        cached.set()
        put(*arguments)

    monkeypatch.setattr(parts.caches["rows"], "put", replaced_before)
    try:
        parts.load(ledger(parts))
        assert cached.wait(PATIENCE)
    finally:
        parts.close()
    assert not len(parts.caches["rows"])
    assert not files(place)


def test_a_table_of_a_replaced_snapshot_is_not_rendered(replaced: Path, place: Path) -> None:
    parts = Parts(replaced, ENOUGH, RowFolder(place, ENOUGH, "root"))
    try:
        replace(replaced, parts)
        parts.load(ledger(parts))
    finally:
        parts.close()
    assert counts(parts).misses == 0
    assert not files(place)


def test_a_removed_folder_fails_no_answer(make: Callable[..., Parts], place: Path, root: Path) -> None:
    parts = make()
    query = ledger(parts)
    parts.until_cached(query)
    shutil.rmtree(place)
    assert parts.load(query) == expected(root, query)
    other = ledger(parts, book="long_only")
    assert parts.until_cached(other) == expected(root, other)


def test_rows_of_another_engine_release_are_not_used(
    make: Callable[..., Parts], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = make()
    query = ledger(before)
    before.until_cached(query)
    monkeypatch.setattr(row_table, "engine_version", lambda: "99")
    after = make()
    after.until_cached(query)
    assert counts(after).misses == 1


def test_an_invalid_snapshot_id_never_becomes_a_path(place: Path) -> None:
    folder = RowFolder(place, ENOUGH, "root")
    for owner in (("../x", "0" * 20), ("Test_x", "../../y")):
        with pytest.raises(Exception, match="not a valid"):
            folder.open(owner, "digest")

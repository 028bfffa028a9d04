"""Full, read-only, limited or failing disks: every failed write is named, and served data stay served.

As root the tests mount a small disk and fill it to the last page. Otherwise they limit the size of files, which the operating
system enforces in the same way, though only for larger files.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

import datasets
from datasets.disk import reading, writing
from datasets.layout import ALPHAS, CATALOG, MANIFEST, STAGING, pointer_path
from datasets.provenance.integrity import check_files, check_manifest
from datasets.publication.leases import write_lease
from datasets.publication.pointers import served
from datasets.storage import open_storage
from datasets.storage.cache import Cache
from pipeline.snapshot_builder import build_seal
from schemas.errors import StorageUnavailable
from tests.support.application import running
from tests.support.history import ALPHA, History
from tests.support.pipeline_command import run_pipeline
from tests.support.remote_root import ALPHA as FAR
from tests.support.remote_root import Remote
from tests.support.seals import make_seal
from tests.support.small_disk import SmallDisk, small_disk
from tests.support.waiting import eventually_is

PAGE = 4096


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", 8 << 20) as result:
        yield result


@pytest.fixture
def history(built: History, disk: SmallDisk) -> History:
    """Return three snapshots of one alpha on the small disk."""
    shutil.copytree(built.root, disk.folder / "root")
    return replace(built, root=disk.folder / "root")


@pytest.fixture
def next_seal(tmp_path: Path) -> Path:
    return make_seal(tmp_path / "next", alpha_id=ALPHA, seed=7, sealed_at="2026-02-01T00:00:00Z", weeks=14)


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def served_whole(root: Path, snapshot: str) -> None:
    """Assert that a snapshot is served completely and no partial file is visible."""
    storage = open_storage(root)
    pointer = served(storage, ALPHA)
    assert pointer is not None
    assert pointer.snapshot == snapshot
    manifest, faults = check_manifest(storage, pointer)
    assert manifest is not None
    assert not faults + check_files(storage, manifest, ALPHA, snapshot)
    assert datasets.open(root)[ALPHA].scan("decisions").collect().height
    assert [path.name for path in (root / CATALOG).iterdir()] == [f"{ALPHA}.json"]
    left = [path.name for path in (root / STAGING).iterdir()]
    assert not [name for name in left if name.startswith("build-") or name.endswith(".tmp")]


def test_a_build_on_a_full_disk_fails_with_the_files_name(
    disk: SmallDisk, history: History, next_seal: Path
) -> None:
    disk.leave(2 << 20)
    before = disk.free
    new = build_seal(str(next_seal), history.root).snapshot
    needed = before - disk.free
    # Undo the build: the same build needs the same space again.
    history.run("rollback", ALPHA)
    history.run("gc", "--keep", "3", "--grace", "0s")
    shutil.rmtree(next(history.root.glob(f"{ALPHAS}/*/snapshot={new}")))
    history.change_pointer(earlier={}, rolled_back={})
    named = set()
    room = [
        0,
        PAGE,
        needed // 4,
        needed // 2,
        needed - 16 * PAGE,
        *range(needed - 12 * PAGE, needed + 4 * PAGE, PAGE),
    ]
    for bytes_free in room:
        disk.leave(bytes_free)
        reason = _refused(next_seal, history.root)
        if reason is None:
            break
        assert f"{history.root}/" in reason
        assert "no space is left" in reason
        named.add(Path(reason.split(" cannot be written")[0]).name)
        served_whole(history.root, history.snapshots[2])
    else:
        pytest.fail("there was room enough, yet nothing was published")
    assert {MANIFEST, f"{ALPHA}.json"} <= named
    # The files before the manifest are written concurrently, so any of them may hit the full disk.
    assert named & {"part-0.parquet", "description.json"}
    served_whole(history.root, new)


def _refused(seal: Path, root: Path) -> str | None:
    """Build a seal; return the disk error, None if published."""
    try:
        build_seal(str(seal), root)
    except StorageUnavailable as error:
        return str(error)
    return None


def test_rollback_and_gc_on_a_full_disk_fail_by_name_and_work_once_space_is_freed(
    disk: SmallDisk, history: History
) -> None:
    disk.leave(0)
    for command in (("gc", "--keep", "1", "--grace", "0s"), ("rollback", ALPHA)):
        result = history.run(*command)
        assert result.exit_code == StorageUnavailable.exit_code
        assert f"{history.root / pointer_path(ALPHA)} cannot be written: no space is left" in result.output
        served_whole(history.root, history.snapshots[2])
        assert history.there() == set(history.snapshots)
    disk.make_room()
    assert history.run("rollback", ALPHA).exit_code == 0
    served_whole(history.root, history.snapshots[1])
    assert history.run("gc", "--keep", "1", "--grace", "0s").exit_code == 0
    assert history.there() == {history.snapshots[1]}


def test_gc_removes_leftovers_of_killed_builds(disk: SmallDisk, history: History) -> None:
    dead = history.root / STAGING / "build-dead"
    (dead / "snapshot").mkdir(parents=True)
    (dead / ".lock").touch()
    (dead / "snapshot" / "half").write_bytes(bytes(10 * PAGE))
    disk.leave(0)
    assert history.run("gc", "--keep", "1", "--grace", "0s").exit_code == 0
    assert history.there() == {history.snapshots[2]}
    served_whole(history.root, history.snapshots[2])


def test_a_lease_that_cannot_be_written_is_named(disk: SmallDisk, history: History) -> None:
    disk.leave(0)
    now = datetime.now(UTC)
    with pytest.raises(StorageUnavailable, match=r"leases/node\.json cannot be written"):
        write_lease(open_storage(history.root), "node", now, now)


def test_a_disk_without_room_for_one_more_file_is_named(
    disk: SmallDisk, history: History, next_seal: Path
) -> None:
    inodes = os.statvfs(history.root)
    remounted = ["mount", "-o", f"remount,nr_inodes={inodes.f_files - inodes.f_ffree}", str(disk.folder)]
    subprocess.run(remounted, check=True)
    with pytest.raises(StorageUnavailable, match="cannot be written: no space is left"):
        build_seal(str(next_seal), history.root)
    assert history.run("gc", "--keep", "1", "--grace", "0s").exit_code == StorageUnavailable.exit_code
    served_whole(history.root, history.snapshots[2])


def test_a_disk_turned_read_only_is_reported_and_still_read(
    disk: SmallDisk, history: History, next_seal: Path
) -> None:
    disk.mount("ro")
    with pytest.raises(StorageUnavailable, match="mounted read-only"):
        build_seal(str(next_seal), history.root)
    for command in (("gc",), ("rollback", ALPHA)):
        result = history.run(*command)
        assert result.exit_code == StorageUnavailable.exit_code
        assert "mounted read-only" in result.output
    assert history.run("gc", "--dry-run").exit_code == 0
    assert history.run("verify").exit_code == 0
    assert history.run("show", ALPHA).exit_code == 0


def test_a_removed_disk_is_distinguished_from_an_empty_root(disk: SmallDisk, history: History) -> None:
    catalogue = datasets.open(history.root).catalogue
    subprocess.run(["umount", "--lazy", str(disk.folder)], check=True)
    result = history.run("list")
    assert result.exit_code == 2
    assert "there is no folder" in result.output
    assert catalogue.resolve(ALPHA) is not None
    subprocess.run(["mount", "-t", "tmpfs", "none", str(disk.folder)], check=True)


def test_a_cache_on_a_full_disk_keeps_serving_its_copies(disk: SmallDisk, remote: Remote) -> None:
    cache = Cache(disk.folder / "cache", 100_000_000)
    snapshot = remote.snapshot(cache)
    copied = Path(snapshot.file("decisions"))
    content = copied.read_bytes()
    disk.leave(0)
    for table in ("rebalances", "weekly_signal"):
        with pytest.raises(
            StorageUnavailable, match=r"cache/\.filling/.* cannot be written: no space is left"
        ):
            snapshot.file(table)
    # A document that could be read is used although it cannot be cached.
    assert remote.snapshot(cache).description() is not None
    os.utime(copied, (0, 0))  # last used long ago, so that a new use would be recorded
    assert Path(snapshot.file("decisions")).read_bytes() == content
    assert not list((cache.folder / ".filling").iterdir())
    assert cache.refuses
    restarted = Cache(cache.folder, cache.max_bytes)
    assert Path(remote.snapshot(restarted).file("decisions")).read_bytes() == content
    disk.make_room()
    again = remote.snapshot(Cache(cache.folder, cache.max_bytes))
    assert (
        Path(again.file("rebalances")).read_bytes() == remote.place("rebalances/part-0.parquet").read_bytes()
    )


def test_health_reports_a_cache_on_a_full_disk_until_space_is_freed(disk: SmallDisk, remote: Remote) -> None:
    store = f"sqlite:///{remote.folder.parent}/access.db"
    with running(
        remote.url, store=store, cache=str(disk.folder / "cache"), memory_bytes=1, rows_bytes=0
    ) as api:
        token = api.key()
        base = f"/v1/alphas/{FAR}"

        def status() -> str:
            return str(api.get("/v1/health").json()["status"])

        assert api.get(f"{base}/scores", token).status_code == 200
        assert status() == "ok"
        disk.leave(PAGE)
        assert api.get(f"{base}/positions?book=long_only", token).status_code == 503
        assert status() == "degraded"
        assert api.get(f"{base}/scores", token).status_code == 200
        disk.make_room()
        eventually_is(status, "ok")
        assert api.get(f"{base}/positions?book=long_only", token).status_code == 200


@pytest.mark.parametrize("size", [0, 600, 3000])
def test_a_file_size_limit_is_reported(built: History, tmp_path: Path, next_seal: Path, size: int) -> None:
    history = replace(built, root=tmp_path / "root")
    shutil.copytree(built.root, history.root)
    with largest_file(size):
        with pytest.raises(StorageUnavailable, match=f"{tmp_path}.*cannot be written: .*ulimit"):
            build_seal(str(next_seal), history.root)
        if size < 700:  # a pointer takes some 800 bytes
            for command in (("gc", "--keep", "1", "--grace", "0s"), ("rollback", ALPHA)):
                result = history.run(*command)
                assert result.exit_code == StorageUnavailable.exit_code
                assert f"{ALPHA}.json cannot be written" in result.output
    served_whole(history.root, history.snapshots[2])
    new = build_seal(str(next_seal), history.root).snapshot
    served_whole(history.root, new)
    assert history.run("rollback", ALPHA).exit_code == 0
    served_whole(history.root, history.snapshots[2])


def test_an_unreadable_file_is_named(built: History, tmp_path: Path) -> None:
    history = replace(built, root=tmp_path / "root")
    shutil.copytree(built.root, history.root)
    table = history.place(MANIFEST)
    table.unlink()
    # The first page of a process's memory: reading it fails like faulty hardware, on any Linux.
    table.symlink_to("/proc/self/mem")
    result = history.run("verify")
    assert result.exit_code == StorageUnavailable.exit_code
    assert f"{table} cannot be read: its disk reports a hardware fault" in result.output


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENODEV, "is gone"), (errno.ESTALE, "on the server"), (errno.ENOTCONN, "no longer connected")],
)
def test_a_lost_disk_is_reported_with_the_recovery(number: int, said: str) -> None:
    for guard in (reading, writing):
        with (
            pytest.raises(StorageUnavailable, match=f"^/mnt/a/b cannot be .*{said}.*mount it again"),
            guard("/mnt/a/b"),
        ):
            raise OSError(number, os.strerror(number))
        with pytest.raises(FileNotFoundError), guard("/mnt/a/b"):
            raise FileNotFoundError(errno.ENOENT, "no such file")


@pytest.mark.parametrize("command", ["build", "export"])
def test_a_file_system_that_takes_no_folders_is_reported(history: History, command: str) -> None:
    if command == "build":
        result = run_pipeline("build", "/proc/new", str(history.seals[0]))
    else:
        result = run_pipeline("export", history.root, "--days", "1", "--to", "/proc/new")
    assert result.exit_code == StorageUnavailable.exit_code
    assert "/proc/new" in result.output
    assert "its file system takes no new folders; name another folder" in result.output


def test_a_root_on_two_disks_is_reported(
    disk: SmallDisk, built: History, tmp_path: Path, next_seal: Path
) -> None:
    root = tmp_path / "root"
    shutil.copytree(built.root, root)
    shutil.move(root / ALPHAS, disk.folder / ALPHAS)
    (root / ALPHAS).symlink_to(disk.folder / ALPHAS)
    with pytest.raises(
        StorageUnavailable, match=f"^{root}/{ALPHAS}/.* is on another disk than .staging.* keep"
    ):
        build_seal(str(next_seal), root)
    served_whole(root, built.snapshots[-1])


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_root_without_locks_is_reported_and_unchanged(
    built: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """A network file system whose lock service does not run refuses every lock."""
    history = replace(built, root=tmp_path / "root")
    shutil.copytree(built.root, history.root)

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    said = f"^(error: )?{history.root}/.staging.* cannot be written: its file system does not support locks .flock.*lock service"
    for command in (["rollback", ALPHA], ["withdraw", ALPHA], ["gc"]):
        result = history.run(*command)
        assert (result.exit_code, bool(re.search(said, result.output))) == (5, True), result.output
    with pytest.raises(StorageUnavailable, match=said):
        build_seal(str(history.seals[-1]), history.root, force=True)
    assert history.pointer.snapshot == history.snapshots[-1]
    assert history.there() >= set(history.snapshots)

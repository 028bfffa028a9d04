"""gc removes unneeded snapshots only, and survives kills."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.pointer import Earlier, Pointer
from datasets.publication.leases import VALID_SECONDS, Lease, horizon, write_lease
from datasets.publication.retention import Policy, StoredSnapshot, decide
from datasets.storage import open_storage
from pipeline.snapshot_builder import build_seal
from schemas.errors import PublicationRefused
from tests.support.history import ALPHA, History

NOW = datetime(2026, 6, 1, tzinfo=UTC)
ALL = ("--keep", "1", "--grace", "0s")


def test_only_old_snapshots_beyond_keep_are_removed(history: History) -> None:
    assert history.run("gc").exit_code == 0
    assert history.there() == set(history.snapshots), "all three are within the number kept"
    history.run("gc", "--keep", "1")
    assert history.there() == set(history.snapshots), "and within the grace period"
    history.run("gc", "--keep", "2", "--grace", "0s")
    assert history.there() == set(history.snapshots[1:])
    history.run("gc", *ALL)
    assert history.there() == {history.snapshots[2]}
    assert history.pointer.earlier == {}
    assert history.run("verify").exit_code == 0
    assert history.run("rollback", ALPHA).exit_code == 9


def test_a_dry_run_lists_removals_and_removes_nothing(history: History) -> None:
    result = history.run("gc", *ALL, "--dry-run", "--json")
    assert result.json["removed_snapshots"] == 2
    rows = {row["snapshot"]: row for row in result.json["alphas"][ALPHA]}
    shown = history.run("show", ALPHA, "--json").json["snapshots"]
    assert {row["snapshot"]: row["written"] for row in shown} == {
        name: row["written"] for name, row in rows.items()
    }
    assert rows[history.snapshots[2]]["kept_because"] == "served"
    assert rows[history.snapshots[0]]["removed"]
    assert history.there() == set(history.snapshots)
    done = history.run("gc", *ALL, "--json").json
    assert done["removed_bytes"] == result.json["removed_bytes"] > 0


def test_an_alpha_that_is_named_twice_is_reported_once(history: History) -> None:
    result = history.run("gc", ALPHA, ALPHA, *ALL, "--json").json
    assert result["removed_snapshots"] == 2
    assert [row["removed"] for row in result["alphas"][ALPHA]].count(True) == 2


def test_a_copy_of_a_snapshot_under_another_name_is_left_alone(history: History) -> None:
    original = history.place("", history.snapshots[0])
    copy = original.with_name(f"{original.name}.bak")
    shutil.copytree(original, copy)
    two_hours_ago = time.time() - 7200
    for file in copy.rglob("*"):
        os.utime(file, (two_hours_ago, two_hours_ago))
    result = history.run("gc", *ALL)
    assert result.exit_code == 0, result.output
    assert history.there() == {history.snapshots[2], copy.name.removeprefix("snapshot=")}
    assert history.pointer.removing == ()
    assert history.run("show", ALPHA).exit_code == 0


def test_a_rollback_is_remembered_after_its_snapshot_is_removed(history: History) -> None:
    history.run("rollback", ALPHA)
    history.run("gc", *ALL)
    assert history.there() == {history.snapshots[1]}
    with pytest.raises(PublicationRefused, match="rolled back"):
        build_seal(str(history.seals[2]), history.root)


def test_a_live_readers_lease_is_honoured_and_a_stale_one_is_not(history: History) -> None:
    storage = open_storage(history.root)
    now = datetime.now(UTC)
    # A live reader that has not refreshed its catalogue for an hour.
    write_lease(storage, "node/1", now - timedelta(hours=1), now)
    result = history.run("gc", *ALL)
    assert history.there() == set(history.snapshots)
    assert "a running server or an export may still read them" in result.output
    long_ago = now - timedelta(seconds=VALID_SECONDS + 60)
    write_lease(storage, "node/1", long_ago, long_ago)
    history.run("gc", *ALL)
    assert history.there() == {history.snapshots[2]}


def test_an_unreadable_lease_stops_gc(history: History) -> None:
    (history.root / "leases").mkdir()
    (history.root / "leases" / "x.json").write_text("{")
    result = history.run("gc", *ALL)
    assert result.exit_code == 4
    assert "leases/x.json" in result.output
    assert history.there() == set(history.snapshots)


def test_expired_leases_are_removed(history: History) -> None:
    gone = asdict(Lease("old", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"))
    open_storage(history.root).put("leases/old.json", orjson.dumps(gone))
    history.run("gc")
    assert not (history.root / "leases" / "old.json").exists()


def test_a_draft_that_is_placed_during_gc_does_not_stop_it(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = history.root / ".staging" / "lease.tmp"
    draft.parent.mkdir(exist_ok=True)
    draft.write_bytes(b"{}")
    listed = Path.glob

    def place_after_listing(folder: Path, pattern: str) -> list[Path]:
        paths = list(listed(folder, pattern))
        if draft in paths:
            draft.rename(history.root / "placed")
        return paths

    with monkeypatch.context() as patch:
        patch.setattr(Path, "glob", place_after_listing)
        result = history.run("gc", *ALL)
    assert result.exit_code == 0, result.output
    assert (history.root / "placed").read_bytes() == b"{}"
    assert history.there() == {history.snapshots[2]}


@pytest.mark.parametrize("keep", ["x", "0", "1.5"])
def test_a_number_to_keep_that_is_no_number_is_refused(history: History, keep: str) -> None:
    refused = history.run("gc", "--keep", keep)
    assert refused.exit_code == 2
    assert f"Invalid value for '--keep': '{keep}' is not a whole number of 1 or more" in refused.output


def test_a_broken_pointer_keeps_every_snapshot(history: History) -> None:
    (history.root / "catalog" / f"{ALPHA}.json").write_text("{")
    assert history.run("gc", *ALL).exit_code == 4
    assert history.there() == set(history.snapshots)


def test_a_damaged_pointer_below_a_folder_whose_name_is_not_utf8_is_reported_as_json(
    history: History, tmp_path: Path
) -> None:
    root = history.root.rename(tmp_path / os.fsdecode(b"odd\xff"))
    (tmp_path / "link").symlink_to(root)
    pointer = root / "catalog" / f"{ALPHA}.json"
    pointer.unlink()
    os.mkfifo(pointer)
    result = replace(history, root=tmp_path / "link").run("gc", *ALL, "--json")
    assert result.exit_code == 4
    assert f"{tmp_path}/odd\\udcff/catalog/{ALPHA}.json is not read" in result.json["unreadable"][ALPHA]


def test_a_running_first_build_is_left_alone(history: History) -> None:
    (history.root / "catalog" / f"{ALPHA}.json").unlink()
    assert history.run("gc", *ALL).exit_code == 0
    assert history.there() == set(history.snapshots)


def test_a_concurrent_gc_is_refused(history: History) -> None:
    with open_storage(history.root).lock("gc", "another"):
        result = history.run("gc", *ALL)
    assert result.exit_code == 5
    assert "another gc is at work" in result.output


def test_a_snapshot_under_removal_is_neither_built_nor_rolled_back_to(history: History) -> None:
    history.change_pointer(removing=(history.snapshots[1],))
    result = history.run("rollback", ALPHA, "--to", history.snapshots[1])
    assert result.exit_code == 3
    assert "gc is removing" in result.output
    with pytest.raises(PublicationRefused, match="gc is removing"):
        build_seal(str(history.seals[1]), history.root, force=True)
    history.run("gc")
    assert history.there() == {history.snapshots[0], history.snapshots[2]}, "what was begun is finished"
    assert history.pointer.removing == ()
    build_seal(str(history.seals[1]), history.root, force=True)
    assert history.pointer.snapshot == history.snapshots[1]
    assert history.run("verify").exit_code == 0


@pytest.mark.parametrize("text", ["1", "h", "-1h", "1.5h", "1w", ""])
def test_an_invalid_grace_is_refused(history: History, text: str) -> None:
    result = history.run("gc", "--grace", text)
    assert result.exit_code == 2
    assert "--grace" in result.output


_IDS = [f"{n:020x}" for n in range(8)]
_AGES = st.integers(-5, 40)


@st.composite
def _histories(draw: st.DrawFn) -> tuple[Pointer, tuple[StoredSnapshot, ...]]:
    there = draw(st.lists(st.sampled_from(_IDS), unique=True, min_size=1))
    served = there[0]
    replaced = {
        snapshot: Earlier("", (NOW - timedelta(days=draw(_AGES))).strftime("%Y-%m-%dT%H:%M:%SZ"), "")
        for snapshot in draw(st.lists(st.sampled_from(_IDS), unique=True))
        if snapshot != served
    }
    stored = tuple(StoredSnapshot(snapshot, NOW - timedelta(days=draw(_AGES)), 10, 1) for snapshot in there)
    pointer = Pointer(
        ALPHA, served, "", ALPHA, None, complete=True, missing=(), started_at="", sealed_at="", published_at="",
        earlier=replaced,
    )  # fmt: skip
    return pointer, stored


@given(_histories(), st.integers(1, 5), st.integers(0, 30), st.none() | st.integers(-5, 40))
def test_a_snapshot_in_use_is_never_selected(
    history: tuple[Pointer, tuple[StoredSnapshot, ...]], keep: int, grace: int, lease: int | None
) -> None:
    pointer, stored = history
    policy = Policy(keep, timedelta(days=grace))
    since = None if lease is None else NOW - timedelta(days=lease)
    decisions = decide(pointer, stored, policy, needed_since=since, now=NOW)
    assert tuple(decisions) == stored
    gone = {x.snapshot for x, reason in decisions.items() if reason is None}
    assert pointer.snapshot not in gone
    assert len(stored) - len(gone) >= min(keep, len(stored))
    for one in stored:
        if one.snapshot in gone:
            replaced = pointer.earlier.get(one.snapshot)
            left = datetime.fromisoformat(replaced.replaced_at) if replaced else one.written
            assert NOW - left >= policy.grace
            assert left <= NOW, "what lies in the future after a clock was set back stays"
            assert since is None or left < since
    # Keeping more, or for longer, never removes more.
    more = decide(
        pointer, stored, Policy(keep + 1, policy.grace + timedelta(days=1)), needed_since=since, now=NOW
    )
    assert {x.snapshot for x, reason in more.items() if reason is None} <= gone


def test_expired_leases_protect_nothing() -> None:
    live = Lease("a", "2026-05-31T23:59:00Z", "2026-05-31T23:00:00Z")
    stale = Lease("b", "2026-05-31T20:00:00Z", "2026-05-01T00:00:00Z")
    ahead = Lease("c", "2026-06-02T00:00:00Z", "2026-06-01T23:00:00Z")
    assert horizon([], NOW) is None
    assert horizon([stale], NOW) is None
    assert horizon([live, stale, ahead], NOW) == datetime(2026, 5, 31, 23, tzinfo=UTC)

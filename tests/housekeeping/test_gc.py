"""gc removes what nobody needs, never what somebody may need, and survives being killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import datasets
from datasets.manifest import Pointer, digest
from datasets.publication.leases import VALID_SECONDS, Lease, horizon, write_lease
from datasets.publication.retention import Held, Policy, decide
from datasets.storage import open_storage
from pipeline.build import build_seal
from schemas.errors import PublicationRefused
from tests.housekeeping.conftest import ALPHA, Kept

REPOSITORY = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("ALPHA_RESULTS_TEST_KILLS", "8"))
NOW = datetime(2026, 6, 1, tzinfo=UTC)
ALL = ("--keep", "1", "--grace", "0s")


def test_only_what_is_old_and_beyond_the_number_goes(kept: Kept) -> None:
    assert kept.run("gc").exit_code == 0
    assert kept.there() == set(kept.snapshots), "all three are within the number kept"
    kept.run("gc", "--keep", "1")
    assert kept.there() == set(kept.snapshots), "and within the grace period"
    kept.run("gc", "--keep", "2", "--grace", "0s")
    assert kept.there() == set(kept.snapshots[1:])
    kept.run("gc", *ALL)
    assert kept.there() == {kept.snapshots[2]}
    assert kept.pointer.replaced == {}
    assert kept.run("verify").exit_code == 0
    assert kept.run("rollback", ALPHA).exit_code == 1


def test_a_dry_run_removes_nothing_and_says_what_would_go(kept: Kept) -> None:
    told = kept.run("gc", *ALL, "--dry-run", "--json")
    assert told.json["removed_snapshots"] == 2
    rows = {row["snapshot"]: row for row in told.json["alphas"][ALPHA]}
    assert rows[kept.snapshots[2]]["kept_because"] == "served"
    assert rows[kept.snapshots[0]]["removed"]
    assert kept.there() == set(kept.snapshots)
    done = kept.run("gc", *ALL, "--json").json
    assert done["removed_bytes"] == told.json["removed_bytes"] > 0


def test_a_rolled_back_snapshot_is_still_remembered_when_its_files_are_gone(kept: Kept) -> None:
    kept.run("rollback", ALPHA)
    kept.run("gc", *ALL)
    assert kept.there() == {kept.snapshots[1]}
    with pytest.raises(PublicationRefused, match="rolled back"):
        build_seal(str(kept.seals[2]), kept.root)


def test_a_live_readers_lease_is_honoured_and_a_stale_one_is_not(kept: Kept) -> None:
    storage = open_storage(kept.root)
    now = datetime.now(UTC)
    # A reader that has not looked at the catalogue for an hour, yet is alive.
    write_lease(storage, "node/1", now - timedelta(hours=1), now)
    kept.run("gc", *ALL)
    assert kept.there() == set(kept.snapshots)
    long_ago = now - timedelta(seconds=VALID_SECONDS + 60)
    write_lease(storage, "node/1", long_ago, long_ago)
    kept.run("gc", *ALL)
    assert kept.there() == {kept.snapshots[2]}


def test_a_lease_that_cannot_be_read_stops_gc(kept: Kept) -> None:
    (kept.root / "leases").mkdir()
    (kept.root / "leases" / "x.json").write_text("{")
    told = kept.run("gc", *ALL)
    assert told.exit_code == 4
    assert "leases/x.json" in told.output
    assert kept.there() == set(kept.snapshots)


def test_leases_of_readers_long_gone_are_swept(kept: Kept) -> None:
    gone = asdict(Lease("old", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"))
    open_storage(kept.root).write("leases/old.json", orjson.dumps(gone))
    kept.run("gc")
    assert not (kept.root / "leases" / "old.json").exists()


def test_a_broken_pointer_loses_nothing(kept: Kept) -> None:
    (kept.root / "catalog" / f"{ALPHA}.json").write_text("{")
    assert kept.run("gc", *ALL).exit_code == 4
    assert kept.there() == set(kept.snapshots)


def test_a_first_build_at_work_is_left_alone(kept: Kept) -> None:
    (kept.root / "catalog" / f"{ALPHA}.json").unlink()
    assert kept.run("gc", *ALL).exit_code == 0
    assert kept.there() == set(kept.snapshots)


def test_two_at_once_are_refused(kept: Kept) -> None:
    with open_storage(kept.root).acquire("gc", "another"):
        told = kept.run("gc", *ALL)
    assert told.exit_code == 5
    assert "another gc is at work" in told.output


def test_what_gc_is_removing_is_neither_built_on_nor_rolled_back_to(kept: Kept) -> None:
    kept.change_pointer(removing=(kept.snapshots[1],))
    told = kept.run("rollback", ALPHA, "--to", kept.snapshots[1])
    assert told.exit_code == 3
    assert "gc is removing" in told.output
    with pytest.raises(PublicationRefused, match="gc is removing"):
        build_seal(str(kept.seals[1]), kept.root, force=True)
    kept.run("gc")
    assert kept.there() == {kept.snapshots[0], kept.snapshots[2]}, "what was begun is finished"
    assert kept.pointer.removing == ()
    build_seal(str(kept.seals[1]), kept.root, force=True)
    assert kept.pointer.snapshot == kept.snapshots[1]
    assert kept.run("verify").exit_code == 0


@pytest.mark.parametrize("text", ["1", "h", "-1h", "1.5h", "1w", ""])
def test_a_grace_that_is_no_duration_is_refused(kept: Kept, text: str) -> None:
    told = kept.run("gc", "--grace", text)
    assert told.exit_code == 2
    assert "--grace" in told.output


_GC = """
import sys
from pipeline.__main__ import cli
import pipeline.housekeeping.gc_command
print("ready", flush=True)
cli(["gc", "--keep", "1", "--grace", "0s", "--datasets", sys.argv[1]])
"""


def test_kills_leave_what_is_served_whole(kept: Kept) -> None:
    """Kill gc at random moments; readers see the served snapshot whole, and the next run finishes."""
    generator = random.Random(5)
    whole = {entry.path: entry.sha256 for entry in datasets.open(kept.root)[ALPHA].manifest.files}
    for _ in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", _GC, str(kept.root)], cwd=REPOSITORY, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(generator.uniform(0, 0.08))
        process.kill()
        process.stdout.close()
        process.wait()
        served = datasets.open(kept.root)[ALPHA]
        assert served.id == kept.snapshots[2]
        for path, sha256 in whole.items():
            assert digest(kept.place(path).read_bytes()) == sha256
        for seal in kept.seals[:2]:
            # Something to remove again: the older ones in turn, and then the last.
            _serve(kept, seal)
        _serve(kept, kept.seals[2])
    kept.run("gc", *ALL)
    assert kept.there() == {kept.snapshots[2]}
    assert not list((kept.root / ".staging").glob("removed-*"))
    assert kept.run("verify").exit_code == 0


def _serve(kept: Kept, seal: Path) -> None:
    try:
        build_seal(str(seal), kept.root, force=True)
    except PublicationRefused:
        kept.run("gc")  # the killed one had announced it
        build_seal(str(seal), kept.root, force=True)


_IDS = [f"{n:020x}" for n in range(8)]
_AGES = st.integers(-5, 40)


@st.composite
def _histories(draw: st.DrawFn) -> tuple[Pointer, tuple[Held, ...]]:
    there = draw(st.lists(st.sampled_from(_IDS), unique=True, min_size=1))
    served = there[0]
    replaced = {
        snapshot: (NOW - timedelta(days=draw(_AGES))).strftime("%Y-%m-%dT%H:%M:%SZ")
        for snapshot in draw(st.lists(st.sampled_from(_IDS), unique=True))
        if snapshot != served
    }
    held = tuple(Held(snapshot, NOW - timedelta(days=draw(_AGES)), 10, 1) for snapshot in there)
    pointer = Pointer(
        ALPHA, served, "", ALPHA, None, complete=True, missing=(), started_at="", sealed_at="", published_at="",
        replaced=replaced,
    )  # fmt: skip
    return pointer, held


@given(_histories(), st.integers(1, 5), st.integers(0, 30), st.none() | st.integers(-5, 40))
def test_what_may_be_needed_is_never_chosen(
    history: tuple[Pointer, tuple[Held, ...]], keep: int, grace: int, lease: int | None
) -> None:
    pointer, held = history
    policy = Policy(keep, timedelta(days=grace))
    since = None if lease is None else NOW - timedelta(days=lease)
    fates = decide(pointer, held, policy, needed_since=since, now=NOW)
    assert tuple(fate.held for fate in fates) == held
    gone = {fate.held.snapshot for fate in fates if fate.kept_because is None}
    assert pointer.snapshot not in gone
    assert len(held) - len(gone) >= min(keep, len(held))
    for one in held:
        if one.snapshot in gone:
            left = datetime.fromisoformat(pointer.replaced.get(one.snapshot, one.written.isoformat()))
            assert NOW - left >= policy.grace
            assert left <= NOW, "what lies in the future after a clock was set back stays"
            assert since is None or left < since
    # Keeping more, or for longer, never removes more.
    more = decide(
        pointer, held, Policy(keep + 1, policy.grace + timedelta(days=1)), needed_since=since, now=NOW
    )
    assert {fate.held.snapshot for fate in more if fate.kept_because is None} <= gone


def test_nobody_holds_anything_without_a_live_lease() -> None:
    live = Lease("a", "2026-05-31T23:59:00Z", "2026-05-31T23:00:00Z")
    stale = Lease("b", "2026-05-31T20:00:00Z", "2026-05-01T00:00:00Z")
    ahead = Lease("c", "2026-06-02T00:00:00Z", "2026-06-01T23:00:00Z")
    assert horizon([], NOW) is None
    assert horizon([stale], NOW) is None
    assert horizon([live, stale, ahead], NOW) == datetime(2026, 5, 31, 23, tzinfo=UTC)

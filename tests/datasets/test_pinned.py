"""A pinned snapshot stays the same while it is kept, whatever is published."""

from __future__ import annotations

import pytest

from datasets.layout import MANIFEST
from datasets.publication.decisions import Author, withdraw
from datasets.storage import open_storage
from schemas.errors import AlphaNotPublished, SnapshotCorrupt, SnapshotNotKept
from serve.followed_catalogue import FollowedCatalogue
from tests.support.history import ALPHA, History


def _catalogue(history: History) -> FollowedCatalogue:
    catalogue = FollowedCatalogue(open_storage(history.root), seconds=1)
    catalogue.refresh()
    return catalogue


def test_every_kept_snapshot_opens_with_its_own_tables_and_publication_time(history: History) -> None:
    catalogue = _catalogue(history)
    results = [catalogue.open_pinned(ALPHA, snapshot) for snapshot in history.snapshots]
    assert tuple(one.id for one in results) == history.snapshots
    assert [one.manifest.sealed_at[:10] for one in results] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    moments = [one.published_at for one in results]
    assert moments == sorted(set(moments))
    assert results[2] is catalogue.resolve(ALPHA)
    assert results[0].scan("decisions").collect().height
    assert results[0].description() is not None


def test_a_rollback_keeps_publication_times(history: History) -> None:
    catalogue = _catalogue(history)
    before = {snapshot: catalogue.open_pinned(ALPHA, snapshot).published_at for snapshot in history.snapshots}
    history.run("rollback", ALPHA)
    catalogue = _catalogue(history)
    assert {
        snapshot: catalogue.open_pinned(ALPHA, snapshot).published_at for snapshot in history.snapshots
    } == before
    assert history.pointer.published_at > max(before.values()), "the pointer itself says when it moved"


@pytest.mark.parametrize("snapshot", ["0" * 20, "", "../..", "F" * 20, "x" * 5000])
def test_an_unknown_snapshot_is_refused_with_the_served_one(history: History, snapshot: str) -> None:
    catalogue = _catalogue(history)
    with pytest.raises(SnapshotNotKept, match=history.snapshots[2]) as result:
        catalogue.open_pinned(ALPHA, snapshot)
    assert result.value.current == history.snapshots[2]
    assert len(str(result.value)) < 200
    with pytest.raises(AlphaNotPublished):
        catalogue.open_pinned("Test_none", history.snapshots[0])


def test_snapshots_announced_or_removed_by_gc_are_not_opened(history: History) -> None:
    catalogue = _catalogue(history)
    catalogue.open_pinned(ALPHA, history.snapshots[1])
    history.change_pointer(removing=(history.snapshots[1],))
    catalogue.refresh()
    with pytest.raises(SnapshotNotKept):
        catalogue.open_pinned(ALPHA, history.snapshots[1])
    history.run("gc", "--keep", "1", "--grace", "0s")
    with pytest.raises(SnapshotNotKept):  # before the next refresh of the catalogue
        catalogue.open_pinned(ALPHA, history.snapshots[0])
    catalogue.refresh()
    with pytest.raises(SnapshotNotKept):
        catalogue.open_pinned(ALPHA, history.snapshots[0])


def test_no_snapshot_of_a_withdrawn_alpha_is_opened(history: History) -> None:
    catalogue = _catalogue(history)
    catalogue.open_pinned(ALPHA, history.snapshots[1])
    withdraw(open_storage(history.root), ALPHA, Author("somebody"))
    catalogue.refresh()
    for snapshot in history.snapshots:
        with pytest.raises(AlphaNotPublished):
            catalogue.open_pinned(ALPHA, snapshot)


def test_a_changed_earlier_manifest_is_refused(history: History) -> None:
    place = history.place(MANIFEST, history.snapshots[0])
    place.write_bytes(place.read_bytes().replace(b'"missing": []', b'"missing": [ ]'))
    with pytest.raises(SnapshotCorrupt, match="SHA-256"):
        _catalogue(history).open_pinned(ALPHA, history.snapshots[0])

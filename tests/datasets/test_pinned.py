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


def test_a_rollback_keeps_publication_times(history: History) -> None:
    catalogue = _catalogue(history)
    before = {snapshot: catalogue.open_pinned(ALPHA, snapshot).published_at for snapshot in history.snapshots}
    history.run("rollback", ALPHA)
    catalogue = _catalogue(history)
    assert {
        snapshot: catalogue.open_pinned(ALPHA, snapshot).published_at for snapshot in history.snapshots
    } == before
    assert history.pointer.published_at > max(before.values()), "the pointer itself says when it moved"


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

"""What health and answers report of damaged files: which alpha, from when, and until when."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasets.snapshot import Snapshot
from datasets.storage import open_storage
from datasets.storage.file_digests import FileDigests
from pipeline.snapshot_builder import build_seal
from schemas.errors import SnapshotCorrupt
from serve.followed_catalogue import FollowedCatalogue
from serve.observability.damage import Damage
from tests.damage.damaged import ALPHA, BESIDE, RUN, flip, health, snapshot_folder
from tests.support import published
from tests.support.application import running
from tests.support.seals import make_seal
from tests.support.waiting import eventually


def test_damage_recorded_during_a_check_is_not_cleared_by_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = open_storage(str(root))
    catalog = FollowedCatalogue(storage, 3600.0, lambda: None, 3600.0)
    catalog.start()
    try:
        damage = Damage(storage, catalog)
        snapshot = catalog.resolve(ALPHA)
        assert snapshot is not None
        damage.note(snapshot.pointer, SnapshotCorrupt("by an earlier request"))
        compare = Snapshot.file

        def meanwhile(checked: Snapshot, dataset: str, book: str | None = None) -> str:
            damage.note(checked.pointer, SnapshotCorrupt("by a request during the check"))
            return compare(checked, dataset, book)

        with monkeypatch.context() as patched:
            patched.setattr(Snapshot, "file", meanwhile)
            damage.recheck()
        assert [x.reason for x in damage.alphas.values()] == ["by a request during the check"]
        damage.recheck()
        assert not damage.alphas
    finally:
        catalog.stop()


@pytest.mark.parametrize("damage", ["gone", "changed", "cut", "other"])
def test_health_counts_a_damaged_alpha_from_its_first_read_until_it_is_repaired(
    root: Path, damage: str
) -> None:
    published.publish(root, {"rebalances": published.rebalances()}, alpha_id="Test_other")
    folder = snapshot_folder(root)
    manifest = folder / "manifest.json"
    content = manifest.read_bytes()
    table = folder / "decisions" / "part-0.parquet"
    rows = table.read_bytes()
    if damage == "gone":
        manifest.unlink()
    elif damage == "changed":
        flip(manifest, 99, 1)
    elif damage == "cut":
        table.write_bytes(rows[:-1])
    else:
        table.unlink()
    with running(root) as api:
        answer = api.get(f"{RUN}/scores", api.key())
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "upstream_unavailable")
        assert int(answer.headers["retry-after"]) >= 1
        assert str(root) not in answer.text
        assert health(api) == ("degraded", 1)
        manifest.write_bytes(content)
        table.write_bytes(rows)
        eventually(lambda: health(api) == ("ok", 0))


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/correlations?alphas={BESIDE},{ALPHA}",
        f"/v1/correlations?alphas={BESIDE},{ALPHA}&by=scores",
        f"/v1/alphas/{BESIDE}/contribution?alphas={ALPHA}",
    ],
)
def test_health_counts_the_alpha_whose_file_is_damaged_and_none_that_was_compared_with_it(
    root: Path, path: str
) -> None:
    for table in ("decisions", "portfolio/book=long_short"):
        flip(snapshot_folder(root) / table / "part-0.parquet", 40, 3)
    with running(root, memory_bytes=1, rows_bytes=0) as api:
        token = api.key()
        for target in (path, f"{RUN}/scores"):
            assert api.get(target, token).status_code == 503
            assert health(api) == ("degraded", 1)


@pytest.mark.parametrize("query", ["", f"?among={ALPHA}", f"?among={ALPHA}&by=scores"])
def test_health_counts_a_damaged_alpha_that_neighbours_leave_out(root: Path, query: str) -> None:
    for table in ("decisions", "portfolio/book=long_short"):
        flip(snapshot_folder(root) / table / "part-0.parquet", 40, 3)
    with running(root, memory_bytes=1, rows_bytes=0) as api:
        answer = api.json(f"/v1/alphas/{BESIDE}/neighbours{query}", api.key())
        assert answer["meta"]["excluded"]["unreadable"] == 1
        assert health(api) == ("degraded", 1)


def test_damage_of_an_earlier_snapshot_does_not_count_for_the_served_one(root: Path, tmp_path: Path) -> None:
    earlier = snapshot_folder(root)
    seal = make_seal(tmp_path / "later", weeks=24, names=24, seed=3, sealed_at="2026-02-05T07:30:00Z")
    build_seal(str(seal), root)
    flip(earlier / "decisions" / "part-0.parquet", 40, 3)
    with running(root) as api:
        assert api.get(f"{RUN}/snapshots/compare", api.key()).status_code == 503
        assert health(api) == ("ok", 0)


@pytest.mark.parametrize(("which", "state"), [("earlier", ("ok", 0)), ("served", ("degraded", 1))])
def test_a_comparison_counts_an_undecodable_file_for_its_own_snapshot(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str, state: tuple[str, int]
) -> None:
    earlier = snapshot_folder(root)
    seal = make_seal(tmp_path / "later", weeks=24, names=24, seed=3, sealed_at="2026-02-05T07:30:00Z")
    build_seal(str(seal), root)
    (later,) = set(earlier.parent.glob("snapshot=*")) - {earlier}
    path = (earlier if which == "earlier" else later) / "decisions" / "part-0.parquet"
    path.write_bytes(b"PAR1" + path.read_bytes()[4:40])
    monkeypatch.setattr(FileDigests, "intact", lambda *_: True)
    with running(root) as api:
        assert api.get(f"{RUN}/snapshots/compare", api.key()).status_code == 503
        assert health(api) == state


def test_health_counts_a_pointer_that_cannot_be_read_and_the_alpha_is_503(root: Path) -> None:
    published.publish(root, {"rebalances": published.rebalances()}, alpha_id="Test_other")
    pointer = root / "catalog" / f"{ALPHA}.json"
    content = pointer.read_bytes()
    pointer.write_bytes(content[:-20])
    with running(root) as api:
        token = api.key()
        assert health(api) == ("degraded", 1)
        assert api.get(f"{RUN}/scores", token).status_code == 503, "it may well be there"
        compared = f"/v1/alphas/{BESIDE}/contribution?alphas={ALPHA}"
        assert api.get(compared, token).status_code == 503
        assert health(api) == ("degraded", 1), "the one that it was compared with is intact"
        assert api.get("/v1/alphas/Test_absent/scores", token).status_code == 404
        assert api.get("/v1/alphas/Test_other/rebalances", token).status_code == 200
        pointer.write_bytes(content)
        eventually(lambda: health(api) == ("ok", 0))


def test_another_snapshot_ends_the_damage(tmp_path: Path) -> None:
    published.publish(tmp_path, published.full())
    table = next(tmp_path.glob("alphas/*/*/decisions/part-0.parquet"))
    flip(table, 400, 2)
    with running(tmp_path) as api:
        token = api.key()
        target = "/v1/alphas/Test_hand/scores"
        assert api.get(target, token).status_code == 503
        assert health(api) == ("degraded", 1)
        again = {**published.full(), "decisions": published.decisions(drift=1)}
        published.publish(tmp_path, again, mark="again", sealed_at="2026-02-05T07:30:00Z")
        eventually(lambda: health(api) == ("ok", 0))
        assert api.get(target, token).status_code == 200

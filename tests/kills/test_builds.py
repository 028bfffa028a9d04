"""A build killed at any moment leaves the served snapshot and no partial file visible."""

from __future__ import annotations

import random
import signal
from pathlib import Path
from time import monotonic, sleep

import pytest

import datasets
from datasets.layout import ALPHAS
from datasets.manifest import digest
from pipeline.snapshot_builder import build_seal
from tests.kills.campaign import Worker
from tests.support.kill_schedule import KillSchedule
from tests.support.seals import make_seal

KILLS = 15


@pytest.fixture(scope="module")
def seals(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return two seals of one alpha, the second sealed later."""
    folder = tmp_path_factory.mktemp("seals")
    first, second = (
        make_seal(
            folder / str(seed),
            alpha_id="Test_killed",
            seed=seed,
            weeks=14,
            sealed_at=f"2026-01-0{seed}T00:00:00Z",
        )
        for seed in (1, 2)
    )
    return first, second


def _visible(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): digest(path.read_bytes())
        for path in (root / ALPHAS).rglob("*")
        if path.is_file()
    }


def test_kills_leave_complete_snapshots(seals: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = seals
    worker = Worker(tmp_path / "complaints")  # the interpreter starts meanwhile
    reference = tmp_path / "reference"
    build_seal(str(first), reference)
    worker.begin({"kind": "build", "root": str(reference), "seal": str(second)})
    began = monotonic()
    assert worker.end() == ["done"]
    seconds = monotonic() - began
    full = _visible(reference)
    new = datasets.open(reference)["Test_killed"].id

    root = tmp_path / "root"
    build_seal(str(first), root)
    old = datasets.open(root)["Test_killed"].id
    before = _visible(root)
    schedule = KillSchedule(random.Random(20260101), 1.1 * seconds)
    interrupted = 0
    try:
        for _ in range(10 * KILLS):
            worker.begin({"kind": "build", "root": str(root), "seal": str(second)})
            sleep(schedule.next())
            worker.end(signal.SIGKILL)
            served = datasets.open(root)["Test_killed"]
            assert served.id in {old, new}
            # A file with its final name has exactly the bytes of an undisturbed build.
            for path, sha256 in _visible(root).items():
                assert sha256 in {full[path], before.get(path)}, f"{path} is half-written"
            for entry in served.manifest.files:
                assert (root / served.file(entry.dataset, entry.book)).stat().st_size == entry.bytes
            assert served.scan("decisions").collect().height > 0
            schedule.adapt(in_time=served.id == old)
            if served.id == old:
                interrupted += 1
                if interrupted == KILLS:
                    break
            else:
                _serve_again(root, first)
    finally:
        worker.stop()
    assert interrupted == KILLS, "the others came too late to mean anything"
    build_seal(str(second), root)
    assert datasets.open(root)["Test_killed"].id == new
    assert _visible(root) == full


def _serve_again(root: Path, first: Path) -> None:
    """Serve the first seal again for the next kill."""
    build_seal(str(first), root, force=True)

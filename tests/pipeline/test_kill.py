"""A build killed at any moment leaves what was published served, and no half-written file visible."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import datasets
from datasets.layout import ALPHAS
from datasets.manifest import digest
from pipeline.build import build_seal
from tests.moments import Moments
from tests.seals import make_seal

REPOSITORY = Path(__file__).resolve().parents[2]
KILLS = 30

# Says when the imports are done, so that the kill falls into the build and not into the interpreter's start.
_BUILD = """
import sys
from pipeline.build import build_seal
import pipeline.maths.weekly_signal
print("ready", flush=True)
build_seal(sys.argv[1], sys.argv[2])
"""


@pytest.fixture(scope="module")
def seals(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return two seals of one alpha, the second sealed later."""
    folder = tmp_path_factory.mktemp("seals")
    first = make_seal(folder / "first", alpha_id="Test_killed", seed=1, sealed_at="2026-01-01T00:00:00Z")
    second = make_seal(folder / "second", alpha_id="Test_killed", seed=2, sealed_at="2026-01-02T00:00:00Z")
    return first, second


def _build_seconds(seal: Path, root: Path) -> float:
    result = build_seal(str(seal), root)
    return sum(result.seconds.values())


def _visible(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): digest(path.read_bytes())
        for path in (root / ALPHAS).rglob("*")
        if path.is_file()
    }


def test_thirty_kills_leave_whole_snapshots(seals: tuple[Path, Path], tmp_path: Path) -> None:
    first, second = seals
    reference = tmp_path / "reference"
    build_seal(str(first), reference)
    seconds = _build_seconds(second, reference)
    whole = _visible(reference)
    new = datasets.open(reference)["Test_killed"].id

    root = tmp_path / "root"
    build_seal(str(first), root)
    old = datasets.open(root)["Test_killed"].id
    moments = Moments(random.Random(20260101), 1.2 * seconds)
    interrupted = 0
    for _ in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", _BUILD, str(second), str(root)], cwd=REPOSITORY, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(moments.next())
        process.kill()
        process.stdout.close()
        process.wait()
        served = datasets.open(root)["Test_killed"]
        assert served.id in {old, new}
        # Whatever has its final name is whole: exactly the bytes of an undisturbed build.
        for path, sha256 in _visible(root).items():
            assert whole[path] == sha256, f"{path} is half-written"
        for entry in served.manifest.files:
            assert (root / served.file(entry.dataset, entry.book)).stat().st_size == entry.bytes
        assert served.scan("decisions").collect().height > 0
        moments.tell(in_time=served.id == old)
        if served.id == old:
            interrupted += 1
        else:
            _serve_again(root, first)
    assert interrupted >= KILLS // 3, "the kills came too late to mean anything"
    build_seal(str(second), root)
    assert datasets.open(root)["Test_killed"].id == new
    assert _visible(root) == whole


def _serve_again(root: Path, first: Path) -> None:
    """Serve the first seal again, as an operator would, so that the next kill has something to disturb."""
    build_seal(str(first), root, force=True)

"""A root of two alphas, and a copy of it to damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.snapshot_builder import build_seal
from tests.damage.damaged import BESIDE
from tests.support.seals import make_seal


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damage")
    build_seal(str(make_seal(folder / "seals", weeks=24, names=24)), folder / "root")
    build_seal(str(make_seal(folder / "seals", alpha_id=BESIDE, weeks=24, names=24, seed=2)), folder / "root")
    return folder / "root"


@pytest.fixture
def root(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "root")
    return tmp_path / "root"

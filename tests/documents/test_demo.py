"""Beside the demo, in a folder that is not the checkout: what no page prints and readers do all the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.documents.conftest import shell


@pytest.mark.parametrize("names", [["sim_lowvol"], ["sim_lowvol", "Test_sim_momentum"]])
def test_relative_seals_are_built_from_any_folder(
    readers_environment: dict[str, str], tmp_path: Path, names: list[str]
) -> None:
    relative = " ".join(
        os.path.relpath(Path(readers_environment["SEALS"]) / name, tmp_path) for name in names
    )
    shell(f"python -m pipeline build {relative} --datasets beside", tmp_path, readers_environment)
    assert (tmp_path / "beside").is_dir()

"""The demo, used from a folder that is not the checkout in ways that no page prints."""

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
    shell(f"alpha-results build {relative} --datasets beside", tmp_path, readers_environment)
    assert (tmp_path / "beside").is_dir()


def test_the_first_printed_line_is_the_explorers_address(
    readers_environment: dict[str, str], elsewhere: Path
) -> None:
    first, second, *_ = (elsewhere / "demo.log").read_text().strip().split("\n")
    assert first == f"{readers_environment['BASE']}/explorer#key={readers_environment['KEY']}"
    assert second == ""


def test_the_environment_file_provides_commands_and_packages(
    readers_environment: dict[str, str], tmp_path: Path
) -> None:
    """In a shell without either."""
    shell(
        "alpha-results --version\n"
        "python -c 'import alpha_results_client, alpha_results_datasets, alpha_results_seal'",
        tmp_path,
        readers_environment,
    )

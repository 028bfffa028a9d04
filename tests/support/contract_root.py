"""The published root of the contract suite, built once for each process of the tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import contract_app

ContractRoot = Callable[[Path], Path]


@pytest.fixture(scope="session")
def contract_root(tmp_path_factory: pytest.TempPathFactory) -> ContractRoot:
    """Return a function that copies the seals and the root into a folder, and returns the root."""
    built = tmp_path_factory.mktemp("contract-root")
    contract_app.publish(built)

    def copy(folder: Path) -> Path:
        return Path(shutil.copytree(built, folder, dirs_exist_ok=True)) / "published"

    return copy

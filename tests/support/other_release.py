"""A copy of the product with one changed line."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.processes import REPOSITORY


def other_release(folder: Path, changed: str = "pipeline/snapshot_builder/snapshot.py") -> Path:
    """Copy the code that checks and builds, and add a line to a module of it."""
    for name in ("schemas", "datasets", "pipeline"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    module = folder / changed
    module.write_text(module.read_text("utf-8") + "# another release\n", "utf-8")
    return folder

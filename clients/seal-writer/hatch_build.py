"""Puts the rules of the format into the package: the project's own, with what they import, under the package's name.

One definition of the rules serves the pipeline and the checker. Imports are renamed by what makes `alpha_results_datasets`.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE: Final = "alpha_results_seal"
NAMES: Final = {name: f"{PACKAGE}.{name}" for name in ("pipeline", "datasets", "schemas")}
CHECKER: Final = (
    "pipeline/rules/checking.py",
    "pipeline/seal/seal.py",
    "pipeline/seal/manifest.py",
    "pipeline/seal/signature.py",
    "datasets/storage/backends/file.py",  # found by its folder, and so imported nowhere
)
"""What the checker begins with."""


class WithRules(BuildHookInterface[Any]):
    """Puts the package into a wheel or a source distribution."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the package; an editable one takes the rules of the checkout."""
        if version == "editable":
            return
        here = Path(self.root)
        source = here / "made" / PACKAGE  # in a source distribution it is made already
        if not source.is_dir():
            source = here / "build" / PACKAGE
            shutil.rmtree(source, ignore_errors=True)
            write_package(here.parents[1], source)
        prefix = "made/" if self.target_name == "sdist" else ""
        build_data["force_include"][str(source)] = f"{prefix}{PACKAGE}"


def write_package(repository: Path, target: Path) -> None:
    """Write the package's files, and the rules beside them, into a folder."""
    made = _vendoring(repository)
    own = repository / "clients" / "seal-writer" / "src" / PACKAGE
    places = {path: path.relative_to(own) for path in own.rglob("*") if "__pycache__" not in path.parts}
    needed = made.closure(repository, [repository / path for path in CHECKER], NAMES)
    places |= {path: path.relative_to(repository) for path in needed}
    for path, place in places.items():
        if path.is_dir():
            continue
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".py":
            (target / place).write_text(made.renamed(path.read_text("utf-8"), repository, NAMES), "utf-8")
        else:
            shutil.copyfile(path, target / place)


def _vendoring(repository: Path) -> Any:
    place = repository / "clients" / "datasets" / "hatch_build.py"
    found = importlib.util.spec_from_file_location("alpha_results_vendoring", place)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module

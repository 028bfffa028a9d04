"""Puts the rules of the format into the package: the project's own, with what they import, under the package's name.

One definition of the rules serves the pipeline and the checker. Imports are renamed by what makes `alpha_results_datasets`.
"""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE: Final = "alpha_results_seal"
NAMES: Final = {name: f"{PACKAGE}.{name}" for name in ("pipeline", "datasets", "schemas")}
CHECKER: Final = (
    "pipeline/rules/checking.py",
    "pipeline/seal/seal.py",
    "pipeline/seal/manifest.py",
    "pipeline/seal/signature.py",
    "datasets/storage/backends/file.py",  # loaded by its folder, so no module imports it
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
    vendoring = _vendoring(repository)
    own = repository / "clients" / "seal-writer" / "src" / PACKAGE
    places = {path: path.relative_to(own) for path in vendoring.files(own)}
    rules = vendoring.closure(repository, [repository / path for path in CHECKER], NAMES)
    places |= {path: path.relative_to(repository) for path in rules}
    vendoring.write_files(repository, target, places, NAMES)


def _vendoring(repository: Path) -> SimpleNamespace:
    """Return the functions of the hook of `alpha-results-datasets`: a hook is a script, which is in no package."""
    return SimpleNamespace(**runpy.run_path(str(repository / "clients" / "datasets" / "hatch_build.py")))

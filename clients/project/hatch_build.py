"""Puts the project's four packages and its reference engine into the wheel as one, `alpha_results`, which hides no package of anybody else.

The seal writer is in the wheel as well, under the name that it has by itself.

The imports are renamed where they stand, by what makes `alpha_results_datasets`. An editable installation has the checkout as it is.
"""

from __future__ import annotations

import runpy
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE: Final = "alpha_results"
PACKAGES: Final = ("schemas", "datasets", "pipeline", "serve")
ENGINE: Final = "examples/reference_engine"
"""The engine behind `simulate` and `serve demo`; the other examples are scripts for a checkout."""
WRITER: Final = "alpha_results_seal"
WRITER_SOURCE: Final = f"clients/seal-writer/src/{WRITER}"
NAMES: Final = {name: f"{PACKAGE}.{name}" for name in (*PACKAGES, "examples")}


class OnePackage(BuildHookInterface[Any]):
    """Writes the package into a temporary folder, from which the wheel takes it."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the package; an editable installation needs none."""
        if version == "editable":
            return
        self.folder = tempfile.mkdtemp()
        write_packages(Path(self.root), Path(self.folder))
        for name in (PACKAGE, WRITER):
            build_data["force_include"][f"{self.folder}/{name}"] = name

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - the interface's
        """Remove the folder."""
        if version != "editable":
            shutil.rmtree(self.folder)


def write_packages(repository: Path, target: Path) -> None:
    """Write the files of both packages into a folder."""
    vendoring = _vendoring(repository)
    own = repository / "clients" / "project" / PACKAGE
    writer = repository / WRITER_SOURCE
    places = {path: PACKAGE / path.relative_to(own) for path in vendoring.files(own)}
    places |= {path: WRITER / path.relative_to(writer) for path in vendoring.files(writer)}
    places |= {
        path: PACKAGE / path.relative_to(repository)
        for name in (*PACKAGES, ENGINE)
        for path in vendoring.files(repository / name)
    }
    places[repository / "examples/__init__.py"] = Path(PACKAGE, "examples/__init__.py")
    vendoring.write_files(repository, target, places, NAMES)


def _vendoring(repository: Path) -> SimpleNamespace:
    """Return the functions of the hook of `alpha-results-datasets`: a hook is a script, which is in no package."""
    return SimpleNamespace(**runpy.run_path(str(repository / "clients" / "datasets" / "hatch_build.py")))

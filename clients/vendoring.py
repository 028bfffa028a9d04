"""Puts packages of the checkout into a wheel under names that do not shadow other packages.

The hook's option `places` maps folders and files of the checkout to their places in the wheel. Imports of them are renamed in
place, as installers do for vendored packages; the rest of the source does not change.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

REPOSITORY = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^(\s*from )([\w.]+)(?= import\b)", re.MULTILINE)
_MODULE = re.compile(r'(?<!ogger\()"(\w+(?:\.\w+)+)(?=[":])')
"""A fully qualified module name in a string; names of loggers stay, so that log lines do not depend on the installation."""


class Vendored(BuildHookInterface[Any]):
    """Writes the packages into a temporary folder, from which the wheel takes them."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the packages, except for an editable installation, which uses the checkout."""
        self.folder = tempfile.mkdtemp()
        if version != "editable":
            write_packages(self.config["places"], Path(self.folder))
            for package in Path(self.folder).iterdir():
                build_data["force_include"][str(package)] = package.name

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - the interface's
        """Remove the folder."""
        shutil.rmtree(self.folder)


def write_packages(places: dict[str, str], target: Path) -> None:
    """Write files of the checkout to their places in a folder, and rename the imports of modules."""
    for source, place in places.items():
        origin = REPOSITORY / source
        for path in origin.rglob("*") if origin.is_dir() else [origin]:
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            destination = target / place / path.relative_to(origin)
            destination.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".py":
                destination.write_text(renamed(path.read_text("utf-8"), places), "utf-8")
            else:
                shutil.copyfile(path, destination)


def renamed(text: str, places: dict[str, str]) -> str:
    """Return a module's text in which imports from the checkout and qualified module names are those of the wheel."""

    def new_name(name: str) -> str:
        for source, place in places.items():
            old = source.replace("/", ".")
            if f"{name}.".startswith(f"{old}."):
                return place.replace("/", ".") + name[len(old) :]
        return name

    def new_reference(match: re.Match[str]) -> str:
        module = REPOSITORY / match[1].replace(".", "/")
        is_module = module.with_suffix(".py").is_file() or (module / "__init__.py").is_file()
        return f'"{new_name(match[1])}' if is_module else match[0]

    text = _IMPORT.sub(lambda match: f"{match[1]}{new_name(match[2])}", text)
    return _MODULE.sub(new_reference, text)

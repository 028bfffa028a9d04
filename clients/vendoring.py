"""Puts packages of the checkout into a wheel under names that do not shadow other packages.

The hook's option `places` maps folders and files of the checkout to their places in the wheel. Imports of them are renamed where
they stand, as installers do with what they vendor; the rest of the source does not change.
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
"""A module that is named in full; what a logger is called stays, so that log lines are the same however it is installed."""


class Vendored(BuildHookInterface[Any]):
    """Writes the packages into a temporary folder, from which the wheel takes them."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the packages; an editable installation has the checkout as it is."""
        self.folder = tempfile.mkdtemp()
        if version != "editable":
            write_packages(self.config["places"], Path(self.folder))
            for package in Path(self.folder).iterdir():
                build_data["force_include"][str(package)] = package.name

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - the interface's
        """Remove the folder."""
        shutil.rmtree(self.folder)


def write_packages(places: dict[str, str], target: Path) -> None:
    """Write files of the checkout to their places in a folder, modules with their imports renamed."""
    for source, place in places.items():
        given = REPOSITORY / source
        for path in given.rglob("*") if given.is_dir() else [given]:
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            written = target / place / path.relative_to(given)
            written.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".py":
                written.write_text(renamed(path.read_text("utf-8"), places), "utf-8")
            else:
                shutil.copyfile(path, written)


def renamed(text: str, places: dict[str, str]) -> str:
    """Return a module's text with its imports from the checkout, and the modules that it names in full, as they are in the wheel."""

    def new_name(name: str) -> str:
        for source, place in places.items():
            old = source.replace("/", ".")
            if f"{name}.".startswith(f"{old}."):
                return place.replace("/", ".") + name[len(old) :]
        return name

    def named(match: re.Match[str]) -> str:
        module = REPOSITORY / match[1].replace(".", "/")
        is_module = module.with_suffix(".py").is_file() or (module / "__init__.py").is_file()
        return f'"{new_name(match[1])}' if is_module else match[0]

    text = _IMPORT.sub(lambda match: f"{match[1]}{new_name(match[2])}", text)
    return _MODULE.sub(named, text)

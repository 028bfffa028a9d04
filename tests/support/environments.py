"""Wheels, and environments of other packages, made with uv."""

from __future__ import annotations

import ast
import fcntl
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


def build_wheel(source: Path, folder: Path, *options: str) -> Path:
    """Build the source distribution of a package, and from it the wheel, or with `--wheel` only that; return the wheel."""
    _uv("build", *options, "--out-dir", str(folder), str(source))
    (wheel,) = folder.glob("*.whl")
    return wheel


def new_environment(folder: Path, *requirements: str, python: str = sys.executable) -> Path:
    """Make an environment with these packages only; return its interpreter."""
    _uv("venv", "--python", python, str(folder))
    made = folder / "bin" / "python"
    if requirements:
        install(made, *requirements)
    return made


def kept_environment(folder: Path, *requirements: str) -> Path:
    """Return the interpreter of an environment that is made once for a checkout; skip if it cannot be."""
    if shutil.which("uv") is None:
        pytest.skip("uv is not there, which makes environments")
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one test run may have several processes
        if not (folder / ".complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            try:
                new_environment(folder, *requirements)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"{requirements} cannot be installed: {error.stderr.strip().splitlines()[-1:]}")
            (folder / ".complete").touch()
    return folder / "bin" / "python"


def install(python: Path, *arguments: str) -> None:
    """Install packages into the environment of an interpreter."""
    _uv("pip", "install", "--python", str(python), *arguments)


def _uv(*arguments: str) -> None:
    subprocess.run(["uv", "--quiet", *arguments], check=True, capture_output=True, text=True)


def imported_by(wheel: Path) -> dict[str, set[str]]:
    """Return the packages that each module of a wheel imports by their own names."""
    results: dict[str, set[str]] = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                nodes = list(ast.walk(ast.parse(archive.read(name))))
                named = [x.name for node in nodes if isinstance(node, ast.Import) for x in node.names]
                named += [x.module or "" for x in nodes if isinstance(x, ast.ImportFrom) and not x.level]
                results[name] = {each.split(".")[0] for each in named}
    return results

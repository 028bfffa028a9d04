"""Wheels, and environments of other packages, made with uv."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
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

"""The release of the project: equal releases build the same bytes and apply the same rules."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from schemas.project import NAME, project_version

_REPOSITORY: Final = Path(__file__).resolve().parents[1]
_BUILD_CODE: Final = ("schemas", "datasets", "pipeline")
_LIBRARIES: Final = ("polars", "pyarrow", "numpy")


@cache
def release() -> dict[str, str]:
    """Return the release at the first call in this process, see :func:`current`."""
    return current()


def current() -> dict[str, str]:
    """Return the current versions of a build's dependencies on this machine: part -> version.

    Returns
    -------
    dict
        The project's version, a digest of the build code, and the versions of Python and the libraries that write and compute.
        Machines with equal releases build the same snapshot of a seal.
    """
    return {
        NAME: project_version(),
        "code": _code_digest(),
        "python": platform.python_version(),
        **{name: version(name) for name in _LIBRARIES},
    }


def shown(parts: dict[str, str]) -> str:
    """Format a release as one line."""
    return ", ".join(f"{name} {number}" for name, number in parts.items())


def _code_digest() -> str:
    digest = hashlib.sha256()
    for package in _BUILD_CODE:
        for path in sorted((_REPOSITORY / package).rglob("*.py")):
            digest.update(f"{path.relative_to(_REPOSITORY).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]

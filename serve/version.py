"""Which build this is."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

SERVICE: Final = "alpha-results"
"""What the service calls itself."""


def build_version(stated: str | None) -> str:
    """Return the version string of the running build.

    Parameters
    ----------
    stated
        What the deployment says; None reads the project's own version.

    Returns
    -------
    str
        ``unknown`` when the program runs apart from its project file and nothing was stated.
    """
    if stated is not None:
        return stated
    try:
        project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
        return str(project["project"]["version"])
    except (OSError, tomllib.TOMLDecodeError, KeyError):
        return "unknown"

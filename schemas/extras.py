"""Packages that only some deployments need, as extras of the project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from schemas.errors import SettingsError
from schemas.project import NAME

_OUTERMOST: Final = __name__.partition(".")[0]
DISTRIBUTION: Final = _OUTERMOST.replace("_", "-") if _OUTERMOST.startswith("alpha_results") else NAME
"""Name of the installed distribution: the wheels of the project and of its datasets both contain this module."""


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Import packages of an extra in this context.

    Parameters
    ----------
    name
        Name of the extra in the project file.
    what
        The feature that needs it, as the subject of the error message.

    Raises
    ------
    SettingsError
        When a package is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"{what} needs the extra `{name}`, and {error.name} is not installed: `uv sync --extra {name}` in a checkout, "
            f"`pip install '{DISTRIBUTION}[{name}]'` elsewhere"
        ) from error

"""Name and release of this package."""

from __future__ import annotations

from importlib import metadata

NAME = "alpha-results-seal"
"""Name of this package's own distribution."""


def version() -> str:
    """Return the release of the distribution that installed this package: its own, or the project's."""
    installed = {
        distribution.metadata["Name"]: distribution.version for distribution in metadata.distributions()
    }
    return installed.get(NAME) or installed.get("alpha-results") or "0"

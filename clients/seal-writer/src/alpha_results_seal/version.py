"""What this package is called, and its release."""

from __future__ import annotations

from importlib import metadata

NAME = "alpha-results-seal"
"""Its distribution where it is installed by itself."""


def version() -> str:
    """Return the release of the distribution that brought this package: its own, or the project's."""
    installed = {
        distribution.metadata["Name"]: distribution.version for distribution in metadata.distributions()
    }
    return installed.get(NAME) or installed.get("alpha-results") or "0"

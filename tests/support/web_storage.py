"""A test storage backend: a plain web server.

It tests the cache on any machine, and shows that a new backend needs only one module.
"""

from __future__ import annotations

from pathlib import Path

from datasets.storage import backends

SCHEME = "web"
_FOLDER = str(Path(__file__).parent / "backends")


def register() -> None:
    """Register the backend in this process, once."""
    if _FOLDER not in backends.__path__:
        backends.__path__.append(_FOLDER)

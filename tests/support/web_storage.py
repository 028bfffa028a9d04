"""A test storage backend: a plain web server.

The cache is tested on it, wherever the tests run; and that it takes one module is what a new backend takes.
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

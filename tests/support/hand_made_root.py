"""Fixtures: a root of the hand-made run for server processes, and a key for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import published
from tests.support.server import token_for


@pytest.fixture(scope="module")
def server_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a root of the hand-made run, for servers that run as separate processes."""
    return published.publish_below(tmp_path_factory.mktemp("processes"))


@pytest.fixture(scope="module")
def token(server_root: Path) -> str:
    """Return a key for that root."""
    return token_for(server_root)

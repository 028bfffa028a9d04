"""A cache of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasets.storage.cache import Cache


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", 100_000_000)

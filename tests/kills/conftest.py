"""Fixtures of the access tests, and a Redis to stop."""

from tests.access.conftest import anyio_backend, emitted  # noqa: F401 - fixtures
from tests.serving.conftest import redis_server  # noqa: F401 - a fixture

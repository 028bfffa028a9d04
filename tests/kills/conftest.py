"""The loop of asynchronous tests and the watch over secrets in the log, as in the tests of access; a Redis to stop."""

from tests.access.conftest import anyio_backend, emitted  # noqa: F401 - fixtures
from tests.serving.conftest import redis_server  # noqa: F401 - a fixture

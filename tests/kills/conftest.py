"""The loop of asynchronous tests, and the watch over secrets in the log, as in the tests of access."""

from tests.access.conftest import anyio_backend, emitted  # noqa: F401 - fixtures

"""A root and a Redis, as in the tests of what is served."""

from tests.serving.conftest import redis_server, root  # noqa: F401 - fixtures

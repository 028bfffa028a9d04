"""A root and a Redis, as in tests/serving."""

from tests.serving.conftest import redis_server, root  # noqa: F401 - fixtures

"""Fixtures that publish into a bucket."""

from tests.datasets.conftest import publish, root  # noqa: F401 - fixtures

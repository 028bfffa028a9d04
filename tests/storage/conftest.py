"""Stores that the suites of single ones set up."""

from tests.s3.conftest import bucket, s3_server  # noqa: F401 - fixtures

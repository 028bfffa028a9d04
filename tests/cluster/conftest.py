"""The command and its seals, as in the tests of batches."""

from tests.batch.conftest import program, seal  # noqa: F401 - fixtures

"""Fixtures shared by all tests."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

# Fixtures of several folders; imported here, each session-wide one is created once.
from tests.support.application import api  # noqa: F401
from tests.support.bucket import bucket, s3_server  # noqa: F401
from tests.support.contract_root import contract_root  # noqa: F401
from tests.support.dask import dask  # noqa: F401
from tests.support.hand_made_root import server_root, token  # noqa: F401
from tests.support.history import built, history  # noqa: F401
from tests.support.remote_root import published_run, remote  # noqa: F401
from tests.support.seals import make_seal

# A slow machine is not a failure: no test asserts a time. Property tests try new examples in each run, except in the run that decides
# whether a change lands (TEST_EXAMPLES=same), where a failure must be caused by the change and be reproducible.
settings.register_profile(
    "suite",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("TEST_EXAMPLES") == "same",
)
settings.load_profile("suite")


@pytest.fixture(autouse=True, scope="session")
def user_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use a temporary user cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("user-cache")))
        yield


@pytest.fixture(autouse=True, scope="session")
def no_wait_for_the_disk() -> Iterator[None]:
    """Skip fsync, which only matters when a machine loses power.

    Publishing a run flushes some seventy files, which takes a third of a build.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", _flushed)
        yield


def _flushed(descriptor: int) -> None:
    os.fstat(descriptor)  # a closed descriptor is still an error


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Restore the logging configuration that a command run in the test replaced."""
    root = logging.getLogger()
    handlers, level, configured = root.handlers[:], root.level, structlog.get_config()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**configured)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real seals and market data that lies next to a full checkout."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "seals").is_dir():
        pytest.skip("the real seals are not next to this checkout")
    return folder


@pytest.fixture
def seal(valid: Path, tmp_path: Path) -> Path:
    """Return a copy of the module's valid seal."""
    return Path(shutil.copytree(valid, tmp_path / valid.name))


@pytest.fixture
def small_seal(tmp_path: Path) -> Callable[..., Path]:
    """Return a factory of small valid seals in the test's folder."""
    return lambda **changes: make_seal(tmp_path / "seals", **{"weeks": 14, "raw": False, **changes})

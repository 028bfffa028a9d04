"""Object store and disks are stopped, hung, slowed, filled and closed under load.

Calls that need only local copies are answered as before, calls that need the store or the disk are refused with its code, and
nobody is admitted who was refused before.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest

from tests.faults.fault import AWAY, CALLERS, OK, Fault, inject_under_load, require_nothing_unforeseen
from tests.support.bucket import made_bucket
from tests.support.checked_load import LoadCall
from tests.support.deployment import Deployment, deployed
from tests.support.s3 import S3Server
from tests.support.slow_line import SlowLine, slow_line
from tests.support.small_disk import SmallDisk, small_disk

COPIED = "Test_deployed0"


@dataclass
class Parts:
    """The parts that fail."""

    gateway: S3Server
    line: SlowLine
    cache: SmallDisk
    rows: SmallDisk
    requests: int = 0
    """Number of an alpha without local copies; before the first fault, of one with copies."""

    def need_the_store(self) -> None:
        """Request an alpha that is neither in memory nor in the local cache."""
        self.requests += 1


@pytest.fixture(scope="module")
def parts(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    folder = tmp_path_factory.mktemp("disks")
    with (
        small_disk(folder / "cache", 64 << 20) as cache,
        small_disk(folder / "rows", 64 << 20) as rows,
        slow_line(s3_server.endpoint) as line,
    ):
        yield Parts(s3_server, line, cache, rows)


@pytest.fixture(scope="module")
def deployment(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("faults")
    with pytest.MonkeyPatch.context() as patch:
        address = made_bucket(parts.gateway, patch).url("root")
        variables = {
            "AWS_ENDPOINT_URL": parts.line.endpoint,
            "ALPHA_RESULTS_CACHE": str(parts.cache.folder / "copies"),
            "ALPHA_RESULTS_ROWS": str(parts.rows.folder / "rows"),
            "ALPHA_RESULTS_MAX_WAIT_SECONDS": "60",
            "ALPHA_RESULTS_REFRESH_SECONDS": "0.5",
        }
        with deployed(folder, alphas=len(FAULTS) + 1, address=address, variables=variables) as result:
            yield result


def load_calls(deployment: Deployment, parts: Parts) -> list[LoadCall]:
    def wide() -> str:
        return deployment.keys["wide"].token

    def window(alpha: str, draw: random.Random) -> str:
        first, last = sorted(draw.sample(range(1, 29), 2))
        return (
            f"/v1/alphas/{alpha}/metrics?from=2024-{draw.randint(1, 12):02}-{first:02}&to=2030-01-{last:02}"
        )

    return [
        LoadCall("me", lambda _: "/v1/me", wide),
        LoadCall("page", lambda draw: f"/v1/alphas/{COPIED}/scores?limit={draw.randint(1, 20)}", wide),
        LoadCall("computed", lambda draw: window(COPIED, draw), wide),
        LoadCall("fresh", lambda draw: window(f"Test_deployed{parts.requests}", draw), wide),
        LoadCall("revoked", lambda _: "/v1/me", lambda: deployment.keys["revoked"].token),
    ]


@contextlib.contextmanager
def killed(gateway: S3Server) -> Iterator[None]:
    gateway.kill()
    yield
    gateway.start()


NEEDED = {"fresh": {AWAY}}
FAULTS: dict[
    str, tuple[Callable[[Parts], AbstractContextManager[None]], dict[str, set[str]], tuple[str, str]]
] = {
    "the object store is killed": (lambda parts: killed(parts.gateway), NEEDED, ("fresh", AWAY)),
    "the object store hangs": (lambda parts: parts.gateway.hanging(), NEEDED, ("fresh", AWAY)),
    "the object store refuses": (lambda parts: parts.gateway.refusing(), NEEDED, ("fresh", AWAY)),
    "the object store is slow": (lambda parts: parts.line.slow(0.3), {}, ("fresh", OK)),
    # Answers trickle in a few bytes at a time, so a timeout per read would never expire.
    "the object store trickles": (lambda parts: parts.line.slow(1.0, 8), NEEDED, ("fresh", AWAY)),
    "the disk of the cache is full": (lambda parts: parts.cache.full(), NEEDED, ("fresh", AWAY)),
    "the disk of the cache is read-only": (lambda parts: parts.cache.read_only(), NEEDED, ("fresh", AWAY)),
    "the disk of the rendered rows is full": (lambda parts: parts.rows.full(), {}, ("fresh", OK)),
    "the disk of the rendered rows is read-only": (lambda parts: parts.rows.read_only(), {}, ("fresh", OK)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_failing_store_or_disk_affects_only_what_needs_it(
    deployment: Deployment, parts: Parts, name: str
) -> None:
    begin, may, seen = FAULTS[name]

    @contextlib.contextmanager
    def inject(_: Deployment) -> Iterator[None]:
        with begin(parts):
            parts.need_the_store()
            yield

    calls = CALLERS if name in {"the object store hangs", "the object store trickles"} else 60
    inject_under_load(deployment, name, Fault(inject, may, seen, calls), load_calls(deployment, parts))


def test_the_log_has_no_unexpected_failure(deployment: Deployment) -> None:
    require_nothing_unforeseen(deployment)

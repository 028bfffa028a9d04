from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.raw_http import Server
from tests.support.server import served

LIMITS = {
    "ALPHA_RESULTS_MAX_TARGET_BYTES": "2000",
    "ALPHA_RESULTS_MAX_HEAD_BYTES": "6000",
    "ALPHA_RESULTS_HEAD_TIMEOUT_SECONDS": "1",
    "ALPHA_RESULTS_KEEP_ALIVE_SECONDS": "1.5",
    "ALPHA_RESULTS_WRITE_TIMEOUT_SECONDS": "30",
}


@pytest.fixture(scope="module")
def server(server_root: Path, token: str) -> Iterator[Server]:
    """Return a server with short limits."""
    log = server_root.parent / "server.log"
    with served(server_root, log=log, variables=LIMITS) as (_, base):
        yield Server(base, token, log)

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.raw_http import Server
from tests.support.server import served

LIMITS = {
    "ALPHA_RESULTS_MAX_TARGET_BYTES": "2000",
    "ALPHA_RESULTS_MAX_HEAD_BYTES": "6000",
    "ALPHA_RESULTS_MAX_HEADER_LINE_BYTES": "3000",
    "ALPHA_RESULTS_MAX_HEADERS": "20",
    "ALPHA_RESULTS_MAX_BODY_BYTES": "1000",
    "ALPHA_RESULTS_HEAD_TIMEOUT_SECONDS": "1",
    "ALPHA_RESULTS_BODY_TIMEOUT_SECONDS": "1",
    "ALPHA_RESULTS_KEEP_ALIVE_SECONDS": "1.5",
    "ALPHA_RESULTS_WRITE_TIMEOUT_SECONDS": "30",
}


@pytest.fixture(scope="module")
def ways(here: Path, token: str) -> Iterator[list[Server]]:
    """Return two servers of one root, with and without the fast path, with short limits; each counts calls by itself."""
    with ExitStack() as stack:
        found = []
        for way in ("on", "off"):
            log, counts = here.parent / f"{way}.log", str(here.parent / f"{way}.limits")
            variables = {"ALPHA_RESULTS_FAST_PATH": way, "ALPHA_RESULTS_LIMITS_STATE": counts, **LIMITS}
            _, base = stack.enter_context(served(here, log=log, variables=variables))
            found.append(Server(base, token, log))
        yield found

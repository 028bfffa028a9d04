"""Requests to a gateway, counted from its own log."""

from __future__ import annotations

import contextlib
import http.client
import re
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tests.support.s3 import PATIENCE, S3Server

_BEGUN: Final = re.compile(r"starting new request req=(0x[0-9a-f]+)")
_ANSWERED: Final = re.compile(r'beast: (0x[0-9a-f]+): .*?"([A-Z]+) (\S+) HTTP/')


@contextlib.contextmanager
def counted_requests(server: S3Server) -> Iterator[Counter[str]]:
    """Count the requests to a gateway within the block.

    Each page of a listing counts as ``LIST``, every other request as its method. Requests that began before the block are left
    out, and those that began in it are waited for, since the gateway logs a request only after answering it.
    """
    result: Counter[str] = Counter()
    _, begin = _noted(server, 0)
    yield result
    counts, _ = _noted(server, begin)
    result.update(counts)


def _noted(server: S3Server, begin: int) -> tuple[Counter[str], int]:
    """Return the requests since an offset of the log, and the new offset."""
    mark = f"/?mark={uuid.uuid4().hex}"
    connection = http.client.HTTPConnection(server.endpoint.removeprefix("http://"), timeout=PATIENCE)
    try:
        connection.request("GET", mark)
        connection.getresponse().read()
    finally:
        connection.close()
    deadline = time.monotonic() + PATIENCE
    while True:
        with server.log.open("rb") as log:
            log.seek(begin)
            text = log.read()
        counts, pending, seen = _counted(text.decode(errors="replace"), mark)
        # Requests that were pending when the first block began do not belong to it.
        if seen and (begin == 0 or not pending):
            return counts, begin + len(text)
        assert time.monotonic() < deadline, f"the gateway logged no request: {pending}"
        time.sleep(0.02)


def _counted(text: str, mark: str) -> tuple[Counter[str], set[str], bool]:
    counts: Counter[str] = Counter()
    pending: set[str] = set()
    seen = False
    for line in text.splitlines():
        if (begun := _BEGUN.search(line)) is not None:
            pending.add(begun[1])
        elif (answered := _ANSWERED.search(line)) is not None and answered[1] in pending:
            pending.remove(answered[1])
            method, target = answered[2], answered[3]
            seen = seen or target == mark
            if not target.startswith("/?mark="):
                counts["LIST" if "list-type=" in target else method] += 1
    return counts, pending, seen

"""Callers that request continuously, each on its own connection."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException

from tests.support.waiting import PATIENCE

CALLERS = 16


@contextmanager
def calling(base: str, token: str) -> Iterator[Counter[object]]:
    """Run callers continuously; yields counts of outcomes by status or exception."""
    ended: Counter[object] = Counter()
    stop = threading.Event()
    counting = threading.Lock()

    def caller() -> None:
        with closing(HTTPConnection(base.removeprefix("http://"), timeout=PATIENCE)) as connection:
            while not stop.wait(0.005):  # leaves processor time to the commands under test
                try:
                    connection.request("GET", "/v1/me", headers={"authorization": f"Bearer {token}"})
                    answer = connection.getresponse()
                    answer.read()
                    how: object = answer.status
                    if answer.status == 503:
                        how = f"503, Retry-After {answer.headers['Retry-After']}"
                except (OSError, HTTPException) as error:
                    how = type(error).__name__
                    stop.set()
                with counting:
                    ended[how] += 1

    callers = [threading.Thread(target=caller) for _ in range(CALLERS)]
    for thread in callers:
        thread.start()
    try:
        yield ended
    finally:
        stop.set()
        for thread in callers:
            thread.join()

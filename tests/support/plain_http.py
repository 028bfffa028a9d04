"""Plain HTTP requests, one connection each, with the tests' timeout.

httpx reads the machine's certificates for each one otherwise, which takes the processor 20 ms and slows down the servers under
test; and it waits five seconds, which a busy machine needs for an answer.
"""

from __future__ import annotations

import ssl
from typing import Any, Final

import httpx

from tests.support.waiting import PATIENCE

_NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def get(url: str, **options: Any) -> httpx.Response:
    """Send a GET as :func:`httpx.get`."""
    return httpx.get(url, verify=_NO_TLS, **{"timeout": PATIENCE, **options})


def connect(**options: Any) -> httpx.Client:
    """Return a client as :class:`httpx.Client` makes it."""
    return httpx.Client(verify=_NO_TLS, **{"timeout": PATIENCE, **options})

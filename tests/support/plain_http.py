"""Plain HTTP requests, one connection each, with the timeout of the tests.

By default httpx reads the machine's certificates for each connection, which takes 20 ms of processor time and slows down the
servers under test, and times out after five seconds, which an answer may take on a busy machine.
"""

from __future__ import annotations

import ssl
from typing import Any, Final

import httpx

from tests.support.waiting import PATIENCE

_NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def get(url: str, **options: Any) -> httpx.Response:
    """Send a GET, like :func:`httpx.get`."""
    return httpx.get(url, verify=_NO_TLS, **{"timeout": PATIENCE, **options})


def connect(**options: Any) -> httpx.Client:
    """Return an :class:`httpx.Client`."""
    return httpx.Client(verify=_NO_TLS, **{"timeout": PATIENCE, **options})

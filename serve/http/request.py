"""What is known of a request while it is answered: its headers, and what its log line and ``X-Request-Id`` say."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from serve.http.asgi import Scope

_SCOPE: Final = "alpha_results.trace"
_CALLERS_OWN: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}\Z")


@dataclass(slots=True)
class RequestInfo:
    """Filled in as the request passes the checks.

    Attributes
    ----------
    request_id
        The caller's own when it was well formed, else a new one.
    headers
        Of the request, by name.
    endpoint, key_id, code
        Registry id, key and error code once known.
    shared
        Whether the answer may be kept by shared caches, so that it must not name the request.
    """

    request_id: str
    headers: dict[bytes, bytes]
    endpoint: str | None = None
    key_id: str | None = None
    code: str | None = None
    shared: bool = False

    def header(self, name: bytes) -> str | None:
        """Return a header's value, None when there is none."""
        found = self.headers.get(name)
        return None if found is None else found.decode("latin-1")


_ID_BYTES: Final = 16
_DRAWN: Final = 256
"""Ids drawn at once: asking the system for each costs more than the id."""
_ids: list[str] = []
os.register_at_fork(after_in_child=_ids.clear)


def _new_id() -> str:
    try:
        return _ids.pop()
    except IndexError:
        drawn = os.urandom(_ID_BYTES * _DRAWN).hex()
        _ids.extend(drawn[at : at + 2 * _ID_BYTES] for at in range(0, len(drawn), 2 * _ID_BYTES))
        return _ids.pop()


def by_name(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers by their names in small letters; several lines of one name are joined, as HTTP reads them."""
    found: dict[bytes, bytes] = {}
    for spelled, value in headers:
        name = spelled.lower()
        found[name] = found[name] + b", " + value if name in found else value
    return found


def begin(scope: Scope) -> RequestInfo:
    """Start the trace of a request and leave it in its scope."""
    headers = by_name(scope["headers"])
    given = headers.get(b"x-request-id")
    own = given is not None and _CALLERS_OWN.match(given)
    trace = RequestInfo(given.decode("ascii") if own and given is not None else _new_id(), headers)
    scope[_SCOPE] = trace
    return trace


def of(scope: Scope) -> RequestInfo:
    """Return the trace of a request."""
    trace: RequestInfo = scope[_SCOPE]
    return trace

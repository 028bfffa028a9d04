"""What is known of a request while it is answered: for its log line and its ``X-Request-Id``."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from serve.asgi import Scope

_SCOPE: Final = "alpha_results.trace"
_CALLERS_OWN: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}\Z")


@dataclass(slots=True)
class Trace:
    """Filled in as the request passes the checks.

    Attributes
    ----------
    request_id
        The caller's own when it was well formed, else a new one.
    endpoint, key_id, code
        Registry id, key and error code once known.
    """

    request_id: str
    endpoint: str | None = None
    key_id: str | None = None
    code: str | None = None


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    """Return a header's value; several lines of one name are joined with commas, as HTTP reads them."""
    found = [value.decode("latin-1") for key, value in headers if key == name]
    return ", ".join(found) if found else None


def begin(scope: Scope) -> Trace:
    """Start the trace of a request and leave it in its scope."""
    given = [value for key, value in scope["headers"] if key == b"x-request-id"]
    own = len(given) == 1 and _CALLERS_OWN.match(given[0])
    trace = Trace(given[0].decode("ascii") if own else uuid.uuid4().hex)
    scope[_SCOPE] = trace
    return trace


def of(scope: Scope) -> Trace:
    """Return the trace of a request."""
    trace: Trace = scope[_SCOPE]
    return trace

"""A request as it passes the checks, from its head to its log line."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from serve.http.asgi import Scope
from serve.http.params import ParsedQuery, Values

if TYPE_CHECKING:
    from datasets.listing import Listing
    from datasets.snapshot import Snapshot
    from serve.auth.caller import Caller

SCOPE: Final = "alpha_results.request"
"""Where a scope has its request."""
_CALLERS_OWN: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}\Z")


@dataclass(slots=True)
class Request:
    """Filled in check by check.

    Attributes
    ----------
    id
        The caller's own ``X-Request-Id`` when it was well formed, else a new one.
    headers
        By name in small letters.
    client
        Address of the other end of the connection; None when it has none.
    path, query_string
        Text of the path's placeholders, decoded, and what follows the question mark, as received.
    endpoint, key_id, code
        Registry id, key and error code once known: what the log line says.
    caller
        The authorised caller; None before that, and on the public endpoint.
    parsed
        Its parameters, once read.
    snapshot
        The one snapshot this request sees, on the endpoints of an alpha.
    pinned
        Whether that is another than the one served.
    listing
        The alphas this request sees, on the endpoint that lists them.
    scope
        Of the server.
    started
        When it was begun, by the performance counter.
    shared
        Whether the answer may be cached by others, so that it must not name the request.
    left
        Whether the connection was cut before the answer was there; who only stops sending may still read.
    """

    id: str
    headers: Mapping[bytes, bytes]
    client: str | None = None
    path: Mapping[str, str] = field(default_factory=dict)
    query_string: bytes = b""
    endpoint: str | None = None
    key_id: str | None = None
    code: str | None = None
    caller: Caller | None = None
    parsed: ParsedQuery | None = None
    snapshot: Snapshot | None = None
    pinned: bool = False
    listing: Listing | None = None
    scope: Scope = field(default_factory=dict)
    started: float = 0.0
    shared: bool = False
    left: bool = False

    def header(self, name: bytes) -> str | None:
        """Return a header's value, None when there is none."""
        found = self.headers.get(name)
        return None if found is None else found.decode("latin-1")

    @property
    def values(self) -> Values:
        """The parameters, typed, defaults filled in."""
        assert self.parsed is not None
        return self.parsed.values

    @property
    def the_caller(self) -> Caller:
        """The authorised caller; every endpoint but the public one has one."""
        assert self.caller is not None
        return self.caller

    @property
    def the_snapshot(self) -> Snapshot:
        """The snapshot; endpoints of an alpha have one."""
        assert self.snapshot is not None
        return self.snapshot

    @property
    def raw(self) -> bool:
        """Whether the key sees the unconditioned signal and its books."""
        return self.caller is not None and self.caller.expose_raw

    @property
    def answer_headers(self) -> Mapping[str, str]:
        """What is sent with any answer, errors included: the state of the caller's limits."""
        return {} if self.caller is None else self.caller.headers

    @property
    def run_meta(self) -> dict[str, Any]:
        """The meta of a run's signals: its address, the research source's label, and the snapshot that answers."""
        return self.named(self.the_snapshot.manifest.source_alpha_id)

    def named(self, alpha_id: str) -> dict[str, Any]:
        """Return what the meta of every answer about a run says; `alpha_id` is the label it gives to the source."""
        snapshot = self.the_snapshot
        return {
            "run": snapshot.alpha_id,
            "alpha_id": alpha_id,
            "snapshot": snapshot.id,
            "published_at": snapshot.published_at,
        }


ANSWERED: Final[ContextVar[Request | None]] = ContextVar("alpha_results_answered", default=None)
"""The request that the task at work answers."""
_ID_BYTES: Final = 16
_IDS_PER_DRAW: Final = 256
"""Ids drawn at once: asking the system for each costs more than the id."""
_ids: list[str] = []
os.register_at_fork(after_in_child=_ids.clear)


def _new_id() -> str:
    drawn = os.urandom(_ID_BYTES * _IDS_PER_DRAW).hex()
    _ids.extend(drawn[at : at + 2 * _ID_BYTES] for at in range(0, len(drawn), 2 * _ID_BYTES))
    return _ids.pop()


def by_name(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers by their names in small letters; several lines of one name are joined, as HTTP reads them."""
    found: dict[bytes, bytes] = {}
    for spelled, value in headers:
        name = spelled.lower()
        found[name] = found[name] + b", " + value if name in found else value
    return found


def begin(scope: Scope) -> Request:
    """Begin a request, and leave it in its scope.

    Parameters
    ----------
    scope
        Of a server, which writes the names of headers in small letters.
    """
    started = time.perf_counter()
    pairs = scope["headers"]
    headers = dict(pairs)
    if len(headers) < len(pairs):
        headers = by_name(pairs)
    given = headers.get(b"x-request-id")
    own = given is not None and _CALLERS_OWN.match(given)
    client = scope.get("client")
    request = Request(
        given.decode("ascii") if own and given is not None else _ids.pop() if _ids else _new_id(),
        headers,
        client[0] if client else None,
        scope=scope,
        started=started,
    )
    scope[SCOPE] = request
    return request


def of(scope: Scope) -> Request:
    """Return the request of a scope."""
    request: Request = scope[SCOPE]
    return request

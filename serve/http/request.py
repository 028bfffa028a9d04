"""The state of a request, from its head to its log line; and the types of ASGI, which are as loose as the protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from schemas.endpoint import Caching
from serve.http.params import Values

if TYPE_CHECKING:
    from datasets.catalogue.listing import Listing
    from datasets.snapshot import Snapshot
    from serve.auth.caller import Caller

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

SCOPE: Final = "alpha_results.request"
"""Key of the request in an ASGI scope, for the connection, which outlives the task."""
Queries: TypeAlias = dict[Hashable, tuple[Any, str]]
"""The query of a page and its tag, by snapshot and view of the key."""


@dataclass(slots=True)
class Request:
    """A request, filled in check by check; a field cannot be read before the check that sets it.

    Attributes
    ----------
    id
        The caller's own ``X-Request-Id`` when it was well formed, else a new one.
    headers
        By name in lower case.
    client
        Peer address of the connection; None when it has none.
    path, query_string
        Values of the path's placeholders, decoded; and the query string as received.
    endpoint, key_id, code
        Registry id, key and error code, once known, for the log line.
    scope
        ASGI scope.
    started
        Start time by the performance counter, in seconds.
    caching
        Who may store the answer; one for shared caches must not name the request.
    left
        Whether the connection was lost before the answer was ready; a caller that only stops sending may still read.
    pinned
        Snapshots that the request names and the answer reads; gc may remove them meanwhile.
    raw
        Whether the key sees the unconditioned signal and its books.
    limit_headers
        Headers of every answer, errors included: the state of the caller's limits.
    caller
        The authorised caller; set on all endpoints that are not public.
    values, queries
        Its parameters by name, typed and with defaults filled in, and the queries of its page. Shared between equal requests.
    snapshot
        The one snapshot this request sees, on the endpoints of an alpha.
    listing
        The alphas this request sees, on the endpoints that list them.
    """

    id: str
    headers: Mapping[bytes, bytes]
    client: str | None = None
    path: Mapping[str, str] = field(default_factory=dict)
    query_string: bytes = b""
    endpoint: str | None = None
    key_id: str | None = None
    code: str | None = None
    scope: Scope = field(default_factory=dict)
    started: float = 0.0
    caching: Caching = Caching.NONE
    left: bool = False
    pinned: tuple[Snapshot, ...] = ()
    raw: bool = False
    limit_headers: Mapping[str, str] = field(default_factory=dict)
    caller: Caller = field(init=False)
    values: Values = field(init=False)
    queries: Queries = field(init=False)
    snapshot: Snapshot = field(init=False)
    listing: Listing = field(init=False)

    def header(self, name: bytes) -> str | None:
        """Return a header's value, None when there is none."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

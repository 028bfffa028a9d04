"""A request as it passes the checks, from its head to its log line; and the shapes of ASGI, as loosely typed as the protocol is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from serve.http.params import Values

if TYPE_CHECKING:
    from datasets.listing import Listing
    from datasets.snapshot import Snapshot
    from serve.auth.caller import Caller

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

SCOPE: Final = "alpha_results.request"
"""Where a scope has its request."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """The parameters of a request that keep every rule, whoever sends it. Shared between requests.

    Attributes
    ----------
    values
        By name, read; never to be changed.
    queries
        The page's query and its tag, by snapshot and view of the key.
    """

    values: Values
    queries: dict[Hashable, tuple[Any, str]] = field(default_factory=dict)


@dataclass(slots=True)
class Request:
    """Filled in check by check; what a check fills in cannot be read before it.

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
    scope
        Of the server.
    started
        When it was begun, by the performance counter.
    shared
        Whether the answer may be cached by others, so that it must not name the request.
    left
        Whether the connection was cut before the answer was there; who only stops sending may still read.
    pinned
        Whether `snapshot` is another than the one served.
    raw
        Whether the key sees the unconditioned signal and its books.
    limit_headers
        What is sent with any answer, errors included: the state of the caller's limits.
    caller
        The authorised caller; every endpoint but the public one has one.
    parsed, values
        Its parameters; and typed, with defaults filled in.
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
    shared: bool = False
    left: bool = False
    pinned: bool = False
    raw: bool = False
    limit_headers: Mapping[str, str] = field(default_factory=dict)
    caller: Caller = field(init=False)
    parsed: ParsedQuery = field(init=False)
    values: Values = field(init=False)
    snapshot: Snapshot = field(init=False)
    listing: Listing = field(init=False)

    def header(self, name: bytes) -> str | None:
        """Return a header's value, None when there is none."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")


def by_name(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers by their names in small letters; several lines of one name are joined, as HTTP reads them."""
    joined: dict[bytes, bytes] = {}
    for spelled, value in headers:
        name = spelled.lower()
        joined[name] = joined[name] + b", " + value if name in joined else value
    return joined


def of(scope: Scope) -> Request:
    """Return the request of a scope."""
    request: Request = scope[SCOPE]
    return request

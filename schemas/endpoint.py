"""Declaration of an endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from schemas.error_codes import HEAD_ERRORS
from schemas.field import Field
from schemas.limits import LIMIT_WINDOWS
from schemas.parameters import SNAPSHOT, Parameter, ParameterKind


class AllowListScope(StrEnum):
    """Allow-list that decides on the alpha in the path."""

    NONE = "none"
    ALPHAS = "alphas"
    RUNS = "runs"


class Shape(StrEnum):
    """The envelope of the answer."""

    COLLECTION = "collection"
    OBJECT = "object"
    BARE = "bare"


class Caching(StrEnum):
    """`Cache-Control` of an endpoint's 200."""

    PRIVATE = "private, no-cache"
    """Only the caller may store it, and asks each time whether it is current."""
    NONE = "no-store"
    """Nobody may store it, because it is a credential or describes the moment."""
    SHARED = "public, max-age=86400, immutable"
    """Shared caches may store it: it is identical for all callers and calls, headers included."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One route of the API.

    Attributes
    ----------
    id
        Registry id, used in endpoint allow-lists.
    path
        Path template with ``{placeholders}``.
    summary
        One line for the documents.
    payload
        The object of its answer, or one row of its collection.
    shape
        Envelope of the answer.
    parameters
        Path and query parameters, in documented order.
    full_payload
        The row served instead of `payload` with ``fields=all``; None without that parameter.
    meta
        Its own members of `meta`, besides the shared ones (:func:`schemas.meta.make_meta`).
    errors
        Its own error codes, besides the shared ones (see `all_errors`).
    datasets
        Published datasets it reads.
    allow_list
        Allow-list that decides on the alpha.
    public, admin
        Whether it needs no key; whether it needs an administrator's key.
    caching
        Who may store its 200.
    """

    id: str
    path: str
    summary: str
    payload: Field
    shape: Shape = Shape.COLLECTION
    parameters: tuple[Parameter, ...] = ()
    full_payload: Field | None = None
    meta: tuple[Field, ...] = ()
    errors: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    allow_list: AllowListScope = AllowListScope.NONE
    public: bool = False
    admin: bool = False
    caching: Caching = Caching.PRIVATE

    @property
    def shared(self) -> bool:
        """Whether shared caches may store its 200."""
        return self.caching is Caching.SHARED

    @property
    def row(self) -> str:
        """The name of the payload."""
        return self.payload.name

    @property
    def payloads(self) -> tuple[Field, ...]:
        """The payload, and the one served with ``fields=all`` if there is one."""
        return (self.payload,) if self.full_payload is None else (self.payload, self.full_payload)

    @property
    def query(self) -> tuple[Parameter, ...]:
        """Parameters of the query string."""
        return tuple(x for x in self.parameters if not x.in_path)

    @property
    def all_errors(self) -> tuple[str, ...]:
        """Every error code of the route, shared ones first."""
        common: tuple[str, ...] = ("method_not_allowed", *HEAD_ERRORS, "internal_error")
        if not self.public:
            common += KEY_ERRORS
        common += ("bad_request",)  # even an endpoint without parameters: it refuses all of them
        if self.allow_list is AllowListScope.ALPHAS:
            common += ("alpha_not_allowed", "alpha_not_found")
        if self.allow_list is AllowListScope.RUNS:
            common += ("run_not_allowed", "run_not_found")
        if SNAPSHOT in self.parameters:
            common += ("snapshot_not_found",)
        if any(x.kind is ParameterKind.BOOK for x in self.parameters):
            common += ("unknown_book",)
        return common + tuple(code for code in self.errors if code not in common)


KEY_ERRORS: Final = (
    "missing_api_key",
    "malformed_api_key",
    "invalid_api_key",
    "key_suspended",
    "key_revoked",
    "key_expired",
    "account_inactive",
    "ip_not_allowed",
    "endpoint_not_allowed",
    *(window.code for window in LIMIT_WINDOWS),
    "upstream_unavailable",
    "overloaded",
)
"""Error codes of every route that needs a key."""

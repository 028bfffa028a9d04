"""What an endpoint hands back, before it becomes bytes and headers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from serve.pages.json import BodyChunks

if TYPE_CHECKING:
    from serve.http.request import Request
    from serve.pages.query import Found
    from serve.state import ServerState

PRIVATE: Final = "private, no-cache"
"""Answers depend on the key, and must be asked again each time; the entity tag makes that cheap."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a collection that is made anew for each request.

    Attributes
    ----------
    rows
        The page's JSON array, whole or in pieces.
    returned, total
        Its length, and the rows of all pages.
    meta
        Nothing that changes between two calls for the same thing: the body has an entity tag.
    """

    rows: bytes | BodyChunks
    returned: int
    total: int
    meta: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Single:
    """One object.

    Attributes
    ----------
    source
        Where its content was read.
    cache_control
        The header; by default the answer is private to the key.
    """

    data: Mapping[str, Any]
    source: str
    meta: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Mapping[str, str], ...] = ()
    cache_control: str = PRIVATE


@dataclass(frozen=True, slots=True)
class Bare:
    """An object without an envelope."""

    body: Mapping[str, Any]


Answer: TypeAlias = Page | Single | Bare


class PageEndpoint(NamedTuple):
    """An endpoint whose pages are determined by a query alone.

    Attributes
    ----------
    query
        A pure function from a checked request to the hashable query.
    meta
        The page's meta, from the request and what was found.
    source
        The part of the service that answers the query.
    tag_by_body
        Whether the page is tagged by its bytes, because its query tells of more than the caller sees.
    """

    query: Callable[[Request], Any]
    meta: Callable[[Request, Any, Found], Mapping[str, Any]]
    source: str = "pages"
    tag_by_body: bool = False


ObjectEndpoint: TypeAlias = Callable[["ServerState", "Request"], "Awaitable[Answer]"]
"""Any other endpoint."""
EndpointFunction: TypeAlias = PageEndpoint | ObjectEndpoint

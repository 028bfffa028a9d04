"""What a route hands back, before it becomes bytes and headers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from serve.query.json import BodyChunks

if TYPE_CHECKING:
    from serve.http.context import Context

PRIVATE: Final = "private, no-cache"
"""Answers depend on the key, and must be asked again each time; the entity tag makes that cheap."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a collection.

    Attributes
    ----------
    rows
        The page's JSON array, whole or in pieces.
    returned, total
        Its length, and the rows of all pages.
    meta
        Nothing that changes between two calls for the same thing: the body has an entity tag.
    warnings
        Shown in ``meta.warnings`` when there are any.
    shared
        Whether the rows lie in memory that is held anyway: cutting them anew costs less than keeping them twice.
    """

    rows: bytes | BodyChunks
    returned: int
    total: int
    meta: Mapping[str, Any]
    warnings: tuple[Mapping[str, str], ...] = ()
    shared: bool = False


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
Answerer: TypeAlias = Callable[["Context"], Answer | Awaitable[Answer]]
"""A route: a plain function is run on a compute thread, a coroutine function on the event loop."""


def empty(meta: Mapping[str, Any], *warnings: Mapping[str, str]) -> Page:
    """Return a page without rows."""
    return Page(b"[]", 0, 0, meta, warnings)

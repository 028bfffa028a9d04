"""Finds the handler of a plain request by its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from serve.http.handler import EndpointHandler

_PLACEHOLDER: Final = ""
"""Stands for any one segment; a path that is found here has no empty ones."""
_MAX_PATHS: Final = 4096
"""Paths whose route is remembered."""
MAX_PATH_BYTES: Final = 256
"""Bytes of a path that is looked up: what is remembered stays small."""


class Route(NamedTuple):
    """What a path leads to.

    Attributes
    ----------
    handler
        Of the endpoint.
    path
        Text of the path's placeholders by their names.
    """

    handler: EndpointHandler
    path: Mapping[str, str]


@dataclass(slots=True)
class _Node:
    """What may follow the segments that lead here."""

    next: dict[str, _Node] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    handler: EndpointHandler | None = None


class Router:
    """Finds the endpoint of a GET whose path is spelled as it is declared; all others are for the application to judge.

    Of a request's time the application's generality is a good part: it makes objects, middleware and state that these
    endpoints never look at. What it would find is the same, and the tests ask both ways.

    Parameters
    ----------
    handlers
        Of every endpoint.
    """

    def __init__(self, handlers: Sequence[EndpointHandler]) -> None:
        self._root = _Node()
        for handler in handlers:
            node, names = self._root, []
            for segment in handler.endpoint.path.split("/")[1:]:
                placeholder = segment.startswith("{")
                if placeholder:
                    names.append(segment[1:-1])
                after = node.next.setdefault(_PLACEHOLDER if placeholder else segment, _Node())
                assert len(node.next) == 1 or _PLACEHOLDER not in node.next, (
                    "one path must not be two endpoints'"
                )
                node = after
            node.names, node.handler = tuple(names), handler

        self.find: Final = lru_cache(_MAX_PATHS)(self._look_up)
        """Return the route of a GET by its path as received, no longer than `MAX_PATH_BYTES`; None when that is for the
        application to judge."""

    def _look_up(self, raw_path: bytes) -> Route | None:
        # A path that has to be decoded goes to the application.
        if b"%" in raw_path or not raw_path.isascii():
            return None
        node, values = self._root, []
        for segment in raw_path.decode("ascii").split("/")[1:]:
            if not segment:
                return None
            found = node.next.get(segment)
            if found is None:
                found = node.next.get(_PLACEHOLDER)
                if found is None:
                    return None
                values.append(segment)
            node = found
        if node.handler is None:
            return None
        return Route(node.handler, dict(zip(node.names, values, strict=True)))

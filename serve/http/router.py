"""The short way of plain requests to their endpoints, past the router that would come to the same."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from schemas.endpoints import Endpoint
from serve.http.asgi import Scope
from serve.http.responses import Response

Responder: TypeAlias = Callable[[Scope], Coroutine[Any, Any, Response]]
_PLACEHOLDER: Final = ""
"""Stands for any one segment; a path that comes this way has no empty ones."""
_PATHS: Final = 4096
"""Paths whose way is remembered."""
_LONGEST: Final = 256
"""Bytes of a path up to which it is, so that what is remembered stays small."""


class Route(NamedTuple):
    """To one endpoint.

    Attributes
    ----------
    endpoint
        Its declaration.
    responder
        What makes its responses.
    in_task
        Whether that has to run in a task of the event loop from its beginning.
    """

    endpoint: Endpoint
    responder: Responder
    in_task: bool


@dataclass(slots=True)
class _Node:
    """What may follow the segments that lead here."""

    next: dict[str, _Node] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    way: Route | None = None


class Router:
    """Finds the endpoint of a GET whose path is spelled as it is declared; all others are the router's to judge.

    Of a request's time the router's generality is a good part: it makes objects, middleware and state that these
    endpoints never look at. What it would find is the same, and the tests ask both ways.

    Parameters
    ----------
    ways
        To every endpoint.
    """

    def __init__(self, ways: Sequence[Route]) -> None:
        self._root = _Node()
        for way in ways:
            node, names = self._root, []
            for segment in way.endpoint.path.split("/")[1:]:
                placeholder = segment.startswith("{")
                if placeholder:
                    names.append(segment[1:-1])
                after = node.next.setdefault(_PLACEHOLDER if placeholder else segment, _Node())
                assert len(node.next) == 1 or _PLACEHOLDER not in node.next, (
                    "one path must not be two endpoints'"
                )
                node = after
            node.names, node.way = tuple(names), way

        self._remembered = lru_cache(_PATHS)(self._look)

    def find(self, method: str, raw_path: bytes) -> tuple[Route, Mapping[str, str]] | None:
        """Return what answers a request and its path's parameters, None when that is not for this way to say.

        Parameters
        ----------
        raw_path
            As received; a path with anything in it that has to be decoded is left alone.
        """
        if method != "GET":
            return None
        return self._remembered(raw_path) if len(raw_path) <= _LONGEST else self._look(raw_path)

    def _look(self, raw_path: bytes) -> tuple[Route, Mapping[str, str]] | None:
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
        if node.way is None:
            return None
        return node.way, dict(zip(node.names, values, strict=True))

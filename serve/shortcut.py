"""The short way of plain requests to their endpoints, past the router that would come to the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from schemas.endpoints import Endpoint
from serve.asgi import Scope
from serve.response import Response

Responder: TypeAlias = Callable[[Scope], Awaitable[Response]]
_PLACEHOLDER: Final = ""
"""Stands for any one segment; a path that comes this way has no empty ones."""


@dataclass(slots=True)
class _Node:
    """What may follow the segments that lead here."""

    next: dict[str, _Node] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    responder: Responder | None = None


class Shortcut:
    """Finds the endpoint of a GET whose path is spelled as it is declared; all others are the router's to judge.

    Of a request's time the router's generality is a good part: it makes objects, middleware and state that these
    endpoints never look at. What it would find is the same, and the tests ask both ways.

    Parameters
    ----------
    responders
        Every endpoint, with what makes its responses.
    """

    def __init__(self, responders: Sequence[tuple[Endpoint, Responder]]) -> None:
        self._root = _Node()
        for endpoint, responder in responders:
            node, names = self._root, []
            for segment in endpoint.path.split("/")[1:]:
                placeholder = segment.startswith("{")
                if placeholder:
                    names.append(segment[1:-1])
                after = node.next.setdefault(_PLACEHOLDER if placeholder else segment, _Node())
                assert len(node.next) == 1 or _PLACEHOLDER not in node.next, (
                    "one path must not be two endpoints'"
                )
                node = after
            node.names, node.responder = tuple(names), responder

    def find(self, method: str, raw_path: bytes) -> tuple[Responder, Mapping[str, str]] | None:
        """Return what answers a request and its path's parameters, None when that is not for this way to say.

        Parameters
        ----------
        raw_path
            As received; a path with anything in it that has to be decoded is left alone.
        """
        if method != "GET" or b"%" in raw_path or not raw_path.isascii():
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
        if node.responder is None:
            return None
        return node.responder, dict(zip(node.names, values, strict=True))

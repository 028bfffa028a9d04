"""What a request asks: its parameters as they are understood, and the names of its answers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from schemas.endpoints import ENDPOINTS, Endpoint
from serve.http.params import Values, parse, query_pairs

_REMEMBERED: Final = 4096
"""Requests whose reading is remembered: the same page is often asked for again."""
_LONGEST: Final = 512
"""Characters of a request's path and query up to which that is done, so that what is remembered stays small."""
_NAMES: Final = 8
"""Names remembered of the answers to one question."""


class Question(NamedTuple):
    """A request that keeps every rule, without who asks it.

    Attributes
    ----------
    values
        Its parameters, read; shared between requests, so never to be changed.
    names
        What its answers are called, by all that they depend on besides.
    """

    values: Values
    names: dict[Hashable, str]

    def call(self, name: Hashable, tag: str) -> None:
        """Remember what an answer is called."""
        if len(self.names) >= _NAMES:
            self.names.clear()
        self.names[name] = tag


def parse_query(endpoint: Endpoint, path: Mapping[str, str], query_string: bytes) -> Question:
    """Read a request's parameters; a pure function, so that what is remembered is never out of date.

    Parameters
    ----------
    path
        Text of the path's placeholders, decoded.
    query_string
        As received.

    Raises
    ------
    ApiError
        As :func:`serve.http.params.parse`.
    """
    if len(query_string) + sum(map(len, path.values())) > _LONGEST:
        return Question(parse(endpoint, path, query_pairs(query_string)), {})
    return _read(endpoint.id, tuple(path.items()), query_string)


@lru_cache(_REMEMBERED)
def _read(endpoint_id: str, path: tuple[tuple[str, str], ...], query_string: bytes) -> Question:
    return Question(parse(ENDPOINTS[endpoint_id], dict(path), query_pairs(query_string)), {})

"""Entity tags, known before any work is done."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import orjson

from serve.http.encoding import IDENTITY

_NOTHING: Final = hashlib.sha256()
"""Copied for each name: beginning anew has the library look the algorithm up every time."""


def tag_of_query(endpoint: str, query: tuple[Any, ...], build: str) -> str:
    """Name the page of a query by everything that determines it.

    Parameters
    ----------
    endpoint
        Registry id.
    query
        Spellings of one request come to one query, and so share a tag.
    build
        Version of the running program.

    Returns
    -------
    str
        The opaque part of the tag, without quotes.
    """
    return tag_of_body(orjson.dumps((endpoint, build, *query)))


def tag_of_body(body: bytes) -> str:
    """Name an answer by its bytes."""
    named = _NOTHING.copy()
    named.update(body)
    return named.hexdigest()[:32]


def quoted(tag: str, coding: str) -> str:
    """Write the header: each content coding is a representation of its own, with a tag of its own.

    Only that of the body as it is, is strong: the same rows may be compressed in one go or put together from blocks, equal
    in content and not in bytes.
    """
    return f'"{tag}-{coding}"' if coding == IDENTITY else f'W/"{tag}-{coding}"'


def matches(if_none_match: bytes | None, etag: str) -> bool:
    """Whether an ``If-None-Match`` header names this entity tag, weakly compared; ``*`` does not count.

    ``*`` asks whether anything is there, which is only known once the answer is made; see :func:`matches_any`.
    """
    if if_none_match is None:
        return False
    given = if_none_match.decode("latin-1")
    return etag.removeprefix("W/") in (item.strip().removeprefix("W/") for item in given.split(","))


def matches_any(if_none_match: bytes | None) -> bool:
    """Whether the header asks for any representation at all."""
    return if_none_match is not None and if_none_match.strip() == b"*"

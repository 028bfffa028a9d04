"""Strong entity tags, known before any work is done."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

_NOTHING: Final = hashlib.sha256()
"""Copied for each name: beginning anew has the library look the algorithm up every time."""


def tag_of_request(
    *, snapshot: str, endpoint: str, values: Mapping[str, Any], view: Mapping[str, Any], build: str
) -> str:
    """Name the answer to a request by everything that determines it.

    Parameters
    ----------
    snapshot
        Id of the snapshot, with the alpha's address.
    endpoint
        Registry id.
    values
        Parsed parameters, so that spellings of one question share a tag.
    view
        What of the key changes the body.
    build
        Version of the running program.

    Returns
    -------
    str
        The opaque part of the tag, without quotes.
    """
    return tag_of_body(
        orjson.dumps([snapshot, endpoint, dict(values), dict(view), build], option=orjson.OPT_SORT_KEYS)
    )


def tag_of_body(body: bytes) -> str:
    """Name an answer by its bytes."""
    named = _NOTHING.copy()
    named.update(body)
    return named.hexdigest()[:32]


def quoted(tag: str, coding: str) -> str:
    """Write the header: each content coding is a representation of its own, with a tag of its own."""
    return f'"{tag}-{coding}"'


def matches(if_none_match: str | None, etag: str) -> bool:
    """Tell whether an ``If-None-Match`` header names this entity tag, weakly compared; ``*`` does not count.

    ``*`` asks whether anything is there, which is only known once the answer is made; see :func:`matches_any`.
    """
    if if_none_match is None:
        return False
    return etag in (item.strip().removeprefix("W/") for item in if_none_match.split(","))


def matches_any(if_none_match: str | None) -> bool:
    """Tell whether the header asks for any representation at all."""
    return if_none_match is not None and if_none_match.strip() == "*"

"""The bodies of answers, as bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from schemas.errors import ApiError
from schemas.warning_codes import by_member, warning
from serve.pages.json import BodyChunks, now
from serve.pages.query import Found, UnknownSymbol

_MAX_SYMBOLS: Final = 10
"""Unknown symbols named one by one."""


def collection(
    rows: bytes | BodyChunks, *, returned: int, total: int, limit: int, offset: int, meta: Mapping[str, Any]
) -> BodyChunks:
    """Assemble a page around rows that are JSON already, and return its body in pieces: the rows are not copied.

    Parameters
    ----------
    rows
        A JSON array of `returned` objects, whole or in pieces.
    total
        Rows of all pages together.
    limit, offset
        As applied.
    meta
        Must hold nothing but what the snapshot and the request determine: the body has an ETag.
    """
    pagination = {
        "limit": limit,
        "offset": offset,
        "returned": returned,
        "total": total,
        "has_more": offset + returned < total,
    }
    first, *middle = (rows,) if isinstance(rows, bytes) else rows
    last = b"".join((b',"pagination":', orjson.dumps(pagination), b',"meta":', orjson.dumps(meta), b"}"))
    if not middle:
        return (b"".join((b'{"data":', first, last)),)
    *middle, end = middle
    return (b"".join((b'{"data":', first)), *middle, b"".join((end, last)))


def page(query: Any, found: Found, meta: Mapping[str, Any]) -> BodyChunks:
    """Assemble the page of a query: a pure function of the snapshot, the query and the key's view.

    Parameters
    ----------
    query
        Of it the limit and the offset.
    """
    warnings = [kind_missing(kind) for kind in found.missing]
    if found.unknown:
        warnings.append(unknown_symbols(found.unknown))
    rows = found.rows
    return collection(
        rows.pieces,
        returned=rows.returned,
        total=rows.total,
        limit=query.limit,
        offset=query.offset,
        meta={**meta, **by_member(warnings)} if warnings else meta,
    )


def single(data: Mapping[str, Any], *, request_id: str | None, source: str, meta: Mapping[str, Any]) -> bytes:
    """Assemble the answer that is one object.

    Parameters
    ----------
    request_id
        None leaves out what differs between two calls: the request's name and the time.
    source
        Where its content was read.
    """
    of_the_call = {} if request_id is None else {"request_id": request_id, "generated_at": now()}
    return orjson.dumps({"data": data, "meta": {**meta, **of_the_call, "source": source}})


def bare(body: Mapping[str, Any]) -> bytes:
    """Assemble an answer without an envelope."""
    return orjson.dumps(body)


def failure(error: ApiError, request_id: str) -> bytes:
    """Assemble the error envelope."""
    return orjson.dumps(
        {
            "error": {
                "code": error.code,
                "message": error.message,
                "details": error.details,
                "request_id": request_id,
            }
        }
    )


def kind_missing(kind: str) -> dict[str, str]:
    """Return the warning of a page that is empty because the run holds no such data."""
    return warning("kind_missing", f"The run holds no {kind} data for this request.", kind=kind)


def unknown_symbols(unknown: Sequence[UnknownSymbol]) -> dict[str, str]:
    """Return the notice that names symbols the run never had: they are more often misspelt than meant."""
    named = [
        x.asked if x.nearest is None else f"{x.asked} (did you mean {x.nearest}?)"
        for x in unknown[:_MAX_SYMBOLS]
    ]
    if len(unknown) > _MAX_SYMBOLS:
        named.append(f"{len(unknown) - _MAX_SYMBOLS} more")
    return warning("unknown_symbol", f"The run never scored or traded {', '.join(named)}.")


def make_page(items: Sequence[Mapping[str, Any]], limit: int, offset: int) -> tuple[bytes, int]:
    """Slice a list, and return the page's JSON and its number of rows."""
    chosen = items[offset : offset + limit]
    return orjson.dumps(chosen), len(chosen)

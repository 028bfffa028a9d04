"""What an endpoint returns, and the JSON body that it becomes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self, TypeAlias

import orjson

from datasets.snapshot import Snapshot
from schemas.errors import ApiError
from schemas.warning_codes import by_member, warning
from serve.http.request import Request
from serve.pages.json import BodyChunks, now
from serve.pages.query import Found, UnknownSymbol
from serve.state import ServerState

PRIVATE: Final = "private, no-cache"
"""Answers depend on the key, and must be asked again each time; the entity tag makes that cheap."""
_MAX_SYMBOLS: Final = 10
"""Unknown symbols named one by one."""


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

    @classmethod
    def of(
        cls, items: Sequence[Mapping[str, Any]], values: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> Self:
        """Return the page of a list by the limit and the offset of a request."""
        chosen = items[values["offset"] : values["offset"] + values["limit"]]
        return cls(orjson.dumps(chosen), len(chosen), len(items), meta)


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


ObjectEndpoint: TypeAlias = Callable[[ServerState, Request], Awaitable[Answer]]
"""Any other endpoint."""
EndpointFunction: TypeAlias = PageEndpoint | ObjectEndpoint


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


def page_body(query: Any, found: Found, meta: Mapping[str, Any]) -> BodyChunks:
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


def run_meta(snapshot: Snapshot, alpha_id: str | None = None) -> dict[str, Any]:
    """Return what the meta of every answer about a run says.

    Parameters
    ----------
    alpha_id
        The label it gives to the source; by default that of the seal.
    """
    return {
        "run": snapshot.alpha_id,
        "alpha_id": snapshot.manifest.source_alpha_id if alpha_id is None else alpha_id,
        "snapshot": snapshot.id,
        "published_at": snapshot.published_at,
        **({} if snapshot.manifest.sealed_by is None else {"sealed_by": snapshot.manifest.sealed_by}),
    }


def answer_body(answer: Answer, values: Mapping[str, Any], request_id: str | None) -> BodyChunks:
    """Assemble the body of an answer of an endpoint that is not of cached pages, as it is before it is encoded.

    Parameters
    ----------
    values
        Parameters of the request; of them the limit and the offset of a page.
    request_id
        None leaves out of an object what differs between two calls: the request's name and the time.
    """
    if isinstance(answer, Page):
        return collection(
            answer.rows,
            returned=answer.returned,
            total=answer.total,
            limit=values["limit"],
            offset=values["offset"],
            meta=answer.meta,
        )
    if isinstance(answer, Bare):
        return (orjson.dumps(answer.body),)
    meta = {**answer.meta, **(by_member(answer.warnings) if answer.warnings else {})}
    of_the_call = {} if request_id is None else {"request_id": request_id, "generated_at": now()}
    return (orjson.dumps({"data": answer.data, "meta": {**meta, **of_the_call, "source": answer.source}}),)


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

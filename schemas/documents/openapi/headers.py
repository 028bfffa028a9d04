"""Headers of the answers."""

from __future__ import annotations

from typing import Final

from schemas.documents.openapi.json_schema import Schema
from schemas.endpoint import Caching, Endpoint, Shape
from schemas.error_codes import ERROR_CODES, HEAD_ERRORS
from schemas.limits import LIMIT_WINDOWS, LimitWindow


def _header(description: str, *, unit: str = "", **schema: object) -> Schema:
    header: Schema = {"description": description, "schema": dict(schema)}
    if unit:
        header["schema"]["x-unit"] = unit
    return header


_COUNT: Final = {"type": "integer", "minimum": 0}


def _window_headers(window: LimitWindow) -> tuple[Schema, Schema, Schema]:
    """Return the headers of a window, in the order of `LimitWindow.headers`."""
    when = (
        f"Seconds until the count of the calendar {window.name} restarts."
        if window.seconds is None
        else f"Seconds until the count of the rolling {window.name} first falls."
    )
    return (
        _header(f"Calls that the key may make in the {window.name}.", unit="calls", **_COUNT),
        _header(f"Calls left in the {window.name}.", unit="calls", **_COUNT),
        _header(when, unit="seconds", **_COUNT),
    )


HEADERS: Final[dict[str, Schema]] = {
    "X-Request-Id": _header(
        "Id of the request: the one sent by the caller, if valid.",
        type="string",
        pattern="^[A-Za-z0-9._-]{1,128}$",
    ),
    **{window.headers[part]: _window_headers(window)[part] for part in range(3) for window in LIMIT_WINDOWS},
    "Retry-After": _header(
        "Seconds to wait before the next attempt.", unit="seconds", type="integer", minimum=1
    ),
    "ETag": _header(
        "Entity tag of the page for its content coding; weak for a compressed page, whose bytes may differ.",
        type="string",
        pattern='^(W/)?"[^"]+"$',
    ),
    "Cache-Control": _header("Who may cache the answer, and for how long.", type="string"),
    "WWW-Authenticate": _header("How to authenticate.", type="string"),
    "Vary": _header("Request headers that the answer depends on.", type="string"),
}
"""Header name -> OpenAPI header object."""
_ALWAYS: Final = "Always-"
"""Prefix of the definitions of headers that are always sent."""

_BEFORE_KEYS: Final = {ERROR_CODES[code].status for code in HEAD_ERRORS}
"""Statuses of answers that precede the reading of keys."""


def response_headers(endpoint: Endpoint, status: int) -> dict[str, Schema]:
    """Return the headers of one answer; those that are always sent are marked as required.

    The headers of a window are absent for a key without a limit in it, and all rate headers are absent in answers that precede
    the counting of calls. An answer that a shared cache may store has no headers about the call.
    """
    anonymous = endpoint.shared and status == 200
    names: dict[str, bool] = {} if anonymous else {"X-Request-Id": True}
    if not endpoint.public and not anonymous and status not in _BEFORE_KEYS:
        counted = status in (200, 304, 400, 429)
        names |= {
            window.headers[part]: counted and not window.optional
            for part in range(3)
            for window in LIMIT_WINDOWS
        }
    if status in (200, 304) and endpoint.shape is Shape.COLLECTION:
        names |= {"ETag": True, "Vary": True}
    if status in (429, 503):
        names["Retry-After"] = not any(
            ERROR_CODES[code].permanent for code in endpoint.all_errors if ERROR_CODES[code].status == status
        )
    if status == 401:
        names["WWW-Authenticate"] = True
    return {name: _use(name, always=always) for name, always in names.items()} | _cache(endpoint, status)


def header_definitions() -> dict[str, Schema]:
    """Return each header as an optional and as a required definition."""
    always = {f"{_ALWAYS}{name}": {**header, "required": True} for name, header in HEADERS.items()}
    return HEADERS | always


def _use(name: str, *, always: bool) -> Schema:
    return {"$ref": f"#/components/headers/{_ALWAYS if always else ''}{name}"}


def _cache(endpoint: Endpoint, status: int) -> dict[str, Schema]:
    rule = endpoint.caching if status in (200, 304) else Caching.NONE
    return {
        "Cache-Control": {
            **HEADERS["Cache-Control"],
            "required": True,
            "schema": {"type": "string", "const": rule.value},
        }
    }

"""Answers of an endpoint by HTTP status: payload, headers, and every error code with an example."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemas.endpoints import ENDPOINTS, Endpoint, Shape
from schemas.error_codes import CONNECTION_ERRORS, ERROR_CODES
from schemas.objects import FULL_ROW, PAYLOADS
from schemas.objects.envelope import PAGINATION, error_envelope
from schemas.objects.meta import META
from schemas.openapi.examples import example_of
from schemas.openapi.headers import response_headers
from schemas.openapi.json_schema import Schema, reference, schema_of
from schemas.parameters import MAX_PAGE

_JSON: Final = "application/json"
_REASONS: Final[Mapping[int, str]] = {
    400: "A parameter is invalid, or names a book that is not there.",
    401: "The key does not authenticate.",
    403: "The key may not do this.",
    404: "There is nothing at this address, or it is asked by another method than GET.",
    429: "The key's envelope is used up.",
    500: "An unforeseen failure.",
    503: "Something the answer needs is away or not configured.",
}

_OF_OPERATIONS: Final = tuple(code for code in ERROR_CODES if code not in CONNECTION_ERRORS)
"""What never became a request is answered by no operation; the page of the interface lists those codes."""

SHARED: Final[Mapping[int, str]] = {401: "Unauthenticated", 429: "TooManyCalls", 500: "Unforeseen"}
"""Status -> name of the one answer that every endpoint behind a key gives with it."""


def codes_of(endpoint: Endpoint) -> tuple[str, ...]:
    """Return every code an operation may answer with.

    The router's own answer to a path that is no route counts where a placeholder, badly filled, makes one.
    """
    return endpoint.all_errors + (("not_found",) if "{" in endpoint.path else ())


def responses(endpoint: Endpoint) -> dict[str, Schema]:
    """Return the `responses` object of an operation, by status."""
    found = {"200": _success(endpoint)}
    if endpoint.shape is Shape.COLLECTION:
        found["304"] = {
            "description": "The copy named in `If-None-Match` is still right; there is no body.",
            "headers": response_headers(endpoint, 304),
        }
    by_status: dict[int, list[str]] = {}
    for code in codes_of(endpoint):
        by_status.setdefault(ERROR_CODES[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        name = SHARED.get(status) if not endpoint.public else None
        found[str(status)] = (
            {"$ref": f"#/components/responses/{name}"} if name else _failure(endpoint, status, codes)
        )
    return found


def shared_responses() -> dict[str, Schema]:
    """Return the definition of every answer that is the same behind every key."""
    anyone = next(endpoint for endpoint in ENDPOINTS.values() if not endpoint.public)
    found: dict[str, Schema] = {}
    for status, name in SHARED.items():
        codes = [code for code in codes_of(anyone) if ERROR_CODES[code].status == status]
        found[name] = _failure(anyone, status, codes)
    return found


def payload_schema(endpoint: Endpoint) -> Schema:
    """Return the schema of the body of a 200."""
    if endpoint.shape is Shape.BARE:
        return reference(PAYLOADS[endpoint.row].model)
    meta = schema_of(META[endpoint.id])
    if endpoint.shape is Shape.OBJECT:
        return _closed(data=reference(PAYLOADS[endpoint.row].model), meta=meta)
    pages = [_page(endpoint.row)] + ([_page(FULL_ROW[endpoint.row])] if endpoint.row in FULL_ROW else [])
    data = pages[0] if len(pages) == 1 else {"anyOf": pages}
    return _closed(data=data, pagination=reference(PAGINATION.model), meta=meta)


def error_schemas() -> dict[str, Schema]:
    """Return the definition of every error envelope, by model."""
    envelopes = (error_envelope(code) for code in _OF_OPERATIONS)
    return {envelope.model: schema_of(envelope, define=True) for envelope in envelopes}


def error_examples() -> dict[str, Schema]:
    """Return an example of every error envelope, by code."""
    return {code: {"summary": code, "value": error_example(code)} for code in _OF_OPERATIONS}


def _page(row: str) -> Schema:
    return {"type": "array", "maxItems": MAX_PAGE, "items": reference(PAYLOADS[row].model)}


def _closed(**members: Schema) -> Schema:
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


def _success(endpoint: Endpoint) -> Schema:
    return {
        "description": PAYLOADS[endpoint.row].meaning,
        "headers": response_headers(endpoint, 200),
        "content": {_JSON: {"schema": payload_schema(endpoint)}},
    }


def _failure(endpoint: Endpoint, status: int, codes: list[str]) -> Schema:
    listed = "\n".join(f"- `{code}`: {ERROR_CODES[code].meaning}" for code in codes)
    schemas = [reference(error_envelope(code).model) for code in codes]
    return {
        "description": f"{_REASONS[status]}\n\n{listed}",
        "headers": response_headers(endpoint, status),
        "content": {
            _JSON: {
                "schema": schemas[0] if len(schemas) == 1 else {"oneOf": schemas},
                "examples": {code: {"$ref": f"#/components/examples/{code}"} for code in codes},
            }
        },
    }


def error_example(code: str) -> dict[str, Any]:
    """Return an envelope with that code as a caller might receive it."""
    envelope = error_envelope(code)
    body: dict[str, Any] = example_of(envelope)
    message = ERROR_CODES[code].meaning.replace("`", "")
    body["error"]["message"] = message
    return body

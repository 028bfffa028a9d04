"""Answers of an endpoint by HTTP status: payload, headers, and every error code with an example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from schemas.endpoint import Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.error_codes import CONNECTION_ERRORS, ERROR_CODES, LINK_ERRORS
from schemas.field import Field
from schemas.meta import META
from schemas.objects.envelope import PAGINATION, error_object
from schemas.openapi.examples import answer_examples, make_example
from schemas.openapi.headers import response_headers
from schemas.openapi.json_schema import Schema, make_schema, reference
from schemas.parameters import FIELDS, MAX_PAGE

_JSON: Final = "application/json"
_REASONS: Final[Mapping[int, str]] = {
    400: "A parameter is invalid, or names a book that is not there.",
    401: "The key does not authenticate.",
    403: "The key may not do this.",
    404: "There is no such address, or the method is not GET.",
    410: "What the request continues is not known here.",
    429: "The key's envelope is used up.",
    500: "An unforeseen failure.",
    503: "Something the answer needs is away or not configured.",
}

_OF_OPERATIONS: Final = tuple(code for code in ERROR_CODES if code not in {*CONNECTION_ERRORS, *LINK_ERRORS})
"""What never became a request, and links of files, are answered by no operation."""

SHARED: Final[Mapping[int, str]] = {401: "Unauthenticated", 429: "TooManyCalls", 500: "Unforeseen"}
"""Status -> name of the one answer that every endpoint behind a key gives with it."""


def list_codes(endpoint: Endpoint) -> tuple[str, ...]:
    """Return every code an operation may answer with.

    The router's own answer to a path without a route counts where a placeholder, badly filled, makes one.
    """
    return endpoint.all_errors + (("not_found",) if "{" in endpoint.path else ())


def responses(endpoint: Endpoint) -> dict[str, Schema]:
    """Return the `responses` object of an operation, by status."""
    by_name = {"200": _success(endpoint)}
    if endpoint.shape is Shape.COLLECTION:
        by_name["304"] = {
            "description": "The copy named in `If-None-Match` is still right; there is no body.",
            "headers": response_headers(endpoint, 304),
        }
    by_status: dict[int, list[str]] = {}
    for code in list_codes(endpoint):
        by_status.setdefault(ERROR_CODES[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        name = SHARED.get(status) if not endpoint.public else None
        by_name[str(status)] = (
            {"$ref": f"#/components/responses/{name}"} if name else _failure(endpoint, status, codes)
        )
    return by_name


def shared_responses() -> dict[str, Schema]:
    """Return the definition of every answer that is the same behind every key."""
    anyone = next(endpoint for endpoint in ENDPOINTS.values() if not endpoint.public)
    shared: dict[str, Schema] = {}
    for status, name in SHARED.items():
        codes = [code for code in list_codes(anyone) if ERROR_CODES[code].status == status]
        shared[name] = _failure(anyone, status, codes)
    return shared


def payload_schema(endpoint: Endpoint) -> Schema:
    """Return the schema of the body of a 200."""
    if endpoint.shape is Shape.BARE:
        return reference(endpoint.payload.model)
    meta = META[endpoint.id]
    if endpoint.shape is Shape.OBJECT:
        return _closed(data=reference(endpoint.payload.model), meta=make_schema(meta))
    if endpoint.full_payload is None:
        return _page(endpoint.payload, meta)
    # No answer keeps both; tools that tell alternatives apart by their own members alone would doubt it of a oneOf.
    return {"anyOf": [reference(name) for name in page_schemas(endpoint)]}


def page_schemas(endpoint: Endpoint) -> dict[str, Schema]:
    """Return the definitions of the pages of an endpoint that serves few columns or all, by model.

    They differ in what `meta.fields` says: a client that was made from the document knows by it which row it has.
    """
    if endpoint.full_payload is None:
        return {}
    schemas = {}
    for fields, row in zip(FIELDS.choices, endpoint.payloads, strict=True):
        meta = META[endpoint.id]
        shown = [replace(x, vocabulary=(fields,)) if x.name == FIELDS.name else x for x in meta.fields]
        schemas[f"{row.model}Page"] = _page(row, replace(meta, fields=tuple(shown)))
    return schemas


def error_schemas() -> dict[str, Schema]:
    """Return the definition of the `error` of every failure, by model."""
    objects = (error_object(code) for code in _OF_OPERATIONS)
    return {error.model: make_schema(error, define=True) for error in objects}


def error_examples() -> dict[str, Schema]:
    """Return an example of every error envelope, by code."""
    return {code: {"summary": code, "value": error_example(code)} for code in _OF_OPERATIONS}


def _page(row: Field, meta: Field) -> Schema:
    rows = {"type": "array", "maxItems": MAX_PAGE, "items": reference(row.model)}
    return _closed(data=rows, pagination=reference(PAGINATION.model), meta=make_schema(meta))


def _closed(**members: Schema) -> Schema:
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


def _success(endpoint: Endpoint) -> Schema:
    return {
        "description": endpoint.payload.meaning,
        "headers": response_headers(endpoint, 200),
        "content": {_JSON: {"schema": payload_schema(endpoint), "examples": answer_examples(endpoint)}},
    }


def _failure(endpoint: Endpoint, status: int, codes: list[str]) -> Schema:
    listed = "\n".join(f"- `{code}`: {ERROR_CODES[code].meaning}" for code in codes)
    models = {code: reference(error_object(code).model) for code in codes}
    error: Schema = {
        "oneOf": list(models.values()),
        "discriminator": {
            "propertyName": "code",
            "mapping": {code: model["$ref"] for code, model in models.items()},
        },
    }
    return {
        "description": f"{_REASONS[status]}\n\n{listed}",
        "headers": response_headers(endpoint, status),
        "content": {
            _JSON: {
                "schema": _closed(error=error if len(codes) > 1 else models[codes[0]]),
                "examples": {code: {"$ref": f"#/components/examples/{code}"} for code in codes},
            }
        },
    }


def error_example(code: str) -> dict[str, Any]:
    """Return an envelope with that code as a caller might receive it."""
    error: dict[str, Any] = make_example(error_object(code))
    return {"error": {**error, "message": ERROR_CODES[code].meaning.replace("`", "")}}

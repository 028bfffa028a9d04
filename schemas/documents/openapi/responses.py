"""Answers of an endpoint by HTTP status: payload, headers, and error codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from schemas.documents.openapi.headers import response_headers
from schemas.documents.openapi.json_schema import Schema, make_schema, reference
from schemas.endpoint import Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.error_codes import ERROR_CODES, LINK_ERRORS
from schemas.field import Field
from schemas.meta import META
from schemas.objects.envelope import PAGINATION, error_object
from schemas.parameters import FIELDS, MAX_PAGE

_JSON: Final = "application/json"
_REASONS: Final[Mapping[int, str]] = {
    400: "A parameter is invalid, or names a book that does not exist.",
    401: "The key is missing or not valid.",
    403: "The key may not do this.",
    404: "There is no such address, or the method is not GET.",
    410: "The cursor is unknown to this service.",
    414: "The path with its query is too long.",
    429: "A limit of the key is used up.",
    431: "The head of the request is too long.",
    500: "An unexpected failure.",
    503: "Something that the answer needs is unavailable or not configured.",
}

SHARED: Final[Mapping[int, str]] = {
    401: "Unauthenticated",
    414: "TargetTooLong",
    429: "TooManyCalls",
    431: "HeadTooLong",
    500: "Unforeseen",
}
"""Status -> name of the answer that all endpoints behind a key share."""


def list_codes(endpoint: Endpoint) -> tuple[str, ...]:
    """Return every error code of an operation.

    For a path with a placeholder, this includes the router's code for an unknown path, which a bad value may cause.
    """
    return endpoint.all_errors + (("not_found",) if "{" in endpoint.path else ())


def responses(endpoint: Endpoint) -> dict[str, Schema]:
    """Return the `responses` object of an operation, by status."""
    by_name = {"200": _success(endpoint)}
    if endpoint.shape is Shape.COLLECTION:
        by_name["304"] = {
            "description": "The copy named in `If-None-Match` is current; there is no body.",
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
    """Return the definition of every shared answer."""
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
    # Exactly one applies, but some tools distinguish alternatives only by their members and would reject a oneOf.
    return {"anyOf": [reference(name) for name in page_schemas(endpoint)]}


def page_schemas(endpoint: Endpoint) -> dict[str, Schema]:
    """Return the definitions of the pages of an endpoint with a `fields` parameter, by model.

    They differ in the value of `meta.fields`, so that a generated client can tell which kind of row a page has.
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
    """Return the definition of the `error` of every failure of an operation, by model."""
    objects = (error_object(code) for code in ERROR_CODES if code not in LINK_ERRORS)
    return {error.model: make_schema(error, define=True) for error in objects}


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
        "content": {_JSON: {"schema": payload_schema(endpoint)}},
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
            _JSON: {"schema": _closed(error=error if len(codes) > 1 else models[codes[0]])},
        },
    }

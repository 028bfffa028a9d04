"""Parameters of a request, as OpenAPI parameter objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemas.documents.openapi.json_schema import Schema
from schemas.endpoint import Endpoint, Shape
from schemas.parameters import Parameter, ParameterKind

_EXAMPLES: Final[Mapping[str, str]] = {
    "alpha": "Test_momentum",
    "date": "2020-03-27",
    "key_id": "0123456789abcdef",
    "symbol": "SPY",
}
"""Path parameter -> example. Query parameters have none, since pages that try a request would send them."""

IF_NONE_MATCH: Final[Schema] = {
    "name": "If-None-Match",
    "in": "header",
    "description": "Entity tags of cached copies; the answer is 304 if one of them is current.",
    "required": False,
    "schema": {"type": "string"},
}
REQUEST_ID: Final[Schema] = {
    "name": "X-Request-Id",
    "in": "header",
    "description": "Id of the request, 1 to 128 letters, digits, `.`, `_` and `-`, which is returned. Any other value is "
    "replaced by one of the service.",
    "required": False,
    "schema": {"type": "string"},
}


def parameter_objects(endpoint: Endpoint) -> list[Schema]:
    """Return every parameter of an endpoint: path, query, then headers.

    Parameters that are not accepted are left out, since generated clients have no use for them.
    """
    declared = [x for x in endpoint.parameters if x.kind is not ParameterKind.FORBIDDEN]
    declared.sort(key=lambda parameter: not parameter.in_path)
    headers = [IF_NONE_MATCH, REQUEST_ID] if endpoint.shape is Shape.COLLECTION else [REQUEST_ID]
    return [parameter_object(parameter) for parameter in declared] + [dict(x) for x in headers]


def refused_parameters(endpoint: Endpoint) -> list[str]:
    """Return a sentence for each parameter that an endpoint does not accept."""
    refused = [x for x in endpoint.parameters if x.kind is ParameterKind.FORBIDDEN]
    return [f"`{x.name}` is {x.constraint}. {x.meaning}" for x in refused]


def parameter_object(parameter: Parameter) -> Schema:
    """Return one declared parameter."""
    is_text = parameter.kind is ParameterKind.TEXT
    parameter_schema: Schema = {
        "name": parameter.name,
        "in": "path" if parameter.in_path else "query",
        "description": parameter.meaning
        if is_text
        else f"{parameter.meaning} Must be {parameter.constraint}.",
        "required": parameter.required,
        "schema": value_schema(parameter),
    }
    if parameter.in_path and parameter.name in _EXAMPLES:
        parameter_schema["example"] = _EXAMPLES[parameter.name]
    return parameter_schema


def value_schema(parameter: Parameter) -> Schema:
    """Return the schema of a parameter's value."""
    schema: Schema = {}
    match parameter.kind:
        case ParameterKind.INTEGER:
            schema = {"type": "integer", **_bounds(parameter, is_integer=True)}
        case ParameterKind.NUMBER:
            schema = {"type": "number", **_bounds(parameter, is_integer=False)}
        case ParameterKind.DATE:
            schema = {"type": "string", "format": "date"}
        case ParameterKind.BOOLEAN:
            schema = {"type": "boolean"}
        case ParameterKind.CHOICE:
            schema = {"type": "string", "enum": list(parameter.choices)}
        case (
            ParameterKind.SYMBOLS
            | ParameterKind.ALPHAS
            | ParameterKind.NAMES
            | ParameterKind.CURSOR
            | ParameterKind.WEIGHTS
        ):
            schema = {"type": "string", "pattern": f"^{parameter.pattern}$"}
        case ParameterKind.FORBIDDEN:
            schema = {"not": {}}
        case ParameterKind.TEXT | ParameterKind.BOOK:
            least = 1 if parameter.in_path else int(parameter.minimum or 0)
            schema = {"type": "string", **({"minLength": least} if least else {})}
    if parameter.default is not None:
        schema["default"] = parameter.default
    return schema


def _bounds(parameter: Parameter, *, is_integer: bool) -> dict[str, Any]:
    bounds = {"minimum": parameter.minimum, "maximum": parameter.maximum}
    return {name: int(x) if is_integer else x for name, x in bounds.items() if x is not None}

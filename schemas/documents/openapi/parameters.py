"""Parameters of a request, as OpenAPI parameter objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
_TYPES: Final[Mapping[ParameterKind, Schema]] = {
    ParameterKind.INTEGER: {"type": "integer"},
    ParameterKind.NUMBER: {"type": "number"},
    ParameterKind.DATE: {"type": "string", "format": "date"},
    ParameterKind.BOOLEAN: {"type": "boolean"},
    ParameterKind.FORBIDDEN: {"not": {}},
}
"""Kind -> schema; that of a text for all others."""


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
    schema = dict(_TYPES.get(parameter.kind, {"type": "string"}))
    if parameter.kind in (ParameterKind.INTEGER, ParameterKind.NUMBER):
        bounds = {"minimum": parameter.minimum, "maximum": parameter.maximum}
        schema |= {keyword: bound for keyword, bound in bounds.items() if bound is not None}
    elif parameter.kind is ParameterKind.CHOICE:
        schema["enum"] = list(parameter.choices)
    elif parameter.pattern:
        schema["pattern"] = f"^{parameter.pattern}$"
    elif parameter.kind is ParameterKind.TEXT and (parameter.in_path or parameter.minimum):
        schema["minLength"] = parameter.minimum or 1
    if parameter.default is not None:
        schema["default"] = parameter.default
    return schema

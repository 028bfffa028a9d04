"""Parameters of a request, as OpenAPI parameter objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemas.endpoint import Endpoint, Shape
from schemas.openapi.json_schema import Schema
from schemas.parameters import Parameter, ParameterKind

_ALPHA_EXAMPLE: Final = "Test_momentum"
_EXAMPLES: Final[Mapping[str, str]] = {
    "alpha": _ALPHA_EXAMPLE,
    "date": "2020-03-27",
    "key_id": "0123456789abcdef",
    "from": "2020-01-01",
    "to": "2020-12-31",
    "book": "long_short",
    "search": "momentum",
    "snapshot": "3f0c9a5be21d47c88e10",
    "min_abs_weight": "0.01",
}

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
    parameter_schema: Schema = {
        "name": parameter.name,
        "in": "path" if parameter.in_path else "query",
        "description": " ".join(sentences(parameter)),
        "required": parameter.required,
        "schema": value_schema(parameter),
    }
    example = _EXAMPLES.get(parameter.name)
    if parameter.kind is ParameterKind.SYMBOLS:
        example = "AAPL,MSFT"
    if parameter.kind is ParameterKind.ALPHAS:
        example = f"{_ALPHA_EXAMPLE},Test_reversal"
    if parameter.kind is ParameterKind.NAMES:
        example = ",".join(parameter.choices[:2])
    if parameter.name == "symbol" and parameter.in_path:
        example = "SPY"
    if example is not None and parameter.kind is not ParameterKind.CHOICE:
        parameter_schema["example"] = float(example) if parameter.kind is ParameterKind.NUMBER else example
    return parameter_schema


def sentences(parameter: Parameter) -> list[str]:
    """Return the meaning of a parameter, and its rule if it has one."""
    if parameter.kind is ParameterKind.FORBIDDEN:
        return [parameter.meaning, f"It is {parameter.constraint}."]
    if parameter.kind is ParameterKind.TEXT:
        return [parameter.meaning]
    return [parameter.meaning, f"Must be {parameter.constraint}."]


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
            schema = {"type": "string", **({"minLength": 1} if parameter.in_path else {})}
    if parameter.default is not None:
        schema["default"] = parameter.default
    return schema


def _bounds(parameter: Parameter, *, is_integer: bool) -> dict[str, Any]:
    bounds = {"minimum": parameter.minimum, "maximum": parameter.maximum}
    return {name: int(x) if is_integer else x for name, x in bounds.items() if x is not None}

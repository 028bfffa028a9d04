"""Example values, made from the declarations so that they cannot contradict them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemas.field import Field, FieldType

_PLAIN: Final[Mapping[FieldType, Any]] = {
    FieldType.DATE: "2020-03-27",
    FieldType.INSTANT: "2020-03-27T20:00:00Z",
    FieldType.BOOLEAN: False,
    FieldType.ANY: "as sealed",
    FieldType.NULL: None,
}
_TEXTS: Final[Mapping[str, str]] = {
    "request_id": "req-7f3c2a",
    "ip": "203.0.113.7",
    "endpoint": "portfolio.ledger",
    "book": "long_short",
    "snapshot": "3f0c9a5be21d47c88e10",
    "current": "3f0c9a5be21d47c88e10",
    "available": "long_short",
    "name": "limit",
    "constraint": "a plain decimal integer from 1 to 5000",
}


def example_of(field: Field) -> Any:
    """Return a value that conforms to a declaration; optional members are left out, nullable ones are filled."""
    if field.vocabulary:
        return field.vocabulary[0]
    match field.type:
        case FieldType.OBJECT:
            return {part.name: example_of(part) for part in field.fields if not part.optional}
        case FieldType.ARRAY:
            entry = field.items
            return [] if entry is None else [example_of(entry.called(entry.name or field.name))]
        case FieldType.MAP:
            return {}
        case FieldType.UNION:
            return example_of(field.variants[0])
        case FieldType.TEXT:
            return _TEXTS.get(field.name, "text")
        case FieldType.INTEGER | FieldType.NUMBER:
            return _figure(field)
        case _:
            return _PLAIN[field.type]


def _figure(field: Field) -> int | float:
    least = field.minimum if field.minimum is not None else 0
    return int(least) if field.type is FieldType.INTEGER else float(least)

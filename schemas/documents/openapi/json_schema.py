"""JSON Schema (2020-12) of a declared payload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from schemas.field import Field, FieldType

Schema = dict[str, Any]

_TYPES: Final[Mapping[FieldType, Schema]] = {
    FieldType.OBJECT: {"type": "object"},
    FieldType.ARRAY: {"type": "array"},
    FieldType.MAP: {"type": "object"},
    FieldType.UNION: {},
    FieldType.TEXT: {"type": "string"},
    FieldType.DATE: {"type": "string", "format": "date"},
    FieldType.INSTANT: {
        "type": "string",
        "format": "date-time",
        "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{6})?Z$",
    },
    FieldType.INTEGER: {"type": "integer", "format": "int64"},
    FieldType.NUMBER: {"type": "number", "format": "double"},
    FieldType.BOOLEAN: {"type": "boolean"},
    FieldType.ANY: {},
    FieldType.NULL: {"type": "null"},
}
_BOUNDS: Final[Mapping[FieldType, tuple[str, str]]] = {
    FieldType.TEXT: ("minLength", "maxLength"),
    FieldType.ARRAY: ("minItems", "maxItems"),
    FieldType.MAP: ("minProperties", "maxProperties"),
    FieldType.OBJECT: ("minProperties", "maxProperties"),
    FieldType.INTEGER: ("minimum", "maximum"),
    FieldType.NUMBER: ("minimum", "maximum"),
}


def reference(model: str) -> Schema:
    """Return a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{model}"}


def make_schema(field: Field, *, define: bool = False) -> Schema:
    """Return the schema of a declaration, with its unit in ``x-unit`` and in the description.

    Objects are closed: undeclared keys do not conform. `required` lists the keys that are always present, null or not.

    Parameters
    ----------
    field
        The declaration.
    define
        Whether to define a declaration with a model in place, rather than refer to its definition.
    """
    schema = _nullable_reference(field) if field.model and not define else _spelled(field)
    schema["description"] = make_description(field)
    if field.unit_text:
        schema["x-unit"] = field.unit_text
    if field.raw:
        schema["x-raw"] = True
    if field.deprecated:
        schema["deprecated"] = True
    return schema


def make_description(field: Field) -> str:
    """Return the meaning, followed by the unit and by restrictions of access."""
    sentences = [field.meaning]
    if field.unit_text and field.type in (FieldType.INTEGER, FieldType.NUMBER):
        sentences.append(f"Unit: {field.unit_text}.")
    if field.raw:
        sentences.append("Only with raw-book access.")
    return " ".join(sentences)


def definitions(field: Field) -> Iterator[tuple[str, Schema]]:
    """Yield the definition of every model in a declaration, outermost first; a model may occur several times."""
    for _, part in field.walk():
        if part.model:
            yield part.model, make_schema(replace(part, nullable=False), define=True)


def _nullable_reference(field: Field) -> Schema:
    if field.nullable:
        return {"anyOf": [reference(field.model), {"type": "null"}]}
    return reference(field.model)


def _spelled(field: Field) -> Schema:
    schema: Schema = dict(_TYPES[field.type])
    if field.vocabulary:
        schema["enum"] = list(field.vocabulary)
    if field.pattern is not None:
        keyed = field.type is FieldType.MAP
        schema |= {"propertyNames": {"pattern": field.pattern}} if keyed else {"pattern": field.pattern}
    for keyword, bound in zip(_BOUNDS.get(field.type, ()), (field.minimum, field.maximum), strict=False):
        if bound is not None:
            schema[keyword] = bound if field.type is FieldType.NUMBER else int(bound)
    if field.above is not None:
        schema["exclusiveMinimum"] = field.above
    _add_members(schema, field)
    if field.nullable and field.type is not FieldType.ANY:
        return _with_null(schema)
    return schema


def _add_members(schema: Schema, field: Field) -> None:
    if field.type is FieldType.OBJECT:
        schema["properties"] = {part.name: make_schema(part) for part in field.fields}
        required = [part.name for part in field.fields if not part.optional]
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False if field.items is None else make_schema(field.items)
    if field.type is FieldType.ARRAY:
        schema["items"] = make_schema(field.items) if field.items is not None else {}
    if field.type is FieldType.MAP and field.items is not None:
        schema["additionalProperties"] = make_schema(field.items)
    if field.variants:
        schema["oneOf"] = [make_schema(variant) for variant in field.variants]


def _with_null(schema: Schema) -> Schema:
    if "enum" in schema:
        schema = {**schema, "enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]}

"""Rows of published tables, as declarations of fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemas.field import Field, FieldType, record
from schemas.rows import ROWS, RowModel
from schemas.table import PATTERNS, Bound, Column, Origin, Table
from schemas.units import Type

JSON_TYPES: Final[Mapping[Type, FieldType]] = {
    Type.DATE: FieldType.DATE,
    Type.TIMESTAMP: FieldType.INSTANT,
    Type.F64: FieldType.NUMBER,
    Type.I64: FieldType.INTEGER,
    Type.BOOL: FieldType.BOOLEAN,
    Type.STR: FieldType.TEXT,
}
"""Storage type -> JSON type."""
_BOUNDS: Final[Mapping[Bound, Mapping[str, Any]]] = {
    Bound.POSITIVE: {"above": 0},
    Bound.NOT_NEGATIVE: {"minimum": 0},
    Bound.NOT_POSITIVE: {"maximum": 0},
    **{bound: {"pattern": f"^{pattern}$"} for bound, pattern in PATTERNS.items()},
}
"""Bounds as rules of a field; `NOT_ZERO` has no rule in JSON Schema."""


def always_there(column: Column, table: Table) -> bool:
    """Whether every snapshot with the table has the column.

    Columns that an engine may omit, and columns derived from them, may be missing.
    """
    if column.optional and column.origin is not Origin.EITHER:
        return False
    if column.origin is Origin.SEALED:
        return True
    return all(need in table and always_there(table[need], table) for need in column.needs)


def column_field(column: Column, *, optional: bool, nullable: bool) -> Field:
    """Return a column as a member of a row."""
    is_integer = column.type is Type.I64
    return Field(
        column.name,
        JSON_TYPES[column.type],
        column.meaning,
        column.unit,
        nullable=nullable,
        optional=optional,
        raw=column.raw,
        vocabulary=tuple(int(word) if is_integer else word for word in column.vocabulary),
        **_BOUNDS.get(column.bound, {}),
    )


def row_field(model: RowModel) -> Field:
    """Return a row as an object.

    A column is optional if a run may lack it or a key may not see it, unless the row serves null instead.
    """
    members = [
        column_field(
            column,
            optional=column.raw
            or not (column.name in model.null_when_absent or always_there(column, model.table)),
            nullable=column.nullable or column.name in model.null_when_absent,
        )
        for column in model.columns
    ]
    name = "".join(word.title() for word in model.name.split("_"))
    return record(model.name, model.table.meaning, *members, model=f"{name}Row")


ROW_FIELDS: Final[dict[str, Field]] = {name: row_field(model) for name, model in ROWS.items()}
"""Name of a row model -> its object."""

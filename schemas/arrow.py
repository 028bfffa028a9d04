"""Arrow schemas derived from the table declarations, with unit and meaning as field metadata."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import pyarrow as pa

from schemas.table import Column, Table
from schemas.units import Type

_ARROW: Final[dict[Type, pa.DataType]] = {
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Type.F64: pa.float64(),
    Type.I64: pa.int64(),
    Type.BOOL: pa.bool_(),
    Type.STR: pa.large_string(),
}


def arrow_field(column: Column) -> pa.Field:
    """Return the Arrow field of a column: type, nullability, and its unit and meaning as metadata."""
    metadata = {"unit": column.unit.value, "meaning": column.meaning}
    if column.vocabulary:
        metadata["vocabulary"] = ",".join(column.vocabulary)
    return pa.field(column.name, _ARROW[column.type], nullable=column.nullable, metadata=metadata)


def stored_schema(table: Table, present: Collection[str]) -> pa.Schema:
    """Return the schema of a published file with the `present` columns, in declared order."""
    fields = [arrow_field(column) for column in table.stored_columns if column.name in present]
    return pa.schema(fields, metadata={"table": table.name, "meaning": table.meaning})

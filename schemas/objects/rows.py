"""Rows of tables, as declarations of fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from schemas.field import Field, FieldType, figure, record, text
from schemas.metrics.checked import CHECKED
from schemas.metrics.headline import HEADLINE
from schemas.metrics.statistic import Checked
from schemas.rows import ROWS, RowModel
from schemas.table import PATTERNS, Bound, Column, Origin, Table
from schemas.units import Type

_TYPES: Final[Mapping[Type, FieldType]] = {
    Type.DATE: FieldType.DATE,
    Type.TIMESTAMP: FieldType.INSTANT,
    Type.F64: FieldType.NUMBER,
    Type.I64: FieldType.INTEGER,
    Type.BOOL: FieldType.BOOLEAN,
    Type.STR: FieldType.TEXT,
}
_BOUNDS: Final[Mapping[Bound, Mapping[str, Any]]] = {
    Bound.POSITIVE: {"above": 0},
    Bound.NOT_NEGATIVE: {"minimum": 0},
    Bound.NOT_POSITIVE: {"maximum": 0},
    **{bound: {"pattern": f"^{pattern}$"} for bound, pattern in PATTERNS.items()},
}
"""Bounds as rules of a field; `NOT_ZERO` has no rule in JSON Schema."""


def always_there(column: Column, table: Table | None) -> bool:
    """Whether every snapshot with the table has the column.

    Columns that an engine may omit, and columns derived from them, may be missing.
    """
    if table is None or (column.optional and column.origin is not Origin.EITHER):
        return table is None
    if column.origin is Origin.SEALED:
        return True
    return all(need in table and always_there(table[need], table) for need in column.needs)


def column_field(column: Column, *, optional: bool, nullable: bool) -> Field:
    """Return a column as a member of a row."""
    is_integer = column.type is Type.I64
    return Field(
        column.name,
        _TYPES[column.type],
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
    table = model.table
    members = [
        column_field(
            column,
            optional=column.raw or not (column.name in model.null_when_absent or always_there(column, table)),
            nullable=column.nullable or column.name in model.null_when_absent,
        )
        for column in model.columns
    ]
    name = "".join(word.title() for word in model.name.split("_"))
    return record(model.name, table.meaning if table else "One row.", *members, model=f"{name}Row")


_CHECKED: Final = replace(
    CHECKED,
    meaning=f"{CHECKED.meaning.removesuffix('.')}, or the key may not read the run; only with `fields`.",
    optional=True,
)
_FIGURES: Final = record(
    "figures",
    "Figures requested by `fields`, null if withheld; only with `fields`.",
    *(
        figure(x.name, x.meaning, unit=x.counts, optional=True, deprecated=x.deprecated)
        for x in HEADLINE.values()
    ),
    optional=True,
)
_RESTS_ON: Final = record(
    "figures_checked",
    "Provenance of each figure with a value; only with `fields`. `stated` figures are excluded from sorting and bounds.",
    *(
        text(
            name,
            f"`checked` of `{name}` in the metrics of the run.",
            vocabulary=tuple(x.value for x in Checked),
            optional=True,
        )
        for name in HEADLINE
    ),
    optional=True,
)
_WITHHELD: Final = record(
    "withheld",
    "Reason for each requested figure without a value; empty if all have one; only with `fields`.",
    *(text(name, f"Why `{name}` is withheld.", optional=True) for name in HEADLINE),
    optional=True,
)


def _with_figures(row: Field) -> Field:
    """Return the row of an alpha with the members that requests may add."""
    return (
        replace(row, fields=(*row.fields, _CHECKED, _FIGURES, _RESTS_ON, _WITHHELD))
        if row.name == "screened_alpha"
        else row
    )


ROW_FIELDS: Final[dict[str, Field]] = {name: _with_figures(row_field(model)) for name, model in ROWS.items()}
"""Name of a row model -> its object."""

"""What the seal writer knows of the format, written from the declarations: the columns of the tables and their keys."""

from __future__ import annotations

from typing import Final

from schemas.tables import SEALED_TABLES
from schemas.units import Type

_TYPES: Final = {
    Type.DATE: "date",
    Type.TIMESTAMP: "instant",
    Type.F64: "float",
    Type.I64: "int",
    Type.BOOL: "bool",
    Type.STR: "text",
}


def seal_columns() -> str:
    """Return the module of the seal writer that lists the columns an engine may write, not yet formatted."""
    lines = [
        '"""The tables of a seal: their columns and keys."""',
        "",
        "# Written by `just docs` from the declarations of the format; a test fails when it is stale.",
        "",
        "from __future__ import annotations",
        "",
        "from typing import NamedTuple",
        "",
        "class Column(NamedTuple):",
        '    """One column: its type, and what its values keep."""',
        "",
        "    name: str",
        "    type: str",
        "    optional: bool = False",
        "    nullable: bool = False",
        "    vocabulary: tuple[str, ...] = ()",
        '    bound: str = ""',
        "",
        "COLUMNS: dict[str, tuple[Column, ...]] = {",
    ]
    for kind, table in SEALED_TABLES.items():
        lines.append(f"    {kind!r}: (")
        for column in table.sealed_columns:
            options = [f"{name}=True" for name in ("optional", "nullable") if getattr(column, name)]
            if column.vocabulary:
                options.append(f"vocabulary={column.vocabulary!r}")
            if any(sign in column.bound.value for sign in ("<", ">", "not 0")):
                options.append(f"bound={column.bound.value!r}")
            lines.append(
                f"        Column({', '.join([repr(column.name), repr(_TYPES[column.type]), *options])}),"
            )
        lines.append("    ),")
    lines += [
        "}",
        '"""Kind -> the columns that an engine may write."""',
        "",
        "KEYS: dict[str, tuple[str, ...]] = {",
    ]
    for kind, table in SEALED_TABLES.items():
        sealed = {column.name for column in table.sealed_columns}
        # Trades have none: a fill is known by its place.
        lines.append(f"    {kind!r}: {table.key if set(table.key) <= sealed else ()!r},")
    lines += ["}", '"""Kind -> the columns that are unique together."""', ""]
    return "\n".join(lines)

"""The data dictionary: every published table and column, as a Markdown page derived from the declarations."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.table import Column, Origin, Table
from schemas.tables import TABLES


def data_dictionary() -> str:
    """Return the whole page, ending in one newline."""
    lines = [
        "# Data dictionary",
        "",
        "Derived from the declarations in `schemas/tables`; `uv run just docs` writes it again.",
        "",
        "Columns marked *optional* may be absent: the run never recorded them. *Raw* columns are served only to keys",
        "with raw-book access. *Derived* columns are computed by the pipeline; the others are as the engine sealed",
        "them. Partition columns stand in the path (`book=long_short/`) rather than in the file.",
        "",
    ]
    for table in TABLES.values():
        lines.extend(_section(table))
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(table: Table) -> Iterator[str]:
    yield f"## {table.name}"
    yield ""
    yield table.meaning
    yield ""
    traits = [f"key: {_names(table.key)}", f"order: {_names(table.sort)}"]
    if table.partition:
        traits.append(f"partitioned by: {_names(table.partition)}")
    traits.append("sealed by the engine" if table.sealed else "made by the pipeline")
    yield "; ".join(traits) + "."
    yield ""
    yield "| column | type | unit | meaning | notes |"
    yield "|---|---|---|---|---|"
    for column in table:
        yield f"| `{column.name}` | {column.type} | {column.unit} | {_cell(column.meaning)} | {', '.join(_notes(column))} |"
    yield ""


def _notes(column: Column) -> Iterator[str]:
    if not column.published:
        yield "sealed only, not published"
    if column.origin is Origin.DERIVED:
        yield "derived"
    if column.origin is Origin.EITHER:
        yield "derived unless sealed"
    if column.optional:
        yield "optional"
    if column.needs and column.origin is not Origin.SEALED:
        yield "needs " + _names(column.needs)
    if column.nullable:
        yield "may be null"
    if column.raw:
        yield "raw"
    if column.bound != "any":
        yield column.bound
    if column.vocabulary:
        yield "one of " + _names(column.vocabulary)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

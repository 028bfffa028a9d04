"""The derived parts of the format's specification: columns with units, and rules."""

from __future__ import annotations

from typing import Final

from pipeline.rules.registry import RULES
from schemas.kinds import REQUIRED_KINDS
from schemas.marks import with_part
from schemas.tables import SEALED_TABLES

_COLUMNS: Final = ("<!-- columns -->", "<!-- end of columns -->")
_RULES: Final = ("<!-- rules -->", "<!-- end of rules -->")


def with_format(document: str) -> str:
    """Return the specification with its tables of columns and of rules put anew."""
    return with_part(with_part(document, *_COLUMNS, _columns()), *_RULES, _rules())


def _columns() -> str:
    lines = []
    for kind, table in SEALED_TABLES.items():
        sealed = {column.name for column in table.sealed_columns}
        key = f" Key: {', '.join(f'`{name}`' for name in table.key)}." if set(table.key) <= sealed else ""
        needed = "" if kind in REQUIRED_KINDS else " A complete run may lack it."
        lines += [
            f"### {kind}.parquet", "", f"{table.meaning}{key}{needed}", "",
            "| column | type | unit | may be absent | may be null | values | meaning |", "|---|---|---|---|---|---|---|",
        ]  # fmt: skip
        for column in table.sealed_columns:
            values = ", ".join(f"`{code}`" for code in column.vocabulary) or (
                "" if column.bound == "any" else column.bound.value
            )
            absent, null = ("yes" if allowed else "" for allowed in (column.optional, column.nullable))
            cells = (
                f"`{column.name}`",
                column.type.value,
                column.unit.value,
                absent,
                null,
                values,
                column.meaning,
            )
            lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _rules() -> str:
    lines = ["| rule | what has to hold |", "|---|---|"]
    for rule in RULES.values():
        marks = [mark for mark, set_ in (("warning", rule.warns), ("voids", rule.voids)) if set_]
        anchor = "-".join([rule.id.replace(".", ""), *marks])  # of its heading in docs/rules.md
        warns = " *(warning)*" if rule.warns else ""
        lines.append(f"| [`{rule.id}`](../rules.md#{anchor}){warns} | {_cell(rule.meaning)} |")
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

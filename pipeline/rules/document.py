"""Documents derived from the rules: docs/rules.md, and parts of the format's specification."""

from __future__ import annotations

from typing import Final

from pipeline.reconciliation.conventions import CONVENTIONS, Convention
from pipeline.reconciliation.figures import TOLERANCE
from pipeline.rule import Rule
from pipeline.rules.book_rules import CARRY, TURNOVER
from pipeline.rules.registry import RULES
from pipeline.rules.tolerance import ABSOLUTE, RELATIVE
from schemas.documents import escape_cell, with_part
from schemas.kinds import REQUIRED_KINDS
from schemas.metrics.core import OWN_CONVENTIONS
from schemas.tables import SEALED_TABLES

_HEAD = f"""\
# Rules of a seal

Written by `alpha-results rules --markdown`; a test fails when it is out of date.

A seal that breaks any rule is refused: nothing of it is published, and what was published before keeps
being served. All broken rules are reported together, each with the file, the number of rows that break it and
up to five of them. A rule marked *warning* refuses nothing.

Two figures are equal when they differ by at most {RELATIVE:g} of the larger magnitude, or by {ABSOLUTE:g} of
the scale: `equity_basis` for money, 1 for weights.

A rule is left out, and the report says so, when a kind it reads is not sealed or failed `seal.path` or
`seal.digest`; when a column it needs failed a rule marked *voids*, since its values then mean nothing; and when
it joins or sums on a key that failed `table.key`.
"""


def rules_markdown() -> str:
    """Return the document: every rule in the order checked, with its meaning, what it reads and the fix."""
    return "\n".join([_HEAD, *(_section(rule) for rule in RULES.values()), _conventions()])


def _conventions() -> str:
    """List the conventions under which figures are recomputed, from their declarations."""
    lines = [
        "## Conventions",
        "",
        "A figure of metrics.json is compared with the conventions of its name in this order, and the first that gives",
        f"it, to {TOLERANCE:g} of its magnitude (of 1 at least, of `equity_basis` for money), is recorded. Those in bold",
        "are the interface's own definition: a figure by another one is not served, but stands beside the one that is",
        "computed by it. A record that calls itself annualised is compared with annualised conventions alone, one that does not",
        "with the others; where units are named, with those of its unit. Periods take the sessions and weeks dated in them.",
        "",
        "| figure | conventions |",
        "|---|---|",
    ]
    for name, conventions in CONVENTIONS.items():
        described = "; ".join(
            f"**{_convention(convention)}**"
            if convention.name in OWN_CONVENTIONS[name]
            else _convention(convention)
            for convention in conventions
        )
        lines.append(f"| `{name}` | {described} |")
    lines += ["", "`turnover` of the ledger: " + "; ".join(TURNOVER.values()) + ".", ""]
    lines += ["`cash_carry` of the ledger: " + "; ".join(CARRY.values()) + ".", ""]
    return "\n".join(lines)


def _convention(convention: Convention) -> str:
    marks = (["annualised"] if convention.annualised else []) + list(convention.units)
    return f"{convention.name} ({', '.join(marks)})" if marks else convention.name


def _section(rule: Rule[...]) -> str:
    marks = [mark for mark, set_ in (("warning", rule.warns), ("voids", rule.voids)) if set_]
    lines = [f"## {rule.id}" + (f" (*{', '.join(marks)}*)" if marks else ""), "", rule.meaning, ""]
    reads = ", ".join(f"`{kind}`" for kind in rule.kinds)
    if reads:
        lines += [f"Reads: {reads}.", ""]
    return "\n".join([*lines, f"Fix: {rule.remedy}", ""])


_COLUMNS: Final = ("<!-- columns -->", "<!-- end of columns -->")
_RULES: Final = ("<!-- rules -->", "<!-- end of rules -->")


def with_format(document: str) -> str:
    """Return the specification with its tables of columns and rules replaced."""
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
            lines.append("| " + " | ".join(escape_cell(cell) for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _rules() -> str:
    lines = ["| rule | what has to hold |", "|---|---|"]
    for rule in RULES.values():
        marks = [mark for mark, set_ in (("warning", rule.warns), ("voids", rule.voids)) if set_]
        anchor = "-".join([rule.id.replace(".", ""), *marks])  # of its heading in docs/rules.md
        warns = " *(warning)*" if rule.warns else ""
        lines.append(f"| [`{rule.id}`](../rules.md#{anchor}){warns} | {escape_cell(rule.meaning)} |")
    return "\n".join([*lines, ""])

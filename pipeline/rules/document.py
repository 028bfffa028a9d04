"""Parts of documents that are derived from the rules; ``python -m pipeline.rules.document DOCUMENT…`` updates them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from pipeline.reconciliation.conventions import CONVENTIONS, Convention
from pipeline.rule import Rule
from pipeline.rules.book_rules import CARRY, TURNOVER
from pipeline.rules.registry import RULES
from schemas.documents.parts import Parts, column_table, markdown_table, update
from schemas.kinds import REQUIRED_KINDS
from schemas.metrics.core import SERVED_CONVENTIONS
from schemas.tables import SEALED_TABLES


def _conventions() -> str:
    """List the conventions under which figures are recomputed, from their declarations."""
    rows = [
        (f"`{name}`", "; ".join(_convention(x, own=x.name in SERVED_CONVENTIONS[name]) for x in conventions))
        for name, conventions in CONVENTIONS.items()
    ]
    table = markdown_table(("figure", "conventions"), rows)
    turnover, carry = "; ".join(TURNOVER.values()), "; ".join(CARRY.values())
    return f"{table}\n`turnover` of the ledger: {turnover}.\n\n`cash_carry` of the ledger: {carry}.\n"


def _convention(convention: Convention, *, own: bool) -> str:
    """Return a convention with its marks; one of the API's own definition in bold."""
    marks = (["annualised"] if convention.annualised else []) + list(convention.units)
    text = f"{convention.name} ({', '.join(marks)})" if marks else convention.name
    return f"**{text}**" if own else text


def _section(rule: Rule[...]) -> str:
    marks = [mark for mark, set_ in (("warning", rule.warns), ("voids", rule.voids)) if set_]
    lines = [f"## {rule.id}" + (f" (*{', '.join(marks)}*)" if marks else ""), "", rule.meaning, ""]
    reads = ", ".join(f"`{kind}`" for kind in rule.kinds)
    if reads:
        lines += [f"Reads: {reads}.", ""]
    return "\n".join([*lines, f"Fix: {rule.remedy}", ""])


def _rules() -> str:
    """Return every rule in the order of the checks, with its meaning, inputs and fix."""
    return "\n".join(_section(rule) for rule in RULES.values())


def _columns() -> str:
    """Return the columns of every sealed table."""
    parts = []
    for kind, table in SEALED_TABLES.items():
        sealed = {column.name for column in table.sealed_columns}
        key = f" Key: {', '.join(f'`{name}`' for name in table.key)}." if set(table.key) <= sealed else ""
        needed = "" if kind in REQUIRED_KINDS else " A complete run may lack it."
        parts.append(
            f"### {kind}.parquet\n\n{table.meaning}{key}{needed}\n\n{column_table(table.sealed_columns)}"
        )
    return "\n".join(parts)


PARTS: Final[Parts] = {"rules": _rules, "conventions": _conventions, "columns": _columns}

if __name__ == "__main__":
    update(map(Path, sys.argv[1:]), PARTS)

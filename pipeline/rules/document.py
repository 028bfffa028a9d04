"""The list of rules as a document, written from the rules themselves."""

from __future__ import annotations

from pipeline.rule import Rule
from pipeline.rules.registry import RULES
from pipeline.rules.tolerance import ABSOLUTE, RELATIVE

_HEAD = f"""\
# Rules of a seal

Written by `python -m pipeline rules --markdown`; a test fails when it is out of date.

A seal that breaks any rule is refused whole: nothing of it is published, and what was published before keeps
being served. All broken rules are reported together, each with the file, the number of rows that break it and
up to five of them. A rule marked *warning* refuses nothing.

Two figures are equal when they differ by at most {RELATIVE:g} of the larger magnitude, or by {ABSOLUTE:g} of
the scale: `equity_basis` for money, 1 for weights.

A rule is left out, and the report says so, when a kind it reads is not sealed or failed `seal.path` or
`seal.digest`; when a column it needs failed a rule marked *voids*, since its values then mean nothing; and when
it joins or sums on a key that failed `table.key`.
"""


def rules_markdown() -> str:
    """Return the document: every rule in the order checked, with its meaning, what it reads and the way out."""
    return "\n".join([_HEAD, *(_section(rule) for rule in RULES.values())])


def _section(rule: Rule[...]) -> str:
    marks = [mark for mark, set_ in (("warning", rule.warns), ("voids", rule.voids)) if set_]
    lines = [f"## {rule.id}" + (f" (*{', '.join(marks)}*)" if marks else ""), "", rule.meaning, ""]
    reads = ", ".join(f"`{kind}`" for kind in rule.kinds)
    if reads:
        lines += [f"Reads: {reads}.", ""]
    return "\n".join([*lines, f"Way out: {rule.remedy}", ""])

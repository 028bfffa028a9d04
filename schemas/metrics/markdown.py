"""The table of definitions in docs/metrics.md."""

from __future__ import annotations

from typing import Final

from schemas.marks import with_part
from schemas.metrics.core import CORE, RANK_IC
from schemas.metrics.families import FAMILIES
from schemas.metrics.field import documented
from schemas.metrics.statistic import Checked, Statistic

BEGIN: Final = "<!-- definitions: derived from schemas/metrics by `just docs` -->"
END: Final = "<!-- end of definitions -->"
FAMILIES_BEGIN: Final = "<!-- research figures: derived from schemas/metrics/families by `just docs` -->"
FAMILIES_END: Final = "<!-- end of research figures -->"
_MEANINGS: Final = {
    Checked.REPRODUCED: "The run sealed it, and its tables give the same by the definition above, to 1e-6. The sealed digits are served.",
    Checked.COMPUTED: "Computed from the tables by that definition: the run sealed none, or one by another convention "
    "(`sealed_value`, `sealed_unit` and `sealed_convention` beside it).",
    Checked.STATED: "The run sealed it, and no table supports it: the kind or the column it would follow from was not sealed. It is "
    "served as sealed with the notice `figure_stated`, and takes no part in sorts, bounds and comparisons.",
    Checked.CONTRADICTED: "The tables contradict what the run sealed (`sealed_value`): the figure computed from them is served, or none, "
    "with the notice `figure_not_reproduced`.",
}


def definitions() -> str:
    """Return each statistic and what its formula leaves open, and each word of `checked`, as Markdown."""
    rows = [_row(f"core.{x.name}", x) for x in CORE]
    rows += [_row(f"rank_ic.{signal}.{x.name}", x) for signal, family in RANK_IC.items() for x in family]
    words = [f"| `{word.value}` | {meaning} |" for word, meaning in _MEANINGS.items()]
    head = "| statistic | formula | calendar | costs | ddof | a year by | risk-free rate |\n|---|---|---|---|---|---|---|"
    return "\n".join([head, *rows, "", "| `checked` | meaning |\n|---|---|", *words, ""])


def family_definitions() -> str:
    """Return each figure of each family of research figures, with its formula and where that comes from, as Markdown."""
    parts = []
    for family in FAMILIES.values():
        rows = [
            f"| `{path}` | {field.counts} | {field.formula} | {field.source} |"
            for path, field in documented(family.payload)
            if field.formula and not path.rpartition("[].")[0]
        ]
        head = "| figure | unit | formula | source |\n|---|---|---|---|"
        parts += [f"### {family.name}", "", family.payload.meaning, "", head, *rows, ""]
    return "\n".join(parts)


def with_definitions(document: str) -> str:
    """Return a document with the tables put anew between their marks."""
    document = with_part(document, BEGIN, END, definitions())
    return with_part(document, FAMILIES_BEGIN, FAMILIES_END, family_definitions())


def _row(path: str, statistic: Statistic) -> str:
    x = statistic.definition
    ddof = "" if x.ddof is None else str(x.ddof)
    return (
        f"| `{path}` | {statistic.formula} | {x.calendar} | {x.costs} | {ddof} | {x.factor} | {x.risk_free} |"
    )

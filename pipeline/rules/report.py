"""What a check came to, for programs and for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.rule import Violation


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule, or a part of one, that nothing could be said about, and why."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of checking one seal.

    Attributes
    ----------
    address, alpha_id
        Which seal; `alpha_id` is None when the manifest does not say.
    violations
        Broken rules in the order checked, one entry a rule and file.
    warnings
        What was noticed without refusing the seal.
    not_checked
        Rules, or parts of rules, that could not be checked.
    counts
        Kind -> rows read.
    """

    address: str
    alpha_id: str | None
    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        """Whether any rule is broken."""
        return bool(self.violations)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON-ready mapping."""
        return {
            "seal": self.address,
            "alpha_id": self.alpha_id,
            "refused": self.refused,
            "violations": [violation.to_dict() for violation in self.violations],
            "warnings": [warning.to_dict() for warning in self.warnings],
            "not_checked": [{"rule": entry.rule, "reason": entry.reason} for entry in self.not_checked],
            "rows": dict(self.counts),
        }

    def __rich__(self) -> RenderableType:
        """Lay the report out for a terminal."""
        found = self.to_dict()
        counts = ", ".join(f"{rows:,} {kind}" for kind, rows in self.counts.items()) or "no table"
        verdict = (
            Text(f"refused: {len(self.violations)} broken", style="bold red")
            if self.refused
            else Text("accepted", style="bold green")
        )
        parts: list[RenderableType] = [
            Text.assemble((self.alpha_id or self.address, "bold"), "  ", verdict, f"  {counts}")
        ]
        if found["violations"]:
            parts.append(violations_table(found["violations"]))
        if found["warnings"]:
            parts.append(violations_table(found["warnings"], title="Warnings"))
        by_reason = groupby(
            sorted(self.not_checked, key=lambda entry: entry.reason), lambda entry: entry.reason
        )
        parts += [
            Text(f"not checked, {reason}: {', '.join(entry.rule for entry in entries)}", style="dim")
            for reason, entries in by_reason
        ]
        return Group(*parts)


def violations_table(violations: Sequence[Mapping[str, Any]], title: str = "Broken rules") -> Table:
    """Lay violations out as a table: rule, file, rows, what is wrong, examples and the way out.

    Parameters
    ----------
    violations
        As :meth:`pipeline.rule.Violation.to_dict` returns them, and as :class:`schemas.errors.SealRefused`
        carries them.
    title
        What stands above the table.
    """
    table = Table(title=title, title_justify="left", show_lines=True)
    for heading in ("rule", "file"):
        table.add_column(heading, no_wrap=True)
    table.add_column("rows", justify="right")
    table.add_column("what is wrong, examples, way out", overflow="fold")
    for violation in violations:
        # Text, not markup: a file's own words must not be read as styling.
        told = Text(violation["message"])
        for example in violation["examples"]:
            told.append(
                "\n  " + ", ".join(f"{name}={_shown(value)}" for name, value in example.items()), "cyan"
            )
        told.append(f"\n{violation['remedy']}", "dim")
        table.add_row(violation["rule"], Text(violation["file"]), f"{violation['rows']:,}", told)
    return table


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in str(value)
    )

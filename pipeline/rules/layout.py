"""What a check came to, laid out for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.rules.report import Report


def report_layout(report: Report) -> RenderableType:
    """Lay a report out: the verdict, what is broken, what was noticed, and what was not checked."""
    found = report.to_dict()
    counts = ", ".join(f"{rows:,} {kind}" for kind, rows in report.counts.items()) or "no table"
    verdict = (
        Text(f"refused: {len(report.violations)} broken", style="bold red")
        if report.refused
        else Text("accepted", style="bold green")
    )
    parts: list[RenderableType] = [
        Text.assemble((report.alpha_id or report.address, "bold"), "  ", verdict, f"  {counts}")
    ]
    if found["violations"]:
        parts.append(violations_table(found["violations"]))
    if found["warnings"]:
        parts.append(violations_table(found["warnings"], title="Warnings"))
    by_reason = groupby(
        sorted(report.not_checked, key=lambda entry: entry.reason), lambda entry: entry.reason
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

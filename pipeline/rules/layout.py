"""Layout of a check's report for a terminal: lines that break only between words."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from rich.text import Text

from pipeline.reconciliation.figures import Figure, not_reproduced
from pipeline.rule import Level
from pipeline.rules.registry import RULES
from pipeline.rules.report import Report
from schemas.console.screen import Screen
from schemas.notices.notice import NOTICE

_SCALAR: Final = re.compile(r"null|true|false|-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
"""Text that reads like a JSON scalar of another type."""


def print_lines(screen: Screen, lines: Sequence[tuple[str, int, str]]) -> None:
    """Print lines wrapped to the width of the terminal; each has a text, the indentation of its continuation, and a style."""
    for text, indent, style in lines:
        for part in wrapped(text, screen.width, indent):
            # Text, not markup: content of a file must not be parsed as styling.
            screen.print(Text(part, style), soft_wrap=True)


def wrapped(text: str, width: int, indent: int) -> list[str]:
    """Break a line only at spaces; a word longer than the line is not broken."""
    lead = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(
        text.strip(), width, initial_indent=lead, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    ) or [""]  # fmt: skip


def report_lines(report: Report, *, verbose: bool, by_address: bool) -> list[tuple[str, int, str]]:
    """Lay out a report: verdict, broken rules, warnings, notices, figures, and unchecked rules.

    Parameters
    ----------
    verbose
        Whether to show every figure and every reason.
    by_address
        Whether to name the seal by its address, because the report may cover several seals of the alpha.
    """
    document = report.to_dict()
    counts = ", ".join(f"{rows:,} {kind}" for kind, rows in report.counts.items()) or "no table"
    verdict = f"refused: {len(report.violations)} broken" if report.refused else "accepted"
    style = "bold red" if report.refused else "bold green"
    name = report.address if by_address else report.alpha_id or report.address
    lines = [(f"{name}  {verdict}  {counts}", 2, style)]
    lines += violation_lines(document["violations"])
    lines += violation_lines(document["warnings"], "warning ")
    lines += [(line, 2, "yellow") for line in notice_lines(document["notices"])]
    lines += figure_lines(report.figures, verbose=verbose)
    lines += [
        (f"{rule}: {share.checked:,} of {share.of:,} rows compared ({share.checked / share.of:.1%})", 2, "")
        for rule, share in report.coverage.items()
        if share.of
    ]
    by_reason = groupby(
        sorted(report.not_checked, key=lambda entry: entry.reason), lambda entry: entry.reason
    )
    return lines + [
        (f"not checked, {reason}: {', '.join(entry.rule for entry in entries)}", 2, "dim")
        for reason, entries in by_reason
    ]


def violation_lines(violations: Sequence[Mapping[str, Any]], mark: str = "") -> list[tuple[str, int, str]]:
    """Lay out violations: a line with rule, row count, file and fix, then the cause and the first rows.

    Parameters
    ----------
    violations
        As returned by :meth:`pipeline.rule.Finding.to_dict` and carried by :class:`schemas.errors.SealRefused`.
    mark
        Text before each rule.
    """
    lines: list[tuple[str, int, str]] = []
    for violation in violations:
        rule = RULES.get(violation["rule"])
        is_file_rule = rule is not None and rule.level is Level.FILE
        rows = (
            "" if is_file_rule else f"{violation['rows']:,} {'row' if violation['rows'] == 1 else 'rows'} of "
        )
        head = f"{mark}{violation['rule']}: {rows}{violation['file']}. Fix: {violation['remedy']}"
        lines.append((head, 2, "yellow" if mark else "red"))
        lines.append((f"  {violation['message']}", 4, ""))
        for example in violation["examples"]:
            values = ", ".join(f"{name}={_shown(value)}" for name, value in example.items())
            lines.append((f"    {values}", 6, "cyan"))
    return lines


def notice_lines(notices: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lay out each given notice as a line; `notices` as :meth:`pipeline.notices.NoticeOutcome.to_dict` returns them."""
    return [
        f"notice {notice['notice']}: {notice['message']} Threshold: {notice['threshold']:.4g}."
        for notice in notices
        if notice["outcome"] == NOTICE
    ]


def figure_lines(figures: Sequence[Figure], *, verbose: bool) -> list[tuple[str, int, str]]:
    """Lay out the run's own figures: how many are reproduced and by which conventions; all of them if verbose."""
    if not figures:
        return []
    broken = not_reproduced(figures)
    reproduced = sum(figure.status == "reproduced" for figure in figures)
    rest = len(figures) - reproduced - len(broken)
    lines = [(f"figures: {reproduced:,} reproduced, {len(broken):,} not, {rest:,} not checked", 2, "")]
    if verbose:
        lines += [(_figure_line(figure), 6, "yellow" if figure in broken else "dim") for figure in figures]
        return lines
    used = Counter((figure.name, figure.convention) for figure in figures if figure.convention)
    return lines + [
        (f"  {name}: {convention} ({count:,})", 4, "dim") for (name, convention), count in used.items()
    ]


def _figure_line(figure: Figure) -> str:
    cause = figure.convention or figure.reason or "no convention gives the sealed value"
    span = figure.period or figure.scope
    return f"  {figure.name} {span}: sealed {_shown(figure.sealed)}, recomputed {_shown(figure.recomputed)}; {cause}"


def _shown(value: Any) -> str:
    """Return a value as text: null, true and false as in JSON; text that reads like a JSON scalar is quoted."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and _SCALAR.fullmatch(value)):
        return json.dumps(value)
    return str(value)

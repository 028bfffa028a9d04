"""``python -m pipeline check``: every rule on one or more seals, nothing published."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.progress import TaskID

from pipeline.check_apart import REFUSED, checker
from pipeline.progress import seal_progress, set_aside
from pipeline.rules.layout import report_layout
from pipeline.seal.store import without_secrets
from schemas.screen import Screen
from schemas.terminal import echo


@click.command()
@click.argument("seals", nargs=-1, required=True, metavar="SEAL…")
@click.option("--strict", is_flag=True, help="Refuse a seal of which the check only warns.")
@click.option("--verbose", is_flag=True, help="Show every figure and every broken row, not the first five.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
@click.pass_context
def check(
    context: click.Context, *, seals: tuple[str, ...], strict: bool, verbose: bool, as_json: bool
) -> None:
    """Check each SEAL, a folder or the URL of a supported store, against every rule. Nothing is written anywhere.

    Whatever one seal does to its check, the others are checked all the same: several are checked in a process of
    their own, which is started again when it dies.

    Notices refuse nothing, not even with --strict; docs/notices.md lists them.

    Exit code: 0 when every seal is accepted, 1 when one is refused (or, with --strict, warned of), 2 when one cannot
    be read (no finished seal there, or not permitted), 5 when the store is away, 7 when a check failed by a fault of the program; the
    highest of several.
    """
    screen = Screen(stderr=True)
    console = Screen()
    outcomes: list[dict[str, Any]] = []
    exit_code = 0
    with (
        seal_progress(screen, as_json=as_json) as progress,
        checker(len(seals), all_rows=verbose) as check_one,
    ):
        for address in seals:
            shown = without_secrets(address)
            task = progress.add_task(shown)

            def show(step: str, shown: str = shown, task: TaskID = task) -> None:
                progress.update(task, description=f"{shown}: {step}")

            found = check_one(address, show)
            exit_code = max(exit_code, found.exit_code)
            warned = strict and found.report is not None and bool(found.report.warnings)
            exit_code = max(exit_code, REFUSED if warned else 0)
            if found.report is None:
                outcomes.append({"seal": shown} | found.failure())
                if not as_json:
                    with set_aside(progress):
                        echo(f"error: {found.message}", err=True)
            else:
                outcomes.append(found.report.to_dict() | ({"refused": True} if warned else {}))
                if not as_json:
                    with set_aside(progress):
                        console.print(report_layout(found.report, verbose=verbose), soft_wrap=True)
            progress.remove_task(task)
    if as_json:
        echo(json.dumps({"seals": outcomes}, indent=2))
    context.exit(exit_code)

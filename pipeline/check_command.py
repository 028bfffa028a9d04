"""``python -m pipeline check``: every rule on one or more seals, nothing published."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click
from rich.console import Console
from rich.progress import TaskID

from pipeline.progress import seal_progress
from pipeline.rule import Violation
from pipeline.rules import Report
from pipeline.rules import check as apply_rules
from pipeline.seal import Seal
from pipeline.seal.store import without_secrets
from schemas.errors import AlphaResultsError, SealRefused

_REFUSED = 1


@click.command()
@click.argument("seals", nargs=-1, required=True, metavar="SEAL…")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
@click.pass_context
def check(context: click.Context, seals: tuple[str, ...], as_json: bool) -> None:
    """Check each SEAL, a folder or the URL of a supported store, against every rule. Nothing is written anywhere.

    Exit code: 0 when every seal is accepted, 1 when one is refused, 2 when one cannot be read (no finished
    seal there, or not permitted), 5 when the store is away; the highest of several.
    """
    screen = Console(stderr=True)
    console = Console()
    outcomes: list[dict[str, Any]] = []
    exit_code = 0
    with seal_progress(screen, as_json=as_json) as progress:
        for address in seals:
            shown = without_secrets(address)
            task = progress.add_task(shown)

            def show(step: str, shown: str = shown, task: TaskID = task) -> None:
                progress.update(task, description=f"{shown}: {step}")

            try:
                report = _report(address, show)
            except AlphaResultsError as error:
                exit_code = max(exit_code, error.exit_code)
                outcomes.append({"seal": shown, "error": type(error).__name__, "message": str(error)})
                if not as_json:
                    click.echo(f"error: {error}", err=True)
            else:
                exit_code = max(exit_code, _REFUSED if report.refused else 0)
                outcomes.append(report.to_dict())
                if not as_json:
                    console.print(report)
            finally:
                progress.remove_task(task)
    if as_json:
        click.echo(json.dumps({"seals": outcomes}, indent=2))
    context.exit(exit_code)


def _report(address: str, show: Callable[[str], None]) -> Report:
    """Check one seal; one whose manifest is broken is refused like any other, not unreadable."""
    try:
        return apply_rules(Seal.open(address), show)
    except SealRefused as refusal:
        found = tuple(
            Violation(**{**violation, "examples": tuple(violation["examples"])})
            for violation in refusal.violations
        )
        return Report(without_secrets(address), None, violations=found)

"""``alpha-results verify``: verify the served snapshots."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from rich.text import Text

from pipeline.housekeeping.command_line import (
    json_option,
    named_or_all,
    opened,
    print_json,
    root_option,
    size_text,
)
from schemas.console.screen import Screen, make_table
from schemas.console.terminal import echo
from schemas.errors import SnapshotCorrupt
from schemas.plurals import counted

if TYPE_CHECKING:
    from pipeline.housekeeping.verify import Verdict


@click.command("verify")
@click.argument("alphas", nargs=-1, metavar="[ALPHA]…")
@root_option
@click.option("--quick", is_flag=True, help="Only compare every file with its digest.")
@json_option
def verify_command(
    *,
    alphas: tuple[str, ...],
    root: str,
    quick: bool,
    as_json: bool,
) -> None:
    """Verify the served snapshot of each ALPHA, by default of all: digests, declarations, rules and derived figures.

    Every file is read again and compared with its digest, every table with its declaration; the rules on rows are
    applied to the published rows, and everything derived is recomputed. For a snapshot built with other
    declarations than this program's, only digests are compared. The root is not changed.

    Exit code: 0 when all files are intact, 4 when a check fails (the file is named), 5 when the store is unavailable,
    9 when an ALPHA is not published.
    """
    from datasets.publication.pointers import published_alphas
    from pipeline.housekeeping.verify import verify
    from pipeline.progress import Display

    storage = opened(root)
    names = named_or_all(storage, alphas, published_alphas(storage))
    verdicts = []
    with Display(Screen(stderr=True), hidden=as_json) as display:
        for alpha in names:
            display.stage(alpha, "verifying", total=len(names))
            verdicts.append(verify(storage, alpha, quick=quick))
            display.stage(alpha, None, total=len(names))
    if as_json:
        print_json({"alphas": [asdict(verdict) for verdict in verdicts]})
    else:
        _print_verdicts(verdicts)
    click.get_current_context().exit(
        SnapshotCorrupt.exit_code if any(verdict.faults for verdict in verdicts) else 0
    )


def _print_verdicts(verdicts: list[Verdict]) -> None:
    faults = [(verdict.alpha_id, fault) for verdict in verdicts for fault in verdict.faults]
    if faults:
        table = make_table("alpha", "file", "check", "what is wrong", show_lines=True)
        for alpha, fault in faults:
            table.add_row(alpha, Text(fault.file), fault.check, Text(fault.message))
        Screen().print(table)
    files, size = sum(v.files for v in verdicts), sum(v.bytes for v in verdicts)
    sound = sum(not verdict.faults for verdict in verdicts)
    other = sum(verdict.other_declarations for verdict in verdicts)
    if other:
        echo(
            f"{counted(other, 'alpha was', 'alphas were')} built with other declarations than this program's: only digests were compared; "
            f"build {'its seal' if other == 1 else 'their seals'} again"
        )
    echo(
        f"{sound} of {counted(len(verdicts), 'alpha')} intact; {counted(files, 'file')}, {size_text(size)} read again"
    )
    # The message about a pointer that cannot be read has its own fix: --force does not replace it.
    if any(verdict.faults and verdict.snapshot for verdict in verdicts):
        echo(
            "fix: build the seal again with --force, which replaces damaged files by the same bytes, or publishes "
            "another snapshot if the new bytes differ; or roll back to an earlier snapshot",
            err=True,
        )

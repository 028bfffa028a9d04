"""The commands of the offline program, each imported when it runs."""

from __future__ import annotations

from typing import Final

import click

from schemas.console.command_group import CommandGroup, LazyCommand
from schemas.project import version_option

COMMANDS: Final[dict[str, LazyCommand]] = {
    "check": LazyCommand(
        "pipeline.check_command", "check", "Check seals against every rule; publish nothing."
    ),
    "build": LazyCommand("pipeline.build_command", "build", "Check seals and publish them as snapshots."),
    "list": LazyCommand(
        "pipeline.housekeeping.list_command", "list_alphas", "List the alphas that are served."
    ),
    "show": LazyCommand("pipeline.housekeeping.show_command", "show", "Show every snapshot of one alpha."),
    "verify": LazyCommand(
        "pipeline.housekeeping.verify_command",
        "verify_command",
        "Read all served files again and check them.",
    ),
    "gc": LazyCommand(
        "pipeline.housekeeping.gc_command", "gc", "Remove snapshots that are no longer needed."
    ),
    "rollback": LazyCommand(
        "pipeline.housekeeping.pointer_commands", "rollback", "Serve an earlier snapshot again."
    ),
    "withdraw": LazyCommand(
        "pipeline.housekeeping.pointer_commands", "withdraw_command", "Stop serving an alpha."
    ),
    "restore": LazyCommand("pipeline.housekeeping.pointer_commands", "restore_command", "Undo a withdrawal."),
    "notify": LazyCommand(
        "pipeline.events.command", "notify", "Send publications, withdrawals and refusals as events."
    ),
    "export": LazyCommand(
        "pipeline.export.command", "export", "Write one Iceberg catalogue over all served snapshots."
    ),
    "rules": LazyCommand("pipeline.rules_command", "rules", "List the rules on seals, each with its fix."),
    "simulate": LazyCommand(
        "examples.reference_engine.command", "simulate", "Write seals of runs on a simulated market."
    ),
}
"""Command -> module, function and summary."""


@click.command(cls=CommandGroup, lazy=COMMANDS)
@version_option()
def cli() -> None:
    """Turn the seals of alpha runs into immutable snapshots."""

"""The command group ``alpha-results``: the commands of ``pipeline``; its help also lists the other programs."""

from __future__ import annotations

from typing import Final

import click

from pipeline.group import COMMANDS
from schemas.console.command_group import CommandGroup
from schemas.project import version_option

FURTHER_COMMANDS: Final = {
    "serve": "Serve what is published; its accounts, keys and access store.",
    "import": "Write a seal from a file of scores and a file of prices.",
    "datasets": "Inspect a root of published files.",
}
"""Program -> its line in ``--help``."""


class _Group(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *FURTHER_COMMANDS]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        with formatter.section("Commands of their own, each with --help"):
            formatter.write_dl(list(FURTHER_COMMANDS.items()))


@click.command(cls=_Group, lazy=COMMANDS)
@version_option()
def cli() -> None:
    """Turn the seals of alpha runs into immutable snapshots, and serve them."""

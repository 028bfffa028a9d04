"""``alpha-results list``: list the served alphas."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.table import Column
from rich.text import Text

from pipeline.housekeeping.command_line import json_option, opened, print_json, root_option
from schemas.console.screen import Screen, make_table
from schemas.console.terminal import echo
from schemas.errors import SnapshotCorrupt


@click.command("list")
@root_option
@json_option
@click.pass_context
def list_alphas(context: click.Context, root: str, as_json: bool) -> None:
    """List the served alphas, latest started first.

    Exit code: 0, or 4 when the pointer of an alpha cannot be read (the others are listed), 5 when the store is
    unavailable.
    """
    from datasets.catalogue.live import Catalogue

    catalogue = Catalogue(opened(root))
    catalogue.refresh()
    pointers = catalogue.listing.pointers
    if as_json:
        print_json(
            {
                "alphas": [asdict(pointer) for pointer in pointers],
                "withdrawn": sorted(catalogue.withdrawn),
                "unreadable": catalogue.broken,
            }
        )
    else:
        table = make_table(
            Column("alpha", no_wrap=True),
            "name",
            Column("snapshot", no_wrap=True),
            "complete",
            "sealed",
            "published",
        )
        for pointer in pointers:
            table.add_row(
                pointer.alpha_id,
                Text(pointer.name),
                pointer.snapshot,
                "yes" if pointer.complete else f"no: {', '.join(pointer.missing)}",
                pointer.sealed_at,
                pointer.published_at,
            )
        Screen().print(table)
        if catalogue.withdrawn:
            echo(f"withdrawn: {', '.join(sorted(catalogue.withdrawn))}")
        for alpha, reason in catalogue.broken.items():
            echo(f"error: {reason}; `alpha-results show {alpha}` says how to repair it", err=True)
    context.exit(SnapshotCorrupt.exit_code if catalogue.broken else 0)

"""``alpha-results rules``: list the rules on seals."""

from __future__ import annotations

import json
from typing import Final

import click
from rich.table import Column

from schemas.console.screen import Screen, make_table
from schemas.console.terminal import echo

_PIPED_WIDTH: Final = 120
"""Width of output that does not go to a terminal; unwrapped, the longest texts have some thousand characters."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of the rules.")
@click.option("--manifest-schema", is_flag=True, help="Print the JSON Schema of seal.json.")
def rules(as_json: bool, manifest_schema: bool) -> None:
    """List the rules on seals: id, meaning and fix."""
    from pipeline.rules import RULES
    from pipeline.seal.manifest import manifest_schema as schema_of_manifest

    if manifest_schema:
        echo(json.dumps(schema_of_manifest(), indent=2))
    elif as_json:
        listed = [
            {
                "id": rule.id,
                "meaning": rule.meaning,
                "remedy": rule.remedy,
                "kinds": list(rule.kinds),
                "refuses": not rule.warns,
            }
            for rule in RULES.values()
        ]
        echo(json.dumps(listed, indent=2))
    else:
        columns = (Column("rule", no_wrap=True), "demands", Column("fix", style="dim"))
        table = make_table(*columns, show_lines=True)
        for rule in RULES.values():
            table.add_row(rule.id, rule.meaning, rule.remedy)
        screen = Screen()
        screen.print(table, width=None if screen.is_terminal else _PIPED_WIDTH)

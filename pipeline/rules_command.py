"""``alpha-results rules``: list the rules on seals."""

from __future__ import annotations

import json
from pathlib import Path

import click

from schemas.screen import Screen, make_table
from schemas.terminal import echo


@click.command()
@click.option("--markdown", is_flag=True, help="Print the document docs/rules.md.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of the rules.")
@click.option("--manifest-schema", is_flag=True, help="Print the JSON Schema of seal.json.")
@click.option(
    "--into",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Put the columns and rules between the marks of this specification of the format.",
)
def rules(markdown: bool, as_json: bool, manifest_schema: bool, into: Path | None) -> None:
    """List the rules on seals: id, meaning and fix."""
    from pipeline.rules import RULES
    from pipeline.rules.document import rules_markdown, with_format
    from pipeline.seal.manifest import manifest_schema as schema_of_manifest

    if into is not None:
        into.write_text(with_format(into.read_text("utf-8")), "utf-8")
    elif manifest_schema:
        echo(json.dumps(schema_of_manifest(), indent=2))
    elif markdown:
        echo(rules_markdown(), nl=False)
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
        table = make_table(show_lines=True)
        table.add_column("rule", no_wrap=True)
        table.add_column("demands")
        table.add_column("fix", style="dim")
        for rule in RULES.values():
            table.add_row(rule.id, rule.meaning, rule.remedy)
        Screen().print(table)

"""``alpha-results datasets list|units|sql|report``: commands for readers of a root's files."""

from __future__ import annotations

import json
from typing import Final

import click

from schemas.console.command_group import CommandGroup, LazyCommand
from schemas.console.terminal import echo
from schemas.instants import utc_text
from schemas.settings.declared import SETTINGS

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


class _RootArgument(click.Argument):
    """The root; an error also names its environment variable."""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        return f"{super().get_error_hint(ctx)} or {self.envvar}"


_ROOT = click.argument("root", cls=_RootArgument, envvar=SETTINGS["datasets"].variable)


COMMANDS: Final = {
    "list": LazyCommand("datasets.__main__", "list_alphas", "List the alphas of ROOT, latest started first."),
    "units": LazyCommand("datasets.__main__", "units", "Print unit and meaning of every published column."),
    "sql": LazyCommand("datasets.__main__", "sql", "Create SQL views over the served snapshots of ROOT."),
    "report": LazyCommand(
        "datasets.report.command", "report", "Write the tear sheet of one alpha or of several."
    ),
}
"""Command -> module, function and summary."""


@click.command(cls=CommandGroup, lazy=COMMANDS)
def cli() -> None:
    """Inspect a root of published files."""


@click.command("list")
@_ROOT
@_JSON
def list_alphas(root: str, as_json: bool) -> None:
    """List the alphas of ROOT, by default of ALPHA_RESULTS_DATASETS, latest started first."""
    from datasets.analysis.root import open_published  # noqa: PLC0415 - it loads Polars, and --help does without

    rows = open_published(root).list().to_dicts()
    if as_json:
        echo(json.dumps({"alphas": rows}, default=utc_text))
        return
    for row in rows:
        published = utc_text(row["published_at"])
        echo(f"{row['alpha_id']}  {row['snapshot']}  {published}  {row['name'] or ''}".rstrip())


@click.command()
@click.argument("table", required=False)
@_JSON
def units(table: str | None, as_json: bool) -> None:
    """Print unit and meaning of every published column, or of those of one TABLE."""
    from datasets.analysis.units import units as declared_units  # noqa: PLC0415 - as above

    rows = [row for row in declared_units().to_dicts() if table in (None, row["table"])]
    if not rows:
        raise click.BadParameter(f"there is no table {table!r}", param_hint="TABLE")
    if as_json:
        echo(json.dumps({"columns": rows}))
        return
    for row in rows:
        echo(f"{row['table']}.{row['column']}  {row['type']}  {row['unit']}  {row['meaning']}")


@click.command()
@_ROOT
@click.option(
    "--into", type=click.Path(dir_okay=False), help="Create or replace the views in this DuckDB file."
)
@_JSON
def sql(root: str, into: str | None, as_json: bool) -> None:
    """Create SQL views over the served snapshots of ROOT, by default of ALPHA_RESULTS_DATASETS: one view per table, with all alphas.

    Without --into the statements are printed. A view names the files of the snapshots that are served now, so run the
    command again after a publication.
    """
    from datasets.analysis.root import open_published  # noqa: PLC0415 - as above
    from datasets.analysis.sql_views import script, write  # noqa: PLC0415 - as above

    opened = open_published(root)
    if into is None:
        echo(json.dumps({"sql": script(opened)}) if as_json else script(opened), nl=as_json)
        return
    views = write(opened, into)
    echo(json.dumps({"file": into, "views": views}) if as_json else f"{into}: {', '.join(views)}")


if __name__ == "__main__":
    cli(prog_name=f"python -m {__package__}")

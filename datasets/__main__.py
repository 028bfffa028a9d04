"""``alpha-results datasets list|units|sql|report``: what a root publishes, for those who have its files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from datasets.report.command import make_command
from schemas.errors import AlphaResultsError, SettingsError
from schemas.exit_codes import exit_code_lines
from schemas.terminal import echo

if TYPE_CHECKING:
    from datasets.root import Root

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
_ROOT = click.argument("root")


class _Group(click.Group):
    """A group that prints the project's errors on one line and exits with their code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note whether a program reads the output, before the command takes its own options."""
        ctx.meta["datasets.json"] = "--json" in args
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, and what their exit codes mean."""
        super().format_commands(ctx, formatter)
        with formatter.section("Exit codes of every command"):
            formatter.write_dl(exit_code_lines())

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except AlphaResultsError as error:
            if ctx.meta["datasets.json"]:
                echo(json.dumps({"error": type(error).__name__, "message": str(error)}))
            else:
                echo(f"error: {' '.join(str(error).split())}", err=True)
            ctx.exit(error.exit_code)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Inspect a root of published files."""


def _opened(address: str) -> Root:
    """Open a root in which something was published: an empty answer to a misspelt address would pass for one."""
    from datasets.root import is_root, open_root  # noqa: PLC0415 - it loads Polars, and --help does without

    root = open_root(address)
    if not len(root) and not is_root(root.storage):
        raise SettingsError(
            f"{root.storage.address} is not a root of published alphas; give the one that `build --datasets` wrote to"
        )
    return root


@cli.command("list")
@_ROOT
@_JSON
def list_alphas(root: str, as_json: bool) -> None:
    """List the alphas of ROOT, latest started first."""
    rows = _opened(root).list().to_dicts()
    if as_json:
        echo(json.dumps({"alphas": rows}))
        return
    for row in rows:
        echo(f"{row['alpha_id']}  {row['snapshot']}  {row['published_at']}  {row['name'] or ''}".rstrip())


@cli.command()
@click.argument("table", required=False)
@_JSON
def units(table: str | None, as_json: bool) -> None:
    """Tell unit and meaning of every published column, or of those of one TABLE."""
    from datasets.analysis import units as declared_units  # noqa: PLC0415 - as in `_opened`

    rows = [row for row in declared_units().to_dicts() if table in (None, row["table"])]
    if not rows:
        raise click.BadParameter(f"there is no table {table!r}", param_hint="TABLE")
    if as_json:
        echo(json.dumps({"columns": rows}))
        return
    for row in rows:
        echo(f"{row['table']}.{row['column']}  {row['type']}  {row['unit']}  {row['meaning']}")


@cli.command()
@_ROOT
@click.option(
    "--into", type=click.Path(dir_okay=False), help="Make the views in this DuckDB file, or renew them."
)
@_JSON
def sql(root: str, into: str | None, as_json: bool) -> None:
    """Make SQL views over what ROOT serves: one view a table, every alpha in it.

    Without --into the statements are printed. A view names the files of the snapshots that are served now: run the command
    again when others were published.
    """
    from datasets.sql_views import script, write  # noqa: PLC0415 - as in `_opened`

    opened = _opened(root)
    if into is None:
        echo(json.dumps({"sql": script(opened)}) if as_json else script(opened), nl=as_json)
        return
    views = write(opened, into)
    echo(json.dumps({"file": into, "views": views}) if as_json else f"{into}: {', '.join(views)}")


cli.add_command(make_command(_opened))


if __name__ == "__main__":
    cli(prog_name=f"python -m {__package__}")

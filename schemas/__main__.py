"""``python -m schemas dictionary|notices|openapi|settings|exit-codes|definitions|client|seal-columns``: print what is derived from the declarations."""

from __future__ import annotations

from pathlib import Path

import click

from schemas.client_code import client_declarations, client_stub
from schemas.dictionary import data_dictionary
from schemas.exit_codes import exit_codes_table, with_exit_codes
from schemas.metrics.markdown import definitions, with_definitions
from schemas.notices import notices_markdown
from schemas.openapi import rendered
from schemas.seal_columns import seal_columns
from schemas.settings.markdown import settings_tables, with_settings
from schemas.terminal import echo


@click.group(help="Documents derived from the declarations.")
def main() -> None:
    """Group the commands."""


@main.command()
def dictionary() -> None:
    """Print the data dictionary as Markdown."""
    echo(data_dictionary(), nl=False)


@main.command()
def notices() -> None:
    """Print the list of notices as Markdown."""
    echo(notices_markdown(), nl=False)


@main.command()
def openapi() -> None:
    """Print the OpenAPI 3.1 document as JSON."""
    echo(rendered(), nl=False)


@main.command()
@click.argument("module", type=click.Choice(["declared.py", "methods.pyi"]))
def client(module: str) -> None:
    """Print one of the Python client's generated modules, not yet formatted."""
    echo(client_declarations() if module == "declared.py" else client_stub(), nl=False)


@main.command("seal-columns")
def columns_of_a_seal() -> None:
    """Print the seal writer's generated module, not yet formatted."""
    echo(seal_columns(), nl=False)


@main.command()
@click.option(
    "--into",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Put the tables between the two marks of this document instead of printing them.",
)
def settings(into: Path | None) -> None:
    """Print the tables of settings as Markdown."""
    if into is None:
        echo(settings_tables(), nl=False)
    else:
        into.write_text(with_settings(into.read_text("utf-8")), "utf-8")


@main.command("exit-codes")
@click.option(
    "--into",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Put the table between the two marks of this document instead of printing it.",
)
def exit_codes(into: Path | None) -> None:
    """Print the table of exit codes as Markdown."""
    if into is None:
        echo(exit_codes_table(), nl=False)
    else:
        into.write_text(with_exit_codes(into.read_text("utf-8")), "utf-8")


@main.command("definitions")
@click.option(
    "--into",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Put the tables between the two marks of this document instead of printing them.",
)
def definitions_of_statistics(into: Path | None) -> None:
    """Print the definition of each statistic as Markdown."""
    if into is None:
        echo(definitions(), nl=False)
    else:
        into.write_text(with_definitions(into.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

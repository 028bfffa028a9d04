"""``python -m schemas dictionary|openapi|api-docs``: print the documents derived from the declarations."""

from __future__ import annotations

import click

from schemas.api_page import api_page
from schemas.dictionary import data_dictionary
from schemas.openapi import rendered


@click.group(help="Documents derived from the declarations.")
def main() -> None:
    """Group the commands."""


@main.command()
def dictionary() -> None:
    """Print the data dictionary as Markdown."""
    click.echo(data_dictionary(), nl=False)


@main.command()
def openapi() -> None:
    """Print the OpenAPI 3.1 document as JSON."""
    click.echo(rendered(), nl=False)


@main.command("api-docs")
def api_docs() -> None:
    """Print the description of every endpoint as Markdown."""
    click.echo(api_page(), nl=False)


if __name__ == "__main__":
    main()

"""``alpha-results serve openapi``: the interface as an OpenAPI document."""

from __future__ import annotations

import click

from schemas.console.terminal import echo
from schemas.documents.openapi import rendered


@click.command("openapi", help="Print the OpenAPI 3.1 document of the interface as JSON.")
def openapi() -> None:
    """Print the document, which is the same for every deployment; no setting or store is read."""
    echo(rendered(), nl=False)

"""``alpha-results serve openapi``: the interface as an OpenAPI document."""

from __future__ import annotations

import click

from schemas.openapi import rendered
from schemas.terminal import echo


@click.command("openapi", help="Print the OpenAPI 3.1 document of the interface as JSON.")
def openapi() -> None:
    """Print it: the same text for every deployment, so nothing is opened and no setting is read."""
    echo(rendered(), nl=False)

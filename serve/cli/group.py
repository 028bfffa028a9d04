"""The commands of the serving program."""

from __future__ import annotations

import os
from typing import Final

import click

from schemas.console.command_group import CommandGroup, LazyCommand
from schemas.project import project_version, version_option
from schemas.settings import SETTINGS, setting_value

_COMMANDS: Final = {
    "run": LazyCommand("serve.cli.run", "run", "Serve the published results over HTTP."),
    "accounts": LazyCommand("serve.cli.accounts", "accounts", "Open, change and close accounts."),
    "keys": LazyCommand("serve.cli.keys", "keys", "Issue, change, suspend and revoke keys."),
    "audit": LazyCommand("serve.cli.store", "audit", "Show what operators did."),
    "access": LazyCommand("serve.cli.store", "access", "Prepare and inspect the store of accounts and keys."),
    "demo": LazyCommand("examples.demo", "demo", "Simulate a market, build alphas and serve them."),
}
"""Command -> its module."""


def _build() -> str:
    """Return the version that `/v1/health` states in this environment."""
    return setting_value(SETTINGS["build"], os.environ) or project_version()


@click.group(cls=CommandGroup, lazy=_COMMANDS)
@version_option(_build)
def serve() -> None:
    """Serve published alpha results, and manage the accounts and keys that may read them."""

"""The commands of the serving program."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Final

import click

from schemas.errors import AlphaResultsError
from schemas.lazy_group import LazyCommand, LazyGroup
from schemas.project import project_version, version_option
from schemas.settings import SETTINGS, given
from schemas.terminal import echo

_COMMANDS: Final = {
    "run": LazyCommand("serve.cli.run", "run", "Serve the published results over HTTP."),
    "accounts": LazyCommand("serve.cli.accounts", "accounts", "Open, change and close accounts."),
    "keys": LazyCommand("serve.cli.keys", "keys", "Issue, change, suspend and revoke keys."),
    "audit": LazyCommand("serve.cli.store", "audit", "Show what operators did."),
    "access": LazyCommand("serve.cli.store", "access", "Prepare and inspect the store of accounts and keys."),
    "openapi": LazyCommand("serve.cli.openapi", "openapi", "Print the OpenAPI document of the interface."),
    "demo": LazyCommand("serve.cli.demo", "demo", "Simulate a market, build alphas and serve them."),
}
"""Command -> its module."""


def _build() -> str:
    """Return the version that `/v1/health` states in this environment."""
    return given(SETTINGS["build"], os.environ) or project_version()


@click.group(cls=LazyGroup, lazy=_COMMANDS)
@version_option(_build)
def serve() -> None:
    """Serve published alpha results, and manage the accounts and keys that may read them."""


def main(arguments: list[str] | None = None, prog_name: str = "alpha-results serve") -> None:
    """Run a command and exit; an error of the project is one line on standard error and its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        serve.main(given, prog_name=prog_name)
    except AlphaResultsError as error:
        echo(_shown(error, as_json="--json" in given), err=True)
        sys.exit(error.exit_code)


def _shown(error: AlphaResultsError, *, as_json: bool) -> str:
    if not as_json:
        return f"error: {error}"
    shown: dict[str, Any] = {"error": {"type": type(error).__name__, "message": str(error)}}
    return json.dumps(shown)

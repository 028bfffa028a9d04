"""The commands: ``run`` here, those on accounts and keys in the access package."""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from typing import Any, Final

import click

from schemas.errors import AlphaResultsError
from schemas.exit_codes import ExitCode, exit_code_lines
from schemas.project import project_version, version_option
from schemas.settings import SETTINGS, given
from schemas.terminal import echo

_COMMANDS: Final = {
    "run": ("serve.cli.run", "run", "Serve the published results over HTTP."),
    "accounts": ("serve.cli.accounts", "accounts", "Open, change and close accounts."),
    "keys": ("serve.cli.keys", "keys", "Issue, change, suspend and revoke keys."),
    "audit": ("serve.cli.audit", "audit", "Show what operators did."),
    "access": (
        "serve.cli.store",
        "access",
        "Prepare and inspect the store of accounts and keys.",
    ),
    "openapi": ("serve.cli.openapi", "openapi", "Print the OpenAPI document of the interface."),
    "demo": ("serve.cli.demo", "demo", "Simulate a market, build alphas and serve them."),
}
"""Command -> module, attribute and what the overview says: a module is imported when its command is used."""


class _Lazy(click.Group):
    """A group that imports a command when it is asked for, so that ``keys list`` loads no query engine."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        # Imported modules stay: collecting meanwhile takes a tenth of the time and finds nothing.
        gc.disable()
        try:
            command: click.Command = getattr(importlib.import_module(module), attribute)
        finally:
            gc.enable()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, _, about) in _COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Exit codes of every command"):
            formatter.write_dl(exit_code_lines())

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(ExitCode.INTERRUPTED)  # click's own would be 1, which means another thing


def _build() -> str:
    """Return the version that the health endpoint would state in this environment."""
    return given(SETTINGS["build"], os.environ) or project_version()


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@version_option(_build)
def serve() -> None:
    """Serve published alpha results, and keep the accounts and keys that may read them."""


def main(arguments: list[str] | None = None, prog_name: str = "alpha-results serve") -> None:
    """Run a command and exit: a refusal the project knows is one line on standard error and its exit code."""
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

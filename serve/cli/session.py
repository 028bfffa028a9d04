"""What the commands share: where the store is, who acts, how results are shown. Refusals pass through."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from schemas.screen import Screen, make_table
from schemas.settings import SETTINGS, given
from schemas.settings.options import flag
from schemas.terminal import echo

if TYPE_CHECKING:
    from serve.auth.admin import Administration
    from serve.auth.settings import AccessSettings

Command = TypeVar("Command", bound=Callable[..., Any])
Result = TypeVar("Result")


def store_options(command: Command) -> Command:
    """Add the options that say where the store is."""
    for name, parameter in (("datasets", "datasets"), ("access", "access_url")):
        command = flag(name, parameter)(command)
    return command


def json_option(command: Command) -> Command:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)


def make_settings(access_url: str | None, datasets: str | None) -> AccessSettings:
    """Return the deployment's settings from options and environment."""
    from serve.auth.settings import AccessSettings  # noqa: PLC0415 - as in `administer`

    root = datasets or os.environ.get(SETTINGS["datasets"].variable)
    return AccessSettings.from_environment(os.environ, root, {"store": access_url})


def administer(
    access_url: str | None,
    datasets: str | None,
    act: Callable[[Administration], Awaitable[Result]],
    *,
    writable: bool = True,
    urgent: bool = False,
) -> Result:
    """Open the store, do one act and close it.

    Parameters
    ----------
    access_url, datasets
        Where the store is, as the options say.
    act
        What to do.
    writable
        False for an act that only reads: nothing is created then.
    urgent
        An act that takes rights away: it needs no pepper.
    """
    from serve.auth.admin import open_administration  # noqa: PLC0415 - it loads the store, and --help does without

    settings = make_settings(access_url, datasets)

    async def run() -> Result:
        async with open_administration(
            settings, _actor(), writable=writable, ending=urgent
        ) as administration:
            return await act(administration)

    return asyncio.run(run())


def _actor() -> str:
    """Return who acts: ``ALPHA_RESULTS_ACTOR``, else the login name."""
    try:
        named: str | None = given(SETTINGS["actor"], os.environ)
        return named or getpass.getuser()
    except (OSError, KeyError):  # a container's user without a name; which of them depends on the Python
        return f"uid {os.getuid()}"


def print_json(value: Any) -> None:
    """Print a value for programs."""
    echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows for people: a table on a terminal, tab-separated lines elsewhere."""
    if not sys.stdout.isatty():
        for row in (columns, *rows):
            echo("\t".join(row))
        return
    table = make_table(*columns)
    for row in rows:
        table.add_row(*row)
    Screen().print(table)


def print_fields(value: dict[str, Any]) -> None:
    """Print one object for people, a line for each field."""
    print_table(("field", "value"), [(name, spelled(part)) for name, part in value.items()])


def spelled(value: Any) -> str:
    """Return a value of an object as people read it; allow-lists as the options that grant them."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(str, value))
    if not isinstance(value, dict):
        return str(value)
    if "mode" in value:
        listed = ",".join(value.get("ids") or value.get("prefixes") or ())
        return "all" if value["mode"] == "all" else f"{value['mode']}:{listed}"
    return "  ".join(f"{name}={spelled(part)}" for name, part in value.items())

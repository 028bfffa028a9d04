"""What the project calls itself, and which version of it is running."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from schemas.terminal import echo

NAME: Final = "alpha-results"
"""Of the project, and what the service calls itself."""

Command = TypeVar("Command", bound=Callable[..., Any])


def project_version() -> str:
    """Return the version that the project file states; ``unknown`` when the program runs apart from that file."""
    try:
        project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
        return str(project["project"]["version"])
    except (OSError, tomllib.TOMLDecodeError, KeyError):
        return "unknown"


def version_option(version: Callable[[], str] = project_version) -> Callable[[Command], Command]:
    """Return a decorator that gives a group ``--version``: name and version on one line, exit code 0.

    Parameters
    ----------
    version
        Asked for the version when the flag is given, and not before.
    """

    def show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            echo(f"{NAME} {version()}")
            context.exit()

    return click.option(
        "--version", is_flag=True, is_eager=True, expose_value=False, callback=show, help="Show the version."
    )

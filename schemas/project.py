"""Name and version of the project."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import click

NAME: Final = "alpha-results"
"""Name of the project and of the service."""
UNKNOWN: Final = "unknown"
"""Version without a project file or an installation."""

LOCATION: Final = Path(__file__).resolve().parents[__name__.count(".")]
"""Folder of the outermost package: the checkout, or where the wheel is installed."""

Command = TypeVar("Command", bound=Callable[..., Any])


def project_version() -> str:
    """Return the version in the project file or of the installed package; ``unknown`` without both."""
    try:
        project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
        return str(project["project"]["version"])
    except (OSError, tomllib.TOMLDecodeError, KeyError):
        return _installed_version()


def _installed_version() -> str:
    try:
        installed = distribution(NAME)
    except PackageNotFoundError:
        return UNKNOWN
    # A checkout may be installed as well, and this may be a copy of its files without the project file.
    here = Path(str(installed.locate_file(__name__.replace(".", "/") + ".py"))).resolve()
    is_this = here == Path(__file__).resolve()
    return installed.version if is_this else UNKNOWN


def module_name(name: str) -> str:
    """Return the import name of a module, since the wheel has the packages inside another one."""
    return ".".join([*__name__.split(".")[:-2], name])


def version_option(version: Callable[[], str] = project_version) -> Callable[[Command], Command]:
    """Return a decorator that gives a group ``--version``: name and version on one line, exit code 0.

    Parameters
    ----------
    version
        Called only if the flag is given.
    """
    import click  # noqa: PLC0415 - only commands need it, not the checker of seals

    from schemas.console.terminal import echo  # noqa: PLC0415 - as above

    def show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            echo(f"{NAME} {version()}")
            context.exit()

    return click.option(
        "--version", is_flag=True, is_eager=True, expose_value=False, callback=show, help="Show the version."
    )

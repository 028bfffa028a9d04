"""Command-line options, derived from the declarations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from schemas.settings.declared import SETTINGS
from schemas.settings.readers import SWITCH

Command = TypeVar("Command", bound=Callable[..., Any])


def flag(name: str, parameter: str | None = None) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the flag of a setting; its text is handed over unread.

    Parameters
    ----------
    name
        Of the setting.
    parameter
        Of the command's function; by default the setting's name.
    """
    setting = SETTINGS[name]
    if setting.kind is SWITCH:
        return click.option(setting.flag, parameter or name, is_flag=True, default=None, help=setting.help)
    return click.option(setting.flag, parameter or name, metavar=setting.kind.type.upper(), help=setting.help)


def switch_option(name: str) -> Callable[[Command], Command]:
    """Return a decorator that gives a command a setting that is on or off, from its flag or its variable."""
    setting = SETTINGS[name]
    return click.option(
        setting.flag, name, is_flag=True, default=setting.default, envvar=setting.variable, help=setting.help
    )


def option(
    name: str, parameter: str | None = None, *, required: bool = False
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command a setting, from its flag or its variable, read.

    A value that makes no sense is a usage error that names where it was given.

    Parameters
    ----------
    name, parameter
        As for :func:`flag`.
    required
        Whether this command cannot do without it, though others can.
    """
    setting = SETTINGS[name]

    def read(_: click.Context, __: click.Parameter, text: str | None) -> Any:
        if text is None:
            return setting.default
        try:
            return setting.kind.read(text)
        except ValueError as error:
            raise click.BadParameter(f"{text!r}: {error}") from error

    return click.option(
        setting.flag,
        parameter or name,
        envvar=setting.variable,
        required=required or setting.required,
        callback=read,
        metavar=setting.kind.type.upper(),
        help=setting.help,
    )

"""Command-line options, derived from the declarations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from schemas.settings.declared import SETTINGS
from schemas.settings.readers import SWITCH

Command = TypeVar("Command", bound=Callable[..., Any])


class SettingOption(click.Option):
    """An option whose errors also name its environment variable."""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the option's name in error messages."""
        return f"{super().get_error_hint(ctx)} or {self.envvar}"


def options(*added: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds several options to a command, in the order of its help."""

    def add(command: Command) -> Command:
        for each in reversed(added):
            command = each(command)
        return command

    return add


def flag(name: str, parameter: str | None = None) -> Callable[[Command], Command]:
    """Return a decorator that adds the flag of a setting to a command, without reading its text.

    Parameters
    ----------
    name
        Name of the setting.
    parameter
        Parameter of the command's function; by default the name of the setting.
    """
    setting = SETTINGS[name]
    if setting.kind is SWITCH:
        return click.option(setting.flag, parameter or name, is_flag=True, default=None, help=setting.help)
    return click.option(setting.flag, parameter or name, metavar=setting.kind.type.upper(), help=setting.help)


def switch_option(name: str) -> Callable[[Command], Command]:
    """Return a decorator that adds a switch to a command, from flag or variable."""
    setting = SETTINGS[name]
    return click.option(
        setting.flag,
        name,
        cls=SettingOption,
        is_flag=True,
        default=setting.default,
        envvar=setting.variable,
        help=setting.help,
    )


def option(
    name: str, parameter: str | None = None, *, required: bool = False
) -> Callable[[Command], Command]:
    """Return a decorator that adds the value of a setting to a command, from flag or variable.

    An invalid value is a usage error that names the flag or variable.

    Parameters
    ----------
    name, parameter
        As for :func:`flag`.
    required
        Whether this command requires it, although others do not.
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
        cls=SettingOption,
        envvar=setting.variable,
        required=required or setting.required,
        callback=read,
        metavar=setting.kind.type.upper(),
        help=setting.help,
    )

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


class WholeNumber(click.IntRange):
    """Type of an option: a whole number within inclusive bounds, which its error names."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a number."""
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            bounds = f"of {self.min} or more" if self.max is None else f"from {self.min} to {self.max}"
            self.fail(f"{value!r} is not a whole number {bounds}", param, ctx)


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
    return _option(name, parameter, default=None)


def option(
    name: str, parameter: str | None = None, *, required: bool = False
) -> Callable[[Command], Command]:
    """Return a decorator that adds the value of a setting to a command, from flag or variable.

    A switch takes no value. An invalid value is a usage error that names the flag or variable.

    Parameters
    ----------
    name, parameter
        As for :func:`flag`.
    required
        Whether this command requires it, although others do not.
    """
    setting = SETTINGS[name]
    if setting.kind is SWITCH:
        return _option(name, parameter, cls=SettingOption, envvar=setting.variable, default=setting.default)

    def read(_: click.Context, __: click.Parameter, text: str | None) -> Any:
        if text is None:
            return setting.default
        try:
            return setting.kind.read(text)
        except ValueError as error:
            raise click.BadParameter(f"{text!r}: {error}") from error

    needed = required or setting.required
    return _option(
        name, parameter, cls=SettingOption, envvar=setting.variable, required=needed, callback=read
    )


def _option(name: str, parameter: str | None, **rest: Any) -> Callable[[Command], Command]:
    setting = SETTINGS[name]
    rest |= {"is_flag": True} if setting.kind is SWITCH else {"metavar": setting.kind.type.upper()}
    return click.option(setting.flag, parameter or name, help=setting.help, **rest)

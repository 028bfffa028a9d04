"""Declaration of a setting, and its value from flag, variable or default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

from schemas.errors import SettingsError
from schemas.settings import readers

PREFIX: Final = "ALPHA_RESULTS_"
"""Prefix of every environment variable of the project."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes
    ----------
    name
        Its name in the code; variable and, unless stated otherwise, flag derive from it.
    kind
        Its type.
    meaning
        One or two sentences for the documents and for ``--help``.
    default
        Its default value.
    otherwise
        The default in words, if it depends on other settings.
    required
        Whether it must be given.
    secret
        Whether its value may contain a password, so that it is never shown.
    own_flag
        The flag, if it is not derived from the name; empty for a setting without a flag.
    """

    name: str
    kind: readers.Kind
    meaning: str
    _: KW_ONLY
    default: Any = None
    otherwise: str | None = None
    required: bool = False
    secret: bool = False
    own_flag: str | None = None

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        """The command-line flag, which takes precedence over the variable; empty without one."""
        return "--" + self.name.replace("_", "-") if self.own_flag is None else self.own_flag

    @property
    def default_text(self) -> str | None:
        """The default as the variable would state it; None without one."""
        default = self.default
        if isinstance(default, bool):
            return "on" if default else "off"
        if isinstance(default, float):
            return f"{default:.15g}"
        return None if default is None else str(default)

    @property
    def help(self) -> str:
        """Its text in ``--help``."""
        shown = self.otherwise or self.default_text
        return f"{self.meaning}{f' Default: {shown}.' if shown else ''} Also {self.variable}."


@dataclass(frozen=True, slots=True)
class Group:
    """Settings that are documented together.

    Attributes
    ----------
    title, about
        Heading and first sentence of their table.
    settings
        In the order of the documents.
    """

    title: str
    about: str
    settings: tuple[Setting, ...]


def text(name: str, meaning: str, kind: str = "text", **rules: Any) -> Setting:
    """Declare a text that is not blank; `kind` is its name in the documents."""
    return Setting(name, readers.fitting(kind, r".*\S.*", "it is empty"), meaning, **rules)


def path(name: str, meaning: str, **rules: Any) -> Setting:
    """Declare a path."""
    return text(name, meaning, "path", **rules)


def location(name: str, meaning: str, **rules: Any) -> Setting:
    """Declare a path, or an address in an object store."""
    return text(name, meaning, "path or URL", **rules)


def url(name: str, meaning: str, **rules: Any) -> Setting:
    """Declare a URL."""
    return text(name, meaning, "URL", **rules)


def integer(name: str, bounds: tuple[int, int], meaning: str, **rules: Any) -> Setting:
    """Declare an integer; both bounds are inclusive."""
    return Setting(name, readers.between("integer", int, *bounds, "a whole number"), meaning, **rules)


def seconds(name: str, bounds: tuple[float, float], meaning: str, default: float) -> Setting:
    """Declare a duration in seconds; both bounds are inclusive."""
    kind = readers.between("seconds", float, *bounds, "a number of seconds")
    return Setting(name, kind, meaning, default=default)


def choice(name: str, meaning: str, words: tuple[str, ...], default: str) -> Setting:
    """Declare a choice among words."""
    kind = readers.fitting("word", "|".join(words), f"it must be one of {', '.join(words)}")
    return Setting(name, kind, meaning, default=default)


def switch(name: str, meaning: str) -> Setting:
    """Declare a switch, off by default."""
    return Setting(name, readers.SWITCH, meaning, default=False)


def setting_value(setting: Setting, environment: Mapping[str, str], flag: Any = None) -> Any:
    """Return the value of a setting from the flag, otherwise the variable, otherwise the default.

    Parameters
    ----------
    environment
        Usually ``os.environ``; empty variables are ignored.
    flag
        Text or value of the flag; None if it was not given.

    Raises
    ------
    SettingsError
        If it is missing although required, or invalid; the message names the flag or variable.
    """
    text, origin = (
        (str(flag), setting.flag)
        if flag is not None
        else (environment.get(setting.variable), setting.variable)
    )
    if not text:
        if setting.required:
            raise SettingsError(f"{setting.name} is not set: give {setting.flag} or set {setting.variable}")
        return setting.default
    try:
        return setting.kind.read(text)
    except ValueError as error:
        shown = "the value" if setting.secret else repr(text)
        raise SettingsError(f"{origin}: {shown} is not valid ({setting.kind.type}): {error}") from error

"""Types of settings and their readers, which raise ValueError with the rule that a text breaks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, NamedTuple

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_ON: Final = ("1", "true", "yes", "on")
_OFF: Final = ("0", "false", "no", "off")
MIN_PEPPER_CHARACTERS: Final = 16
"""A shorter pepper would give a stolen store little protection."""


class Kind(NamedTuple):
    """Type of a setting: its name in documents, and its reader.

    Attributes
    ----------
    type
        Name in the documents.
    read
        Returns the value of a text; raises ValueError with the rule that the text breaks.
    """

    type: str
    read: Callable[[str], Any]


def fitting(kind: str, pattern: str, rule: str) -> Kind:
    """Return the kind of a text that matches a pattern completely."""

    def read(entry: str) -> str:
        if not re.fullmatch(pattern, entry, re.DOTALL):
            raise ValueError(rule)
        return entry

    return Kind(kind, read)


def between(kind: str, number: Callable[[str], float], least: float, most: float, what: str) -> Kind:
    """Return the kind of a number between two inclusive bounds; `what` names it in the rule."""

    def read(entry: str) -> float:
        try:
            value = number(entry)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise ValueError(f"it must be {what} between {least} and {most}")
        return value

    return Kind(kind, read)


def duration(entry: str) -> timedelta:
    """Read a duration with its unit: ``90s``, ``30m``, ``12h`` or ``7d``."""
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", entry.strip())
    if match is None:
        raise ValueError("write 90s, 30m, 12h or 7d")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])


def duration_text(length: timedelta) -> str:
    """Write a duration as :func:`duration` reads it, in the largest unit that divides it."""
    seconds = int(length.total_seconds())
    unit = next(unit for unit in "dhms" if seconds % _UNITS[unit] == 0)
    return f"{seconds // _UNITS[unit]}{unit}"


def _switch(entry: str) -> bool:
    word = entry.lower()
    if word not in (*_ON, *_OFF):
        raise ValueError(f"it must be one of {', '.join((*_ON, *_OFF))}")
    return word in _ON


def _redis_url(entry: str) -> str:
    if entry.partition("://")[0] not in {"redis", "rediss", "unix"}:
        raise ValueError("it must start with redis://, rediss:// or unix://")
    if not entry.startswith("unix://"):
        behind = re.sub(r"^rediss?://[^/?#]*", "", entry)
        if "@" in behind:  # a part of the password would be taken for the host, and shown
            raise ValueError(
                "it has an `@` after the host: percent-encode `/`, `#`, `?` and `@` in the password"
            )
        if not re.fullmatch(r"(/[0-9]*)?(\?.*)?", behind):
            raise ValueError("its database must be a number: write redis://HOST:PORT/DATABASE")
    return entry


def _peppers(entry: str) -> tuple[bytes, ...]:
    secrets = tuple(part.strip().encode() for part in entry.split(",") if part.strip())
    if any(len(pepper) < MIN_PEPPER_CHARACTERS for pepper in secrets):
        raise ValueError(
            f"one is shorter than {MIN_PEPPER_CHARACTERS} characters; use 32 random bytes, written in hex"
        )
    return secrets


DURATION: Final = Kind("duration", duration)
SWITCH: Final = Kind("switch", _switch)
KEY_WORD: Final = fitting(
    "word", "[a-z][a-z0-9]{0,15}", "it must be 1 to 16 lower-case letters and digits, a letter first"
)
"""A word at the start of every key."""
REDIS_URL: Final = Kind("URL", _redis_url)
PEPPERS: Final = Kind("texts", _peppers)
"""Secrets separated by commas; blank ones are ignored."""
TEXTFILE: Final = fitting("path", r".*\.prom", "its name must end in .prom")
"""A file for a node exporter's textfile collector."""

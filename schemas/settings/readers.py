"""How the texts of settings are read; each raises ValueError with the rule that a text breaks."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_WORD: Final = re.compile(r"[a-z][a-z0-9]{0,15}")
MIN_PEPPER_CHARACTERS: Final = 16
"""In characters: a shorter one adds little to a stolen store."""


def text(given: str) -> str:
    """Read any text that is not blank."""
    if not given.strip():
        raise ValueError("it is empty")
    return given


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return what reads a whole number between two bounds, both included."""

    def read(given: str) -> int:
        try:
            value = int(given)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise ValueError(f"it must be a whole number between {least} and {most}")
        return value

    return read


def seconds(least: float, most: float) -> Callable[[str], float]:
    """Return what reads a duration between two bounds, both included."""

    def read(given: str) -> float:
        value = float(given)
        if not least <= value <= most:
            raise ValueError(f"it must lie between {least:g} and {most:g}")
        return value

    return read


def duration(given: str) -> timedelta:
    """Read a duration with its unit: ``90s``, ``30m``, ``12h`` or ``7d``."""
    found = re.fullmatch(r"([0-9]{1,6})([smhd])", given.strip())
    if found is None:
        raise ValueError("write 90s, 30m, 12h or 7d")
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]])


def make_choice(*words: str) -> Callable[[str], str]:
    """Return what reads one of a few words."""

    def read(given: str) -> str:
        if given not in words:
            raise ValueError(f"it must be one of {', '.join(words)}")
        return given

    return read


def switch(given: str) -> bool:
    """Read whether something is on."""
    words = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    if given.lower() not in words:
        raise ValueError(f"it must be one of {', '.join(words)}")
    return words[given.lower()]


def word_of_a_token(given: str) -> str:
    """Read a word that stands in front of every token."""
    if not _WORD.fullmatch(given):
        raise ValueError("it must be 1 to 16 lower-case letters and digits, a letter first")
    return given


def redis_url(given: str) -> str:
    """Read the address of a Redis server."""
    if given.partition("://")[0] not in {"redis", "rediss", "unix"}:
        raise ValueError("it must start with redis://, rediss:// or unix://")
    return given


def peppers(given: str) -> tuple[bytes, ...]:
    """Read secrets separated by commas; blank ones are left out."""
    found = tuple(part.strip().encode() for part in given.split(",") if part.strip())
    if any(len(pepper) < MIN_PEPPER_CHARACTERS for pepper in found):
        raise ValueError(
            f"one is shorter than {MIN_PEPPER_CHARACTERS} characters; use 32 random bytes, written in hex"
        )
    return found


def textfile(given: str) -> str:
    """Read the path of a file that a node exporter takes up."""
    if not given.endswith(".prom"):
        raise ValueError("its name must end in .prom")
    return given

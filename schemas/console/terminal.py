"""Safe output of untrusted text on a terminal: control sequences are escaped."""

from __future__ import annotations

import re
from typing import Final

_COMMANDS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters except tab and line feed, bidirectional controls, and lone surrogates."""


def visible(text: str) -> str:
    r"""Return a text with terminal control characters escaped as in JSON.

    In a JSON document such characters occur only in strings, so the result is the same document.

    Examples
    --------
    >>> visible("red: \x1b[31m")
    'red: \\u001b[31m'
    """
    return _COMMANDS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def escape_bytes(text: str) -> str:
    r"""Return a text with bytes of a path that are not UTF-8 escaped, as JSON cannot hold them.

    Examples
    --------
    >>> escape_bytes("run\udce9")
    'run\\udce9'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def echo(message: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a message that may contain untrusted text."""
    import click  # noqa: PLC0415 - only commands need it, not the checker of seals

    click.echo(visible(message), err=err, nl=nl)  # noqa: TID251 - the one place that makes it safe

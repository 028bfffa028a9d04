"""JSON as RFC 8259 has it: what two readers could understand differently is an error."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


class NotJson(ValueError):
    """The bytes are not an unambiguous JSON document; the message says why."""


def parse_json(raw: bytes, *, constants: bool = False) -> Any:
    """Parse a UTF-8 JSON document.

    Parameters
    ----------
    raw
        The bytes of the file.
    constants
        Whether ``NaN`` and ``Infinity``, which are no JSON, are read as the numbers they mean. The metrics are
        read so, since the rule on finite values names the record rather than the file.

    Returns
    -------
    object
        Python's plain types.

    Raises
    ------
    NotJson
        On bytes that are not UTF-8, on a syntax error, a key given twice, a number beyond a double, half of a
        surrogate pair, or nesting too deep to follow.
    """
    try:
        document = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_once,
            parse_constant=float if constants else _refuse,
            parse_float=float if constants else _finite,
        )
        # A lone surrogate passes the parser and then fails in every encoder downstream.
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except NotJson:
        raise
    except (ValueError, RecursionError) as error:
        raise NotJson(_reason(error)) from error
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotJson(f"the key {twice!r} stands twice in one object")
    return found


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    if isinstance(error, UnicodeEncodeError):
        return "a string holds half of a surrogate pair"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "it holds an integer with too many digits"


def _refuse(text: str) -> NoReturn:
    raise NotJson(f"{text[:40]} is not a finite number")

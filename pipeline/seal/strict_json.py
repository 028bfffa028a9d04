"""Strict JSON (RFC 8259): documents that parsers could read differently are errors."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, Final, NoReturn

from schemas.kinds import MAX_DEPTH, MAX_KEYS

# An unclosed string extends to the end, so that each byte is examined once.
_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKETS: Final = re.compile(rb"[\[{\]}]")


class NotJson(ValueError):
    """The bytes are not an unambiguous JSON document; the message gives the reason."""


def parse_json(raw: bytes, kind: str, *, constants: bool = False) -> Any:
    """Parse a UTF-8 JSON document.

    Parameters
    ----------
    raw
        The bytes of the file.
    kind
        Kind of the document, which determines its maximum number of keys.
    constants
        Whether to accept ``NaN`` and ``Infinity``, which are not JSON, as numbers. Metrics are read this way, because the
        rule on finite values then names the record rather than the file.

    Returns
    -------
    object
        Python's plain types.

    Raises
    ------
    NotJson
        On bytes that are not UTF-8, on a syntax error, a key given twice, a number beyond a double, half of a
        surrogate pair, more keys than the kind allows, or more than :data:`~schemas.kinds.MAX_DEPTH` levels of nesting.
    """
    _require_bounded(raw, MAX_KEYS[kind])
    try:
        document = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_unique_keys,
            parse_constant=float if constants else _refuse,
            parse_float=float if constants else _finite,
        )
        # A lone surrogate passes the parser and fails later in every encoder.
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except NotJson:
        raise
    except ValueError as error:
        raise NotJson(_reason(error)) from error
    return document


def _require_bounded(raw: bytes, max_keys: int) -> None:
    """Refuse a document with too many keys or levels before it is parsed."""
    outside = _STRINGS.sub(b"", raw)
    keys = outside.count(b":")
    if keys > max_keys:
        raise NotJson(f"it has {keys:,} keys; at most {max_keys:,} are read")
    depth = 0
    for bracket in _BRACKETS.findall(outside):
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_DEPTH:
            raise NotJson(f"it is nested more than {MAX_DEPTH} levels deep")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise NotJson(f"the key {twice!r} occurs twice in one object")
    return document


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _reason(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    if isinstance(error, UnicodeEncodeError):
        return "a string holds half of a surrogate pair"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return "it holds an integer with too many digits"


def _refuse(text: str) -> NoReturn:
    raise NotJson(f"{text[:40]} is not a finite number")

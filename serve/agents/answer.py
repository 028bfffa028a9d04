"""Answers of tools: figures with their units and snapshot, within a limit of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from schemas.endpoints import ENDPOINTS
from schemas.meta import META

MAX_BYTES: Final = 8192
"""Maximum bytes of an answer."""
_DIGITS: Final = 6
_MIN_ENTRIES: Final = 2
"""Minimum number of entries that a list keeps."""
_MAX_TEXT: Final = 200
"""Number of characters that a text keeps when it is cut."""
_LONG_TEXT: Final = _MAX_TEXT + len("…")
"""Number of characters of a text after it was cut; only a longer text is cut."""


def find_units(endpoint: str, data: Any) -> dict[str, str]:
    """Return member -> declared unit of the numbers in an endpoint's answer.

    For members with the same name and different units, such as ``value``, the enclosing members are returned instead.
    """
    present = set(_names(data))
    fields = (*ENDPOINTS[endpoint].payload.walk(), *META[endpoint].walk())
    declared = [
        (names, field.unit_text)
        for path, field in fields
        if field.unit_text and present.issuperset(names := [x.rstrip("[]{}") for x in path.split(".")])
    ]
    units: dict[str, set[str]] = {}
    for names, unit in declared:
        units.setdefault(names[-1], set()).add(unit)
    return {names[-1] if len(units[names[-1]]) == 1 else names[-2:][0]: unit for names, unit in declared}


def fit(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the parts of an answer as JSON, cut to :data:`MAX_BYTES`.

    Parameters
    ----------
    parts
        JSON-ready, by name. Numbers are rounded to six significant digits.

    Returns
    -------
    str
        Where something is left out, ``cut`` maps its path to what is shown: for a list the entries shown and their total,
        for a text the characters shown and their total, and for an omitted member its bytes.
    """
    document: Any = _round(dict(parts))
    cut: dict[str, Any] = {}
    while len(text := orjson.dumps(document | ({"cut": cut} if cut else {}))) > MAX_BYTES:
        size, path, owner, name = max(_members(document), key=lambda member: member[0])
        value = owner[name]
        if isinstance(value, list) and len(value) > _MIN_ENTRIES:
            cut[path] = {
                "of": cut.get(path, {"of": len(value)})["of"],
                "shown": max(_MIN_ENTRIES, len(value) * 3 // 4),
            }
            del value[cut[path]["shown"] :]
        elif isinstance(value, str) and len(value) > _LONG_TEXT:
            cut[path] = {"of": len(value), "shown": _MAX_TEXT}
            owner[name] = f"{value[:_MAX_TEXT]}…"
        else:
            cut = {inner: entry for inner, entry in cut.items() if not f"{inner}.".startswith(f"{path}.")}
            cut[path] = {"bytes": size, "shown": 0}
            del owner[name]
    return text.decode()


def _members(value: Any, path: str = "") -> Iterator[tuple[int, str, Any, str]]:
    """Yield the lists, long texts and members that can be cut, also those in lists: size, path, owner and name of each."""
    depth = path.count(".")
    if isinstance(value, list):
        for place, entry in enumerate(value):
            yield from _members(entry, f"{path}.{place}")
    for name, entry in value.items() if isinstance(value, dict) else ():
        here = f"{path}.{name}" if path else name
        if (isinstance(entry, list) and len(entry) > _MIN_ENTRIES) or (
            isinstance(entry, str) and len(entry) > _LONG_TEXT
        ):
            # Lists and texts are cut before members are omitted.
            yield len(orjson.dumps(entry)) + 2**20, here, value, name
        elif depth >= 2:
            yield len(orjson.dumps(entry)), here, value, name
        yield from _members(entry, here)


def _round(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _round(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_round(entry) for entry in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _names(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [name for key, entry in value.items() for name in (key, *_names(entry))]
    if isinstance(value, list):
        return [name for entry in value for name in _names(entry)]
    return []

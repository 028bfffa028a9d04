"""Parsing of days and instants in answers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from alpha_results_client.declared import MOMENTS


def _read_instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python 3.9 reads no Z


_READERS = {"date": dt.date.fromisoformat, "instant": _read_instant}


def read_moments(values: list[Any], kind: str) -> list[Any]:
    """Return the values of a column with parsed days and instants."""
    read = _READERS.get(kind)
    return values if read is None else [None if value is None else read(value) for value in values]


def with_moments(value: Any, model: str) -> Any:
    """Return an object with all declared days and instants parsed."""
    for path, kind in MOMENTS.get(model, {}).items():
        value = _replaced(value, path.replace("[]", ".[]").replace("{}", ".{}").split("."), kind)
    return value


def _replaced(value: Any, path: list[str], kind: str) -> Any:
    if not path:
        return _READERS[kind](value) if isinstance(value, str) else value
    step, rest = path[0], path[1:]
    if step == "[]":
        return [_replaced(entry, rest, kind) for entry in value] if isinstance(value, list) else value
    if not isinstance(value, Mapping):
        return value
    if step == "{}":
        return {name: _replaced(entry, rest, kind) for name, entry in value.items()}
    if step not in value:
        return value
    return {**value, step: _replaced(value[step], rest, kind)}
